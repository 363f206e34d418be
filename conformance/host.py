"""The machine's own kernel in real time against the kernel engine: `host.toml` on both, 3 seeds each.

    python conformance/host.py [PART-OF-A-NAME...] [--seeds 3] [-o conformance/host.md]

The kernel engine is the reference; tolerances are those of `dumbbell.analysis.difference`, and an invalid run counts as
what it is. Runs in real time come one after the other, after all others, so that nothing of ours disturbs them. Exit
status 1 when a case lies outside.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runs import Job, side_by_side

from dumbbell.analysis import Row, Verdict, compare, measures
from dumbbell.engine.host_machine import facts
from dumbbell.errors import DumbbellError
from dumbbell.result import Run
from dumbbell.spec import load

CASES = Path(__file__).with_name("host.toml")
REASONS = Path(__file__).with_name("host-reasons.md")
"""What is known of those that differ, measured once."""
ENGINES = ("kernel", "host")
SHOWN = ("groups.*.throughput_mbps", "groups.*.rtt_ms.mean", "queue.packets.mean", "groups.*.cwnd_packets.mean")


@dataclass(frozen=True)
class Measured:
    """What is kept of a run."""

    values: dict[str, float]
    invalid: list[str]
    late_p99_ms: float | None
    shaper_share: float | None


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("-o", type=Path, default=None)
    asked = arguments.parse_args()
    began = time.perf_counter()
    cases = [case for case in load(CASES) if not asked.names or any(name in case.name for name in asked.names)]
    found: dict[tuple[str, str, int], Measured] = {}
    for engine in ENGINES:
        jobs = [Job(case.name, case, engine, seed) for case in cases for seed in range(1, asked.seeds + 1)]
        for job, made, _ in side_by_side(jobs, 1 if engine == "host" else None, lambda _, run: measured(run)):
            if isinstance(made, DumbbellError):
                raise made
            found[job.which] = made
            print(f"\r{len(found)}/{2 * len(jobs)} runs", end="", file=sys.stderr, flush=True)
    sides = {
        case.name: [[found[case.name, engine, seed] for seed in range(1, asked.seeds + 1)] for engine in ENGINES]
        for case in cases
    }
    text = page(sides, asked.seeds, time.perf_counter() - began)
    print(text)
    if asked.o is not None:
        asked.o.write_text(text, encoding="utf-8")
    return 1 if any(outside(*both) for both in sides.values()) else 0


def measured(run: Run) -> Measured:
    machine = run.birth.get("machine") or {}
    shares = machine.get("shaper_shares") or {}
    late = machine.get("late_p99_s")
    return Measured(
        measures(run), list(run.birth["invalid"]), None if late is None else late * 1e3, shares.get("bottleneck")
    )


def rows_of(there: Sequence[Measured], here: Sequence[Measured]) -> list[Row]:
    return compare([each.values for each in there], [each.values for each in here], method="welch")


def outside(there: Sequence[Measured], here: Sequence[Measured]) -> list[Row]:
    return [row for row in rows_of(there, here) if row.verdict is Verdict.DIFFERS]


def page(sides: dict[str, list[list[Measured]]], seeds: int, wall_s: float) -> str:
    machine, release = facts(), os.uname().release
    lines = [
        "# This machine in real time against the kernel in virtual time",
        "",
        f"`python conformance/host.py -o conformance/host.md`: the cases of `host.toml`, {seeds} seeds each, 3 s each; "
        f"{wall_s:.0f} s in all.",
        f"Machine: Linux {release}, {machine['cpus']} × {machine['cpu']}, clocksource {machine['clocksource']}, "
        f"HZ {machine['hz']}, load average {machine['load_before']:g} at the end.",
        "Shown are means: kernel → host. `late` is the host's 99th percentile of how late the agent's timers were, "
        "the largest of all seeds; `shaper` what the shaper sent of its rate while packets waited, the smallest.",
        "",
        "| case | Mbit/s | RTT ms | queue, packets | cwnd | late ms | shaper | verdict |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    notes = []
    for name, (there, here) in sides.items():
        rows = {row.metric: row for row in rows_of(there, here)}
        far = outside(there, here)
        judged = [row for row in rows.values() if row.verdict is not Verdict.SHOWN]
        cells = [_cell(rows, pattern) for pattern in SHOWN]
        late = max((each.late_p99_ms for each in here if each.late_p99_ms is not None), default=None)
        share = min((each.shaper_share for each in here if each.shaper_share is not None), default=None)
        verdict = "agrees" if not far else f"{len(far)} of {len(judged)} outside"
        lines.append(
            f"| {name} | {' | '.join(cells)} | {'' if late is None else f'{late:.2f}'} "
            f"| {'' if share is None else f'{share:.3f}'} | {verdict} |"
        )
        notes += [
            f"- {name}: `{row.metric}` {row.first.mean:.4g} → {row.second.mean:.4g}, allowed {row.allowed:.3g}"
            for row in far
        ]
        notes += [f"- {name}: invalid: {why}" for why in dict.fromkeys(why for each in here for why in each.invalid)]
    told = ["Outside:", "", *notes] if notes else ["Every judged metric agrees."]
    reasons = REASONS.read_text(encoding="utf-8").splitlines()
    return "\n".join([*lines, "", *told, "", *reasons]) + "\n"


def _cell(rows: dict[str, Row], pattern: str) -> str:
    """The first metric of this pattern: the only group's, where there is one."""
    first, _, last = pattern.partition("*")
    row = next((row for name, row in rows.items() if name.startswith(first) and name.endswith(last)), None)
    return "" if row is None else f"{row.first.mean:.4g} → {row.second.mean:.4g}"


if __name__ == "__main__":
    sys.exit(main())
