"""Measure the speed and memory of the kernel engine.

    python bench/speed.py [-o bench/speed.md] [--runs 3]

Each experiment runs several times, each time in its own process; the page has medians. Wall time is that of the whole
run (plan, guest, decoding, writing), without the start of Python. Packets are those that the bottleneck sent.
A run of one virtual millisecond measures boot, set-up and end: a flow's first packet leaves at time 0. Two runs at
once have a core each; they compete for shared memory, caches and the host's kernel.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from experiments import EXPERIMENTS, bench

CYCLIC = "cyclic"
NO_TIME = ("duration=1ms", "sample=1ms")


@dataclass(frozen=True)
class Measured:
    """One run's figures."""

    wall_s: float
    guest_s: float
    duration_s: float
    packets: int
    peak_mib: float
    utilization: float
    valid: bool


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.one:
        print(json.dumps(one(*options.one)))
        return 0
    lines = [
        "# Speed",
        "",
        f"Median of {options.runs} runs on {os.cpu_count()} cores ({processor()}), one core used. "
        "Made by `make page NAME=bench`.",
        "",
        "| experiment | wall s | × real time | in the guest s | data packets | packets a wall second "
        "| the guest's peak memory MiB | utilization |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for each in EXPERIMENTS:
        runs = [measure(each.name)[0] for _ in range(options.runs)]
        run = sorted(runs, key=lambda run: run.wall_s)[len(runs) // 2]
        guest = median(run.guest_s for run in runs)
        if not all(run.valid for run in runs):
            raise SystemExit(f"{each.name}: an invalid run")
        lines.append(
            f"| `{each.name}`: {each.text} | {run.wall_s:.2f} | {run.duration_s / run.wall_s:.0f} | {guest:.2f} "
            f"| {run.packets:,} | {run.packets / run.wall_s:,.0f} | {run.peak_mib:.0f} | {run.utilization:.1%} |"
        )
        print(lines[-1], file=sys.stderr)
    lines += ["", boot(options.runs), "", two_at_once(options.runs)]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    return 0


def boot(runs: int) -> str:
    """The cost of a run of one virtual millisecond."""
    each = [measure(CYCLIC, *NO_TIME)[0] for _ in range(runs)]
    wall, guest = (median(getattr(run, key) for run in each) for key in ("wall_s", "guest_s"))
    return (
        f"`cyclic` of one virtual millisecond: {wall:.3f} s, {guest:.3f} s of it in the guest: "
        "boot, set-up, first packets and end."
    )


def two_at_once(runs: int) -> str:
    """The throughput of two parallel guests relative to one; single and parallel runs alternate."""
    ratios = sorted(
        2 * measure(CYCLIC)[0].wall_s / max(run.wall_s for run in measure(CYCLIC, at_once=2)) for _ in range(runs)
    )
    return (
        f"Two runs of `cyclic` at once: {median(ratios):.2f} times as many packets a wall second as one "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f}, {runs} pairs)."
    )


def measure(name: str, *settings: str, at_once: int = 1) -> list[Measured]:
    """Run an experiment in its own process, which has its own peak memory; or several in parallel."""
    command = [sys.executable, __file__, "--one", name, *settings]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(at_once)]
    outputs = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit(f"{name}: a run failed")
    return [Measured(**json.loads(text)) for text in outputs]


def one(name: str, *settings: str) -> dict[str, float | int | bool]:
    from dumbbell.analysis.summary import summary
    from dumbbell.engines import KernelEngine, Request
    from dumbbell.results import result

    with tempfile.TemporaryDirectory() as folder:
        out = KernelEngine().run(Request(name, bench(name).case(*settings), 1, Path(folder) / "run"), lambda _: None)
        run = result.load(out)
    bottleneck = next(queue for queue in run.manifest["queues"] if queue["name"] == "bottleneck")
    return {
        "wall_s": run.manifest["wall_s"],
        "guest_s": run.manifest["phases_s"]["guest"],
        "duration_s": run.manifest["duration_s"],
        "packets": bottleneck["sent_packets"],
        "peak_mib": run.manifest["guest_peak_bytes"] / 2**20,
        "utilization": summary(run)["utilization"],
        "valid": run.manifest["valid"],
    }


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


if __name__ == "__main__":
    sys.exit(main())
