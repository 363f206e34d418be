"""What `peers.py` writes: tables, and ratios between contestants."""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from statistics import mean, median, stdev
from typing import Any

from experiments import HERE, Bench, rendered, table
from instructions import SPANS_S
from ns3_peer import Ns3
from speed import processor

from dumbbell import __version__

__all__ = ["Figures", "agreement", "numbers", "page", "ratios", "spread_of"]

SPEED = (
    "experiment | contestant | >wall s | >of virtual s | >data packets a second | >events a second | "
    ">process MiB | >run MiB"
)
METRICS = ("utili?ation", "groups.*.share", "groups.*.throughput_mbps", "queue.delay_ms.mean", "queue.delay_ms.p95",
           "groups.*.retransmit_rate", "queue.drops")  # fmt: skip
REFERENCE = "kernel engine"

Run = Mapping[str, Any]
Runs = Mapping[str, Sequence[Run]]
"""By contestant, in the order of the rounds."""


@dataclass(frozen=True)
class Figures:
    """All measurements."""

    began: datetime
    benches: Sequence[Bench]
    contestants: Sequence[str]
    """Ratios refer to the first."""
    runs: Mapping[str, Runs]
    instructions: Mapping[str, Mapping[str, float]]
    """A data packet, by experiment and contestant; empty if not counted."""
    peers: Sequence[Ns3]


def page(figures: Figures, limits_s: Sequence[int]) -> str:
    """The tables as Markdown."""
    first, *others = figures.contestants
    counted = [name for name in figures.contestants if name != REFERENCE]
    head = " | ".join(["experiment", ">span, s", *(f">{name}" for name in counted)])
    instructions = [
        (f"`{name}`", " to ".join(f"{at:g}" for at in SPANS_S[name]), *(f"{counts[each]:,.0f}" for each in counted))
        for name, counts in figures.instructions.items()
    ]
    return rendered(
        HERE / "peers.jinja",
        figures=figures,
        version=__version__,
        first=first,
        reference=REFERENCE,
        rounds=max(len(runs) for each in figures.runs.values() for runs in each.values()),
        limits_s=limits_s,
        host=f"{os.cpu_count()} cores ({processor()}), Linux {platform.release()}, load {os.getloadavg()[0]:.1f}",
        speed=table(SPEED, _speed(figures)),
        against=table(" | ".join(["experiment", *(f">{name}" for name in others)]), _against(figures, first, others)),
        instructions=table(head, instructions) if instructions else "",
        near=[_near(bench.name, figures) for bench in figures.benches],
    )


def _speed(figures: Figures) -> Iterator[Sequence[str]]:
    for bench in figures.benches:
        for name in figures.contestants:
            runs = figures.runs[bench.name][name]
            yield (
                f"`{bench.name}`",
                name,
                spread_of([run["wall_s"] for run in runs], "{:.3f}"),
                spread_of([run["reached_s"] for run in runs], "{:.3g}"),
                spread_of([rate(run) for run in runs], "{:,.0f}"),
                events(runs),
                memory(runs, "process_mib"),
                memory(runs, "run_mib"),
            )


def _against(figures: Figures, first: str, others: Sequence[str]) -> Iterator[list[str]]:
    for bench in figures.benches:
        runs = figures.runs[bench.name]
        yield [f"`{bench.name}`", *(spread_of(ratios(runs[first], runs[name]), "{:,.1f}") for name in others)]


def _near(bench: str, figures: Figures) -> dict[str, Any]:
    runs = figures.runs[bench]
    names = [REFERENCE, *(name for name in figures.contestants if name != REFERENCE and finished(runs[name]))]
    ended = {name: finished(runs[name]) for name in names}
    return {
        "bench": bench,
        "counts": ", ".join(f"{name} {len(measures)}" for name, measures in ended.items()),
        "missing": [name for name in figures.contestants if name not in names],
        "table": table(" | ".join(["metric", *(f">{name}" for name in names)]), agreement(ended)),
    }


def numbers(figures: Figures) -> dict[str, Any]:
    """The ratios of the page as numbers."""
    first, *others = figures.contestants
    return {
        "times_as_fast": {
            bench.name: {
                name: {"median": median(found), "least": min(found), "most": max(found)}
                for name in others
                for found in [ratios(figures.runs[bench.name][first], figures.runs[bench.name][name])]
            }
            for bench in figures.benches
        },
        "instructions_a_packet": {name: dict(counts) for name, counts in figures.instructions.items()},
        "speed": {
            bench.name: {
                name: {"packets_a_second": median(rate(run) for run in figures.runs[bench.name][name])}
                for name in figures.contestants
            }
            for bench in figures.benches
        },
    }


def agreement(runs: Mapping[str, Sequence[Mapping[str, float]]]) -> Iterator[list[str]]:
    """A row per metric: mean and spread of the reference, then of the others with their difference."""
    reference, *_ = runs.values()
    for metric in _metrics(reference[0]):
        expected = mean(run[metric] for run in reference)
        cells = []
        for number, measures in enumerate(runs.values()):
            values = [run[metric] for run in measures if metric in run]
            off = f" ({(mean(values) - expected) / abs(expected):+.1%})" if values and number and expected else ""
            cells.append(f"{_with_sd(values)}{off}")
        yield [metric, *cells]


def _metrics(measures: Mapping[str, float]) -> list[str]:
    return [name for pattern in METRICS for name in measures if fnmatchcase(name, pattern)]


def _with_sd(values: Sequence[float]) -> str:
    if not values:
        return ""
    return _short(mean(values), 4) + (f" ± {_short(stdev(values), 2)}" if len(values) > 1 else "")


def _short(value: float, digits: int) -> str:
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def finished(runs: Sequence[Run]) -> list[Mapping[str, float]]:
    """The measures of the runs that reached their end."""
    return [run["measures"] for run in runs if run["measures"]]


def rate(run: Run) -> float:
    """Data packets a wall second."""
    return float(run["packets"] / run["wall_s"])


def ratios(first: Sequence[Run], second: Sequence[Run]) -> list[float]:
    """The ratio of the rates in each round."""
    return [rate(one) / rate(other) for one, other in zip(first, second, strict=True)]


def spread_of(values: Sequence[float], form: str) -> str:
    """Median, with the least and the most in brackets if they differ."""
    least, most = form.format(min(values)), form.format(max(values))
    return form.format(median(values)) + (f" ({least} to {most})" if least != most else "")


def events(runs: Sequence[Run]) -> str:
    if runs[0]["events"] is None:
        return "not reported"
    return f"{median(run['events'] / run['wall_s'] for run in runs):,.0f}"


def memory(runs: Sequence[Run], key: str) -> str:
    values = [run[key] for run in runs if run[key] is not None]
    return f"{median(values):.1f}" if values else ""
