"""An evaluation as one HTML page: a map of strengths, a summary in five sentences, a section for each criterion.

The sentences are made from the evaluation's numbers.
"""

import math
from collections.abc import Sequence
from pathlib import Path

from dumbbell.evaluation.referee import Evaluation, Finding
from dumbbell.evaluation.verdict import Verdict
from dumbbell.plots.interval_plots import Judgement, verdict_plot
from dumbbell.reports.markup import Markup, details, element, join, listed, number, table, tagged
from dumbbell.reports.page_frame import Figures, framed, written

__all__ = [
    "evaluation_page",
    "sentences",
    "write_evaluation",
]


MOST_NAMED = 4


def sentences(each: Evaluation) -> list[str]:
    """Counts, strengths, failures, coexistence, and what is not known or not tested."""
    return [_counts(each), _strengths(each), _failures(each), _coexistence(each), _gaps(each)]


def _of(each: Evaluation, verdict: Verdict) -> list[Finding]:
    return [finding for finding in each.findings if finding.judged.verdict is verdict]


def _counts(each: Evaluation) -> str:
    counted = [(len(_of(each, verdict)), verdict.value) for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.NOT_KNOWN)]
    words = listed([f"{count} {word}" for count, word in counted])
    return f"Of {len(each.findings)} verdicts on {each.controller.name}, {words}."


def _strengths(each: Evaluation) -> str:
    # Not those that are tested in part.
    whole = [
        f"{section.number} {section.title}"
        for section in each.suite.sections
        if not section.not_tested
        and (found := [finding for finding in each.findings if finding.criterion.section == section.number])
        and all(finding.judged.verdict is Verdict.PASS for finding in found)
    ]
    if not whole:
        return "No section is passed entirely."
    return f"It passes every criterion of {len(whole)} sections: {listed(whole)}."


def _failures(each: Evaluation) -> str:
    failed = sorted(_of(each, Verdict.FAIL), key=_excess, reverse=True)
    if not failed:
        return "It fails no criterion."
    texts = [_with_median(finding) for finding in failed[:MOST_NAMED]]
    return f"It misses most, relative to the limit: {listed(texts)}."


def _excess(finding: Finding) -> float:
    """How far the median is beyond the limit, relative to the limit."""
    limit = finding.criterion.limit
    beyond = (finding.judged.median or 0.0) - limit.value
    return (-beyond if limit.at_least else beyond) / (abs(limit.value) or 1.0)


def _with_median(finding: Finding) -> str:
    unit = finding.criterion.unit
    return f"{finding.name} ({number(finding.judged.median, unit)}, limit {finding.criterion.limit.text()})"


def _coexistence(each: Evaluation) -> str:
    harmed = [finding for finding in each.findings if finding.criterion.compared == "harm"]
    if not harmed:
        return "Its harm to standard controllers was not asked for."
    texts = []
    for rival in dict.fromkeys(finding.rival for finding in harmed):
        medians = [finding.judged.median for finding in harmed if finding.rival == rival]
        known = [median for median in medians if median is not None]
        texts.append(f"{_span(known)} to {rival}" if known else f"unknown to {rival}")
    return f"Its harm to the throughput of a standard flow, beyond that by the standard itself, is {listed(texts)}."


