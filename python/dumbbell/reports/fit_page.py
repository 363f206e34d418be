"""A fitted path as one HTML page: recorded and replayed side by side, each number with interval and evidence."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from dumbbell.plots.side_by_side import side_by_side
from dumbbell.reports.markup import Markup, details, element, join, listed, number, table, tagged
from dumbbell.reports.page_frame import Figures, framed, written
from dumbbell.twin.experiment_file import experiment_text, fact_lines
from dumbbell.twin.fit import NAMES, UNITS, Fit, Tried
from dumbbell.twin.readings import LIMIT
from dumbbell.twin.traces import Pair

__all__ = ["fit_page", "write_fit"]


def write_fit(fit: Fit, pairs: Sequence[Pair], path: Path) -> None:
    """Write the page. Raises `OutputError` when the file can't be written."""
    written(fit_page(fit, pairs), path)


def fit_page(fit: Fit, pairs: Sequence[Pair]) -> str:
    """The page of an accepted or a refused fit; `pairs` are the recordings and their replays on the nearest model."""
    figures = Figures()
    title = f"The path of {listed([each.file.name for each in fit.recordings])}"
    sections = [_path(fit), *(_pair(pair, figures) for pair in pairs), _models(fit)]
    if fit.refused is None:
        sections.append(element("section", details("The experiment file", element("pre", experiment_text(fit)))))
    return framed(title, _head(fit), sections, figures)


def _head(fit: Fit) -> Markup:
    recordings = [
        f"{each.file.name}: {each.label}, {each.duration_s:.3g} s, {each.cc} {each.cc_known}" for each in fit.recordings
    ]
    warnings = [f"{each.file.name}: {warning}" for each in fit.recordings for warning in each.warnings]
    return join([
        element("h2", "Result"),
        *(element("p", text) for text in _verdict(fit)),
        element("ul", *(element("li", text) for text in [*recordings, *warnings]), css="facts"),
    ])  # fmt: skip


def _verdict(fit: Fit) -> Iterator[Markup]:
    if fit.refused is not None:
        yield join([element("strong", "Refused: "), f"{fit.refused}."])
        yield join([element("strong", "What would help: "), f"{fit.advice}."])
        return
    yield join([element("strong", f"The path is {' or '.join(each.model.says for each in fit.accepted)}.")])
    if len(fit.cases) > 1:
        names = [element("li", case.name) for case in fit.cases]
        yield join([f"The recording allows {len(fit.cases)} paths:", element("ul", *names)])


def _path(fit: Fit) -> Markup:
    rows = [_evidence(name, value) for name, value in fact_lines(fit)]
    return element(
        "section", element("h2", "The path's numbers"), table(("", "value", "interval and evidence"), rows, css="text")
    )


def _evidence(name: str, value: str) -> tuple[str, str, str]:
    before, _, after = value.partition(" (")
    return name, before, after.removesuffix(")")


def _pair(pair: Pair, figures: Figures) -> Markup:
    recorded, replayed = pair.recorded, pair.replayed
    panels = {
        "Throughput, Mbit/s": (recorded.throughput_mbps, replayed.throughput_mbps),
        "RTT, ms": (recorded.rtt_ms, replayed.rtt_ms),
    }
    names = ("recorded", "replayed")
    figure = figures.box(side_by_side(recorded.at_s, panels, names, pair.recording.duration_s))
    what = f"{pair.recording.file.name}: {pair.recording.cc} as recorded, and replayed on {pair.tried.model.says}."
    return element("section", element("h2", "Recorded and replayed"), element("p", what, css="quiet"), figure)


def _models(fit: Fit) -> Markup:
    judged = [each for each in fit.tried if each.readings]
    rows = [row for each in judged for row in _rows(fit, each)]
    rest = [each.model.name for each in fit.tried if not each.readings]
    limit = (
        f"A model passes if throughput, mean RTT and the 95th percentile of RTT differ by at most {100 * LIMIT:g} %, "
        "or by no more than ten seeds differ among themselves."
    )
    parts = [
        element("h2", "Models"),
        element("p", limit, css="quiet"),
        table(("model", "", "recording", *(f"{NAMES[name]}, {UNITS[name]}" for name in NAMES)), rows, css="text"),
    ]
    if rest:
        parts.append(element("p", f"Farther away at their start: {listed(rest)}.", css="quiet"))
    return element("section", *parts)


def _rows(fit: Fit, tried: Tried) -> Iterator[Sequence[object]]:
    for recording, readings in zip(fit.recordings, tried.readings, strict=True):
        found = {each.name: each for each in readings}
        cells = []
        for name in NAMES:
            each = found.get(name)
            if each is None:
                cells.append(join(["–"]))
                continue
            text = f"{number(each.recorded)} → {number(each.replayed)} ({100 * each.difference:+.1f}\u00a0%)"
            cells.append(join([text]))
        verdict = tagged(
            "span", {"class": f"chip {'pass' if tried.passes else 'fail'}"}, "passes" if tried.passes else "fails"
        )
        yield tried.model.name, verdict, recording.file.name, *cells
