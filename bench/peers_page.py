"""Write the page of `peers.py`: tables, and ratios between contestants.

The part of the page below `## Discussion` is written by hand and kept.
"""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from experiments import Bench
from instructions import SPANS_S
from ns3_peer import Ns3
from speed import processor

from dumbbell import __version__

__all__ = ["Figures", "agreement", "discussion", "numbers", "page", "ratios", "spread_of"]

DISCUSSION = "## Discussion"
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


def page(figures: Figures, limits_s: Sequence[int], by_hand: str) -> str:
    """The page as Markdown."""
    parts = [head(figures, limits_s), speed(figures), against(figures), instructions(figures), near(figures), by_hand]
    return "\n\n".join(part for part in parts if part).rstrip() + "\n"


def discussion(path: Path | None) -> str:
    """The part of an existing page that is written by hand."""
    text = path.read_text(encoding="utf-8") if path and path.is_file() else ""
    return text[text.index(DISCUSSION) :].rstrip() if DISCUSSION in text else ""


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


def head(figures: Figures, limits_s: Sequence[int]) -> str:
    """Host, date, contestants and common settings."""
    rounds = max(len(runs) for each in figures.runs.values() for runs in each.values())
    host = f"{os.cpu_count()} cores ({processor()}), Linux {platform.release()}, load {os.getloadavg()[0]:.1f}"
    peers = "; ".join(f"{peer.name}: {peer.origin}" for peer in figures.peers)
    first_s, later_s = limits_s
    return f"""# Dumbbell and ns-3

{figures.began:%d %B %Y}, {host} at the end; one core used by each.
Dumbbell {__version__}; {peers}. Made by `make page NAME=bench`, or alone by
`scripts/setup.sh bench && scripts/ns3.sh && .venv/bin/python bench/peers.py -o docs/results/benchmarks.md`.

The experiments are those of [bench/experiments.py](../../bench/experiments.py). Contestants alternate for {rounds}
rounds; the round is the seed. ns-3 runs [our program](../../bench/ns3/experiment.cc): as many full packets a
second at the bottleneck, as many in its buffer, the same base RTT, MSS 1448, SACK, timestamps, delayed ACKs of 2
segments, an initial window of 10, a minimum RTO of 200 ms, buffers of 64 MiB, no other queue on the path;
everything else is ns-3's default. It reads the backlog as often as Dumbbell samples; Dumbbell samples every socket
too, sends pings and makes tables, all within its time. A run of ns-3 is stopped after {later_s} wall seconds, in
the first round after {first_s}, and counts with the virtual time reached: its rate is that of an earlier part of the
experiment."""


def speed(figures: Figures) -> str:
    """Times and memory of all contestants."""
    lines = [
        "## Speed and memory",
        "",
        "Medians over the rounds, least and most in brackets. Wall time is the simulation's; of the",
        "kernel engine the whole run's, with boot and decoding. Data packets are those that the bottleneck sent.",
        "Memory is that of the process, and its growth during the run; Dumbbell's includes Python and its",
        "libraries. For the kernel engine it is the guest's.",
        "",
        "| experiment | contestant | wall s | of virtual s | data packets a second | events a second "
        "| process MiB | run MiB |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for bench in figures.benches:
        for name in figures.contestants:
            runs = figures.runs[bench.name][name]
            cells = [
                spread_of([run["wall_s"] for run in runs], "{:.3f}"),
                spread_of([run["reached_s"] for run in runs], "{:.3g}"),
                spread_of([rate(run) for run in runs], "{:,.0f}"),
                events(runs),
                memory(runs, "process_mib"),
                memory(runs, "run_mib"),
            ]
            lines.append(f"| `{bench.name}` | {name} | " + " | ".join(cells) + " |")
    described = "; ".join(f"`{bench.name}`: {bench.text}" for bench in figures.benches)
    return "\n".join([*lines, "", described + "."])


def against(figures: Figures) -> str:
    first, *others = figures.contestants
    lines = [
        f"## How many times as fast the {first} is",
        "",
        f"Data packets a second of the {first} ÷ those of the other in the same round: median (least to most).",
        "",
        "| experiment | " + " | ".join(others) + " |",
        "| --- |" + " ---: |" * len(others),
    ]
    for bench in figures.benches:
        runs = figures.runs[bench.name]
        cells = [spread_of(ratios(runs[first], runs[name]), "{:,.1f}") for name in others]
        lines.append(f"| `{bench.name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def instructions(figures: Figures) -> str:
    if not figures.instructions:
        return ""
    names = [name for name in figures.contestants if name != REFERENCE]
    lines = [
        "## Instructions a data packet",
        "",
        "By `valgrind --tool=cachegrind`, over a short span of virtual time that ns-3 reaches too: a run to its",
        "end minus a run to its start. This excludes start-up, but it is an early part of the experiment, with",
        "the losses of slow start. Packets are those that senders sent. The simulator is counted without Python",
        "(`crates/dumbbell/src/bin/time_run.rs`). A guest cannot be counted: valgrind does not run programs that",
        "trace others, and few virtual machines expose CPU counters.",
        "",
        "| experiment | span, s | " + " | ".join(names) + " |",
        "| --- | ---: |" + " ---: |" * len(names),
    ]
    for name, counts in figures.instructions.items():
        span = " to ".join(f"{at:g}" for at in SPANS_S[name])
        lines.append(f"| `{name}` | {span} | " + " | ".join(f"{counts[each]:,.0f}" for each in names) + " |")
    return "\n".join(lines)


def near(figures: Figures) -> str:
    lines = [
        "## Difference from the kernel",
        "",
        "Means over the seeds ± their standard deviation, of runs that reached their end, by the definitions",
        f"of `dumbbell compare`. The {REFERENCE}, which runs Linux, is the reference. In brackets: the",
        "difference of the mean.",
        "",
    ]
    for bench in figures.benches:
        runs = figures.runs[bench.name]
        names = [REFERENCE, *(name for name in figures.contestants if name != REFERENCE and finished(runs[name]))]
        missing = [name for name in figures.contestants if name not in names]
        counts = ", ".join(f"{name} {len(finished(runs[name]))}" for name in names)
        lines += [f"### `{bench.name}`", "", f"Runs: {counts}."]
        lines += [f"Never reached its end: {', '.join(missing)}."] if missing else []
        lines += ["", "| metric | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
        lines += agreement({name: finished(runs[name]) for name in names})
        lines.append("")
    return "\n".join(lines).rstrip()


def agreement(runs: Mapping[str, Sequence[Mapping[str, float]]]) -> Iterator[str]:
    """A row per metric: mean and spread of the reference, then of the others with their difference."""
    reference, *_ = runs.values()
    for metric in _metrics(reference[0]):
        expected = mean(run[metric] for run in reference)
        cells = []
        for number, measures in enumerate(runs.values()):
            values = [run[metric] for run in measures if metric in run]
            off = f" ({(mean(values) - expected) / abs(expected):+.1%})" if values and number and expected else ""
            cells.append(f"{_with_sd(values)}{off}")
        yield f"| {metric} | " + " | ".join(cells) + " |"


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
