"""Write the comparison that `matrix` makes as a page, the largest differences first, and as figures."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from coverage import agreement
from figures import page_of, table
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
    outside = [case for case in worst if case.verdict is not Verdict.AGREES]
    reasons: dict[str, list[str]] = {}
    for case in outside:
        if case.reason is not None:
            reasons.setdefault(case.reason.strip(), []).append(case.title)
    numbers = figures(cases)
    head = "case | metric | >kernel | >sim | >difference | >95 % interval | >× | verdict"
    return page_of(
        "fidelity",
        **numbers,
        share=numbers["agree"] / numbers["experiments"],
        far=FAR,
        unexplained=[case.title for case in cases if case.excess > FAR and case.reason is None],
        seconds=seconds,
        engine_s={engine: sum(case.wall_s[engine] for case in cases) for engine in ("kernel", "sim")},
        cores=os.cpu_count(),
        by_metric=table(
            "metric | allowed | >judged | >agree | >median difference | >95th percentile", _by_metric(cases)
        ),
        controllers="\n".join(agreement("controllers", cases)),
        queues="\n".join(agreement("queues", cases)),
        by_theme=table("theme | >cases | >agree | >inconclusive | >differ", _by_theme(cases)),
        outside=table(head, _outside(outside)),
        reasons=reasons,
        every=table(" | ".join(["case", *(f">{short}" for short in SHORT.values()), ">×", "verdict"]), _all(worst)),
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


def _seeds(cases: Sequence[Compared], bound: Callable[[Iterable[int]], int]) -> int:
    return bound(case.seeds["kernel"] for case in cases)


def _by_metric(cases: Sequence[Compared]) -> Iterator[list[object]]:
    for figure in _metric_figures(cases):
        pattern = figure["metric"]
        changes = (f"{figure[key]:.2f}%" for key in ("median_difference_percent", "p95_difference_percent"))
        yield [f"{SHORT[pattern]} (`{pattern}`)", figure["allowed"], figure["judged"], figure["agree"], *changes]


def _by_theme(cases: Sequence[Compared]) -> Iterator[list[object]]:
    for theme in dict.fromkeys(case.theme for case in cases):
        verdicts = [case.verdict for case in cases if case.theme == theme]
        yield [theme, len(verdicts), *map(verdicts.count, (Verdict.AGREES, Verdict.INCONCLUSIVE, Verdict.DIFFERS))]


def _outside(outside: Iterable[Compared]) -> Iterator[list[str]]:
    for case in outside:
        for why in [*case.invalid, *(f"only one engine reports {name}" for name in case.one_sided)]:
            yield [case.title, why, *[""] * 5, "differs"]
        for row in sorted(case.judged, key=lambda row: -row.excess):
            if row.verdict is not Verdict.AGREES:
                yield [case.title, row.metric, *_numbers(row), row.verdict.name.lower()]


def _all(worst: Iterable[Compared]) -> Iterator[list[str]]:
    for case in worst:
        cells = [_cell([row for row in case.judged if fnmatchcase(row.metric, pattern)]) for pattern in SHORT]
        yield [case.title, *cells, _times_tolerance(case.excess), case.verdict.name.lower()]


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