def _span(values: Sequence[float]) -> str:
    low, high = (f"{value:.2f}".replace("-", "−") for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _gaps(each: Evaluation) -> str:
    tested = {finding.criterion.section for finding in each.findings}
    missing = [section.number for section in each.suite.sections if section.number not in tested]
    unknown = [finding.name for finding in _of(each, Verdict.NOT_KNOWN)]
    texts = [f"not tested are the sections {listed(missing)}" if missing else "every section is tested"]
    texts.append(
        f"not known: {listed(unknown[:MOST_NAMED])}{' and more' if len(unknown) > MOST_NAMED else ''}"
        if unknown
        else "no verdict is open"
    )
    text = "; ".join(texts)
    return f"{text[0].upper()}{text[1:]}."


CSS = {Verdict.PASS: "pass", Verdict.FAIL: "fail", Verdict.NOT_KNOWN: "open", Verdict.NOT_TESTED: "none"}
SIGNS = {Verdict.PASS: "✓", Verdict.FAIL: "✗", Verdict.NOT_KNOWN: "?", Verdict.NOT_TESTED: "–"}


def write_evaluation(done: Sequence[Evaluation], path: Path) -> None:
    """Write the page. Raises `OutputError` when the file can't be written."""
    written(evaluation_page(done), path)


def evaluation_page(done: Sequence[Evaluation]) -> str:
    """The page of one controller, or of several side by side."""
    figures = Figures()
    names = [each.controller.name for each in done]
    sections = [_section(done, at, figures) for at in range(len(done[0].suite.sections))]
    return framed(f"Evaluation by RFC 9743: {listed(names)}", _head(done), sections, figures)


def _head(done: Sequence[Evaluation]) -> Markup:
    parts = [element("p", f"{_conditions(each)}.", css="quiet") for each in done]
    for each in done:
        if len(done) > 1:
            parts.append(element("h3", each.controller.name))
        parts.append(element("ul", *(element("li", text) for text in sentences(each)), css="facts"))
    limits = (
        "The limits are Dumbbell's, set with reno and cubic; the RFC names none. ✓ pass, ✗ fail, "
        "? not known within the budget, – not tested."
    )
    return join([element("h2", "Summary"), *parts, element("h2", "Map"), element("p", limits, css="quiet"), _map(done)])


def _conditions(each: Evaluation) -> str:
    controller = each.controller
    parameters = ", ".join(f"{key} = {value}" for key, value in controller.parameters.items())
    kernel = f" ({controller.kernel})" if controller.kernel else ""
    shown = f"{controller.name}{f' with {parameters}' if parameters else ''}: engine {controller.engine}{kernel}"
    return f"{shown}; against {listed(each.against)}; {each.runs} runs in {each.wall_s:.0f} s"


def _map(done: Sequence[Evaluation]) -> Markup:
    rows = []
    for section in done[0].suite.sections:
        cells = []
        for each in done:
            found = [finding for finding in each.findings if finding.criterion.section == section.number]
            chips = [_chip(finding.judged.verdict, finding.name) for finding in found]
            if section.not_tested or not found:
                chips.append(_chip(Verdict.NOT_TESTED, "rest not tested" if found else "not tested"))
            cells.append(join(chips))
        rows.append((f"{section.number} {section.title}", *cells))
    return table(("section of RFC 9743", *(each.controller.name for each in done)), rows, css="text")


def _chip(verdict: Verdict, name: str) -> Markup:
    text = f"{SIGNS[verdict]} {name}"
    return join([tagged("span", {"class": f"chip {CSS[verdict]}", "title": verdict.value}, text), " "])


def _section(done: Sequence[Evaluation], at: int, figures: Figures) -> Markup:
    section = done[0].suite.sections[at]
    parts = [element("h2", f"{section.number} {section.title}")]
    numbers = [position for position, each in enumerate(done[0].findings) if each.criterion.section == section.number]
    if section.not_tested:
        what = "Not tested in part: " if numbers else "Not tested: "
        parts.append(element("p", element("strong", what), section.not_tested))
    elif not numbers:
        parts.append(element("p", element("strong", "Not tested: "), "left out by --only."))
    parts += [_criterion([each.findings[position] for each in done], done, figures) for position in numbers]
    return element("section", *parts)


def _criterion(findings: Sequence[Finding], done: Sequence[Evaluation], figures: Figures) -> Markup:
    first = findings[0]
    names = [each.controller.name for each in done]
    criterion = first.criterion
    against = f", against {first.rival}" if first.rival else ""
    rows = [
        (
            name, join([_chip(each.judged.verdict, each.judged.verdict.value)]), number(each.judged.median),
            _interval(each), len(each.values), each.runs, each.reason,
        )
        for name, each in zip(names, findings, strict=True)
    ]  # fmt: skip
    label = f"{_measured(first)}{f', {criterion.unit}' if criterion.unit else ''}"
    drawn = [
        Judgement(name, each.values, each.judged.low, each.judged.high)
        for name, each in zip(names, findings, strict=True)
    ]
    has_values = any(each.values for each in findings)
    figure = figures.box(verdict_plot(drawn, criterion.limit.value, label)) if has_values else ""
    commands = "\n".join(command for each in findings for command in each.commands)
    limit = f"{criterion.limit.text()} {criterion.unit}".strip()
    return join([
        element("h3", f"{criterion.title}{against}"),
        element("p", element("strong", f"{_measured(first)} {limit}. "), criterion.why),
        table(("controller", "verdict", "median", "95 % interval", "seeds", "runs", "note"), rows, css="text"),
        figure,
        details("Repeat its runs with seed 1", element("pre", commands)),
    ])  # fmt: skip


def _measured(finding: Finding) -> str:
    criterion = finding.criterion
    if criterion.compared == "value":
        return criterion.metric
    return f"harm to {criterion.metric} minus the harm by {finding.rival} itself"


def _interval(finding: Finding) -> str:
    low, high = finding.judged.low, finding.judged.high
    return f"{number(low)} to {number(high)}" if math.isfinite(low) else "–"
