"""An evaluation in five sentences, made from its numbers."""

from collections.abc import Sequence

from dumbbell.evaluation.referee import Evaluation, Finding
from dumbbell.evaluation.verdict import Verdict
from dumbbell.reports.markup import listed, number

__all__ = ["sentences"]

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
