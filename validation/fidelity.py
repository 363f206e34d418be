"""Write the comparison that `matrix` makes as a page, the largest differences first, and as figures."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from coverage import agreement
from verdicts import Compared

from dumbbell.analysis.difference import TOLERANCES, Row, Tolerance, Verdict

__all__ = ["figures", "section"]

SHORT = {
    "groups.*.throughput_mbps": "throughput",
    "groups.*.rtt_ms.mean": "RTT",
    "ping_ms.mean": "ping",
    "queue.packets.mean": "queue",
    "groups.*.cwnd_packets.mean": "cwnd",
    "groups.*.retransmit_rate": "retransmits",
    "groups.*.fct_s": "completion",
}
"""The judged metrics as columns."""
FAR = 3.0


def section(cases: Sequence[Compared], seconds: float) -> str:
    """The section of docs/results/fidelity.md as Markdown."""
    worst = sorted(cases, key=lambda case: -case.excess)
    return "\n".join(
        [
            "## How well the simulator agrees with Linux",
            "",
            f"{len(cases)} experiments of [`validation/matrix`](../../validation/matrix.py) on the kernel (the "
            "reference) and on the simulator.",
            f"Each ran on {_seeds(cases, min)} seeds or more, up to {_seeds(cases, max)} until two standard errors of "
            "every difference were within its tolerance.",
            "Made by `make page NAME=validation`. To compare one theme: `dumbbell compare validation/matrix/FILE.toml "
            "--engines kernel,sim --seeds 1..5`.",
            "",
            *_headline(cases),
            "",
            *_times(cases, seconds),
            "",
            "## By metric",
            "",
            *_by_metric(cases),
            "",
            "## By controller",
            "",
            "Cases that use the controller, alone or with others.",
            "",
            *agreement("controllers", cases),
            "",
            "## By queue",
            "",
            "Cases that name the queue. Every path also has netem and htb.",
            "",
            *agreement("queues", cases),
            "",
            "## By theme",
            "",
            *_by_theme(cases),
            "",
            "## Outside the tolerance, largest difference first",
            "",
            "Means ± standard deviation. The interval is that of the paired differences. `inconclusive`: the "
            "difference exceeds the tolerance, but its interval contains 0.",
            "",
            *_outside(worst),
            "",
            "## All cases, largest difference first",
            "",
            "The simulator's mean minus the kernel's, of the group that differs most; × is the largest difference of "
            "all metrics, divided by its tolerance.",
            "",
            *_all(worst),
            "",
        ]
    )


def figures(cases: Sequence[Compared]) -> dict[str, Any]:
    """The numbers on the page."""
    verdicts = [case.verdict for case in cases]
    return {
        "experiments": len(cases),
        "agree": verdicts.count(Verdict.AGREES),
        "inconclusive": verdicts.count(Verdict.INCONCLUSIVE),
        "differ": verdicts.count(Verdict.DIFFERS),
        "differ_with_a_reason": sum(case.verdict is Verdict.DIFFERS and case.reason is not None for case in cases),
        "beyond_three_tolerances": sum(case.excess > FAR for case in cases),
        "seeds": {"least": _seeds(cases, min), "most": _seeds(cases, max)},
        "runs": {engine: sum(case.seeds[engine] for case in cases) for engine in ("kernel", "sim")},
        "metrics": list(_metric_figures(cases)),
        "cases": [
            {"case": case.title, "times_tolerance": round(case.excess, 2), "verdict": case.verdict.name.lower()}
            for case in sorted(cases, key=lambda case: -case.excess)
        ],
    }


def _metric_figures(cases: Sequence[Compared]) -> Iterator[dict[str, Any]]:
    for pattern, tolerance in TOLERANCES.items():
        rows = [row for case in cases for row in case.judged if fnmatchcase(row.metric, pattern)]
        if rows:
            changes = sorted(abs(row.relative) for row in rows if row.relative is not None)
            yield {
                "metric": pattern,
                "allowed": _allowed(pattern, tolerance),
                "judged": len(rows),
                "agree": sum(row.verdict is Verdict.AGREES for row in rows),
                "median_difference_percent": round(100 * _quantile(changes, 0.5), 2),
                "p95_difference_percent": round(100 * _quantile(changes, 0.95), 2),
            }


def _headline(cases: Sequence[Compared]) -> Iterator[str]:
    agree, inconclusive, differ = (
        [case for case in cases if case.verdict is verdict]
        for verdict in (Verdict.AGREES, Verdict.INCONCLUSIVE, Verdict.DIFFERS)
    )
    count = len(cases)
    yield f"- **{len(agree)} of {count} ({len(agree) / count:.1%}) are within tolerance in every metric.**"
    yield f"- {len(inconclusive)} are outside, but the interval of the difference contains 0: inconclusive."
    explained = sum(case.reason is not None for case in differ)
    yield f"- {len(differ)} differ; the reason is known for {explained}, see below."
    far = [case for case in cases if case.excess > FAR]
    unexplained = [case.title for case in far if case.reason is None]
    yield (
        f"- {len(far)} exceed {FAR:g} times their tolerance"
        + (f", without a reason: {'; '.join(unexplained)}" if unexplained else "")
        + "."
    )


def _seeds(cases: Sequence[Compared], bound: Callable[[Iterable[int]], int]) -> int:
    return bound(case.seeds["kernel"] for case in cases)


def _times(cases: Sequence[Compared], seconds: float) -> Iterator[str]:
    for engine in ("kernel", "sim"):
        engine_s = sum(case.wall_s[engine] for case in cases)
        yield f"- `{engine}`: {engine_s:.0f} s of one core for {sum(case.seeds[engine] for case in cases)} runs."
    yield f"- This page took {seconds:.0f} s on {os.cpu_count()} cores; runs from the cache are not counted."


def _by_metric(cases: Sequence[Compared]) -> Iterator[str]:
    yield "| metric | allowed | judged | agree | median difference | 95th percentile |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for figure in _metric_figures(cases):
        pattern = figure["metric"]
        cells = [f"{SHORT[pattern]} (`{pattern}`)", figure["allowed"], str(figure["judged"]), str(figure["agree"])]
        changes = (figure["median_difference_percent"], figure["p95_difference_percent"])
        yield _line([*cells, *(f"{change:.2f}%" for change in changes)])


def _by_theme(cases: Sequence[Compared]) -> Iterator[str]:
    yield "| theme | cases | agree | inconclusive | differ |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for theme in dict.fromkeys(case.theme for case in cases):
        verdicts = [case.verdict for case in cases if case.theme == theme]
        counts = [verdicts.count(verdict) for verdict in (Verdict.AGREES, Verdict.INCONCLUSIVE, Verdict.DIFFERS)]
        yield _line([theme, str(len(verdicts)), *map(str, counts)])


def _outside(worst: Iterable[Compared]) -> Iterator[str]:
    yield "| case | metric | kernel | sim | difference | 95 % interval | × | verdict |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"
    outside = [case for case in worst if case.verdict is not Verdict.AGREES]
    for case in outside:
        for why in [*case.invalid, *(f"only one engine reports {name}" for name in case.one_sided)]:
            yield _line([case.title, why, *[""] * 5, "differs"])
        for row in sorted(case.judged, key=lambda row: -row.excess):
            if row.verdict is not Verdict.AGREES:
                yield _line([case.title, row.metric, *_numbers(row), row.verdict.name.lower()])
    reasons: dict[str, list[str]] = {}
    for case in outside:
        if case.reason is not None:
            reasons.setdefault(case.reason, []).append(case.title)
    if reasons:
        yield ""
        yield "Reasons:"
        yield ""
        for reason, titles in reasons.items():
            yield f"- {reason.strip()} ({'; '.join(titles)})"


def _all(worst: Iterable[Compared]) -> Iterator[str]:
    yield _line(["case", *SHORT.values(), "×", "verdict"])
    yield _line(["---", *["---:"] * (len(SHORT) + 1), "---"])
    for case in worst:
        cells = [_cell([row for row in case.judged if fnmatchcase(row.metric, pattern)]) for pattern in SHORT]
        yield _line([case.title, *cells, _times_tolerance(case.excess), case.verdict.name.lower()])


def _numbers(row: Row) -> list[str]:
    interval = "" if row.interval is None else " … ".join(f"{end:+.3g}" for end in row.interval)
    samples = [f"{each.mean:.4g}" + (f" ± {each.sd:.2g}" if each.sd else "") for each in (row.first, row.second)]
    return [*samples, _change(row), interval, _times_tolerance(row.excess)]


def _cell(rows: Sequence[Row]) -> str:
    return _change(max(rows, key=lambda row: row.excess)) if rows else ""


def _change(row: Row) -> str:
    if row.metric.endswith("retransmit_rate"):
        return f"{100 * row.difference:+.2g} pp"
    return f"{row.difference:+.3g}" if row.relative is None else f"{row.relative:+.1%}"


def _times_tolerance(excess: float) -> str:
    return "∞" if math.isinf(excess) else f"{excess:.2f}"


def _allowed(metric: str, tolerance: Tolerance) -> str:
    parts = [f"{tolerance.relative:.0%}"] if tolerance.relative else []
    if tolerance.absolute:
        unit = {"ms": "ms", "packets": "packets"}
        known = next((name for key, name in unit.items() if key in metric), "")
        parts.append(
            f"{tolerance.absolute * 100:g} pp" if metric.endswith("rate") else f"{tolerance.absolute:g} {known}"
        )
    if tolerance.standard_errors:
        parts.append(f"{tolerance.standard_errors:g} standard errors")
    return " or ".join(parts)


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else math.nan


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
