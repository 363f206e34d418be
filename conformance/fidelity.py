"""The matrix as a page: what agrees, how well, and the worst first. What was compared is `matrix`'s."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from coverage import agreement
from verdicts import Compared

from dumbbell.analysis import TOLERANCES, Row, Tolerance, Verdict

__all__ = ["page"]

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


def page(cases: Sequence[Compared], seconds: float) -> str:
    """The whole page as Markdown."""
    worst = sorted(cases, key=lambda case: -case.excess)
    return "\n".join(
        [
            "# How well the simulator agrees with Linux",
            "",
            f"{len(cases)} experiments of [`conformance/matrix`](../conformance/matrix) on the kernel (the reference) "
            "and on the simulator.",
            f"Each on {_seeds(cases, min)} seeds or more: where chance moves a mean by more than is allowed, on up to "
            f"{_seeds(cases, max)}, whatever the means say.",
            "Made by `make conformance`; a theme by hand: `dumbbell compare conformance/matrix/FILE.toml --engines "
            "kernel,sim --seeds 1..5`.",
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
            "Cases in which it takes part, alone or beside others.",
            "",
            *agreement("controllers", cases),
            "",
            "## By queue",
            "",
            "Cases that name it; netem and htb stand in every path beside.",
            "",
            *agreement("queues", cases),
            "",
            "## By theme",
            "",
            *_by_theme(cases),
            "",
            "## Outside, the worst first",
            "",
            "Means ± standard deviation; the interval is that of the differences seed by seed. `chance`: further apart "
            "than the tolerance, but the interval holds 0: these seeds can't tell.",
            "",
            *_outside(worst),
            "",
            "## All, the worst first",
            "",
            "Difference of the simulator's mean from the kernel's, the worst group's where there are several; × is "
            "the worst metric's difference in tolerances.",
            "",
            *_all(worst),
            "",
        ]
    )


def _headline(cases: Sequence[Compared]) -> Iterator[str]:
    agree, chance, differ = (
        [case for case in cases if case.verdict is verdict]
        for verdict in (Verdict.AGREES, Verdict.CHANCE, Verdict.DIFFERS)
    )
    count = len(cases)
    yield f"- **{len(agree)} of {count} ({len(agree) / count:.1%}) are within tolerance in every metric.**"
    yield f"- {len(chance)} more are outside, where the difference's interval holds 0: these seeds can't tell."
    yield f"- {len(differ)} differ; {sum(case.reason is not None for case in differ)} of them for a reason given below."
    far = [case for case in cases if case.excess > FAR]
    unexplained = [case.title for case in far if case.reason is None]
    yield (
        f"- {len(far)} are beyond {FAR:g} times their tolerance"
        + (f", without a reason: {'; '.join(unexplained)}" if unexplained else "")
        + "."
    )


def _seeds(cases: Sequence[Compared], least_or_most: Callable[[Iterable[int]], int]) -> int:
    return least_or_most(case.seeds["kernel"] for case in cases)


def _times(cases: Sequence[Compared], seconds: float) -> Iterator[str]:
    for engine in ("kernel", "sim"):
        seconds_there = sum(case.wall_s[engine] for case in cases)
        yield f"- `{engine}`: {seconds_there:.0f} s of one core for {sum(case.seeds[engine] for case in cases)} runs."
    yield f"- This page took {seconds:.0f} s on {os.cpu_count()} cores, without the runs that were kept from before."


def _by_metric(cases: Sequence[Compared]) -> Iterator[str]:
    yield "| metric | allowed | judged | agree | median difference | 95th percentile |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for pattern, tolerance in TOLERANCES.items():
        rows = [row for case in cases for row in case.judged if fnmatchcase(row.metric, pattern)]
        if rows:
            agree = sum(row.verdict is Verdict.AGREES for row in rows)
            changes = sorted(abs(row.relative) for row in rows if row.relative is not None)
            cells = [f"{SHORT[pattern]} (`{pattern}`)", _allowed(pattern, tolerance), str(len(rows)), str(agree)]
            yield _line([*cells, *(f"{_quantile(changes, share):.2%}" for share in (0.5, 0.95))])


def _by_theme(cases: Sequence[Compared]) -> Iterator[str]:
    yield "| theme | cases | agree | chance | differ |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for theme in dict.fromkeys(case.theme for case in cases):
        verdicts = [case.verdict for case in cases if case.theme == theme]
        counts = [verdicts.count(verdict) for verdict in (Verdict.AGREES, Verdict.CHANCE, Verdict.DIFFERS)]
        yield _line([theme, str(len(verdicts)), *map(str, counts)])


def _outside(worst: Iterable[Compared]) -> Iterator[str]:
    yield "| case | metric | kernel | sim | difference | 95 % interval | × | verdict |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"
    outside = [case for case in worst if case.verdict is not Verdict.AGREES]
    for case in outside:
        for why in [*case.invalid, *(f"only one engine has {name}" for name in case.one_sided)]:
            yield _line([case.title, why, *[""] * 5, str(Verdict.DIFFERS)])
        for row in sorted(case.judged, key=lambda row: -row.excess):
            if row.verdict is not Verdict.AGREES:
                yield _line([case.title, row.metric, *_numbers(row), str(row.verdict)])
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
        yield _line([case.title, *cells, _times_tolerance(case.excess), str(case.verdict)])


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
