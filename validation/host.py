"""Compare the host engine with the kernel engine: `host.toml` on both, 3 seeds each.

    python validation/host.py [PART-OF-A-NAME...] [--seeds 3] [-o validation/host.md]

The kernel engine is the reference; `dumbbell.analysis.difference` has the tolerances. Invalid runs are compared too,
and listed. Runs in real time come last and one at a time, so that other runs do not disturb them. `-o` also writes
`results/host.json`. Exit status: 1 if a case is outside its tolerance.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import figures
from runs import Job, in_parallel

from dumbbell.analysis.difference import Row, Verdict, compare
from dumbbell.analysis.summary import measures
from dumbbell.engines.host_load import facts
from dumbbell.errors import DumbbellError
from dumbbell.results.result import Run
from dumbbell.spec import load

CASES = Path(__file__).with_name("host.toml")
REASONS = Path(__file__).with_name("host-reasons.md")
"""Why some cases differ, measured once."""
ENGINES = ("kernel", "host")
SHOWN = ("groups.*.throughput_mbps", "groups.*.rtt_ms.mean", "queue.packets.mean", "groups.*.cwnd_packets.mean")


@dataclass(frozen=True)
class Measured:
    """The measurements of a run that the page needs."""

    values: dict[str, float]
    invalid: list[str]
    late_p99_ms: float | None
    shaper_share: float | None


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("-o", type=Path, default=None)
    options = arguments.parse_args()
    began = time.perf_counter()
    cases = [case for case in load(CASES) if not options.names or any(name in case.name for name in options.names)]
    found: dict[tuple[str, str, int], Measured] = {}
    for engine in ENGINES:
        jobs = [Job(case.name, case, engine, seed) for case in cases for seed in range(1, options.seeds + 1)]
        for job, made, _ in in_parallel(jobs, 1 if engine == "host" else None, lambda _, run: measured(run)):
            if isinstance(made, DumbbellError):
                raise made
            found[job.which] = made
            print(f"\r{len(found)}/{2 * len(jobs)} runs", end="", file=sys.stderr, flush=True)
    pairs = {
        case.name: [[found[case.name, engine, seed] for seed in range(1, options.seeds + 1)] for engine in ENGINES]
        for case in cases
    }
    text = page(pairs, options.seeds, time.perf_counter() - began)
    print(text)
    if options.o is not None:
        options.o.write_text(text, encoding="utf-8")
        agree = sum(not outside(*both) for both in pairs.values())
        figures.write_figures("host", {"cases": len(pairs), "agree": agree, "seeds": options.seeds})
    return 1 if any(outside(*both) for both in pairs.values()) else 0


def measured(run: Run) -> Measured:
    host = run.manifest.get("machine") or {}
    shares = host.get("shaper_shares") or {}
    late = host.get("late_p99_s")
    return Measured(
        measures(run), list(run.manifest["invalid"]), None if late is None else late * 1e3, shares.get("bottleneck")
    )


def rows_of(kernel: Sequence[Measured], host: Sequence[Measured]) -> list[Row]:
    return compare([each.values for each in kernel], [each.values for each in host], method="welch")


def outside(kernel: Sequence[Measured], host: Sequence[Measured]) -> list[Row]:
    return [row for row in rows_of(kernel, host) if row.verdict is Verdict.DIFFERS]


def page(pairs: dict[str, list[list[Measured]]], seeds: int, wall_s: float) -> str:
    notes, lines = [], []
    for name, (kernel, host) in pairs.items():
        rows = {row.metric: row for row in rows_of(kernel, host)}
        far = outside(kernel, host)
        judged = sum(row.verdict is not Verdict.SHOWN for row in rows.values())
        late = max((each.late_p99_ms for each in host if each.late_p99_ms is not None), default=None)
        share = min((each.shaper_share for each in host if each.shaper_share is not None), default=None)
        lines.append(
            (name, *(_cell(rows, pattern) for pattern in SHOWN), "" if late is None else f"{late:.2f}",
             "" if share is None else f"{share:.3f}", f"{len(far)} of {judged} outside" if far else "agrees")
        )  # fmt: skip
        notes += [
            f"{name}: `{row.metric}` {row.first.mean:.4g} → {row.second.mean:.4g}, allowed {row.allowed:.3g}"
            for row in far
        ]
        notes += [f"{name}: invalid: {why}" for why in dict.fromkeys(why for each in host for why in each.invalid)]
    return figures.page_of(
        "host",
        seeds=seeds,
        wall_s=wall_s,
        release=os.uname().release,
        about=facts(),
        rows=figures.table("case | Mbit/s | RTT ms | queue, packets | cwnd | late ms | shaper | verdict", lines),
        notes=notes,
        reasons=REASONS.read_text(encoding="utf-8").rstrip(),
    )


def _cell(rows: dict[str, Row], pattern: str) -> str:
    """The first metric that matches the pattern."""
    first, _, last = pattern.partition("*")
    row = next((row for name, row in rows.items() if name.startswith(first) and name.endswith(last)), None)
    return "" if row is None else f"{row.first.mean:.4g} → {row.second.mean:.4g}"


if __name__ == "__main__":
    sys.exit(main())
