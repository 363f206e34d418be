"""What each kernel builds with, whether it boots and repeats, and its speed; validation/results/kernel-versions.json.

Each kernel boots, runs the six scenarios twice with seed 1, and `cyclic` (60 s, sampled every 10 ms) three times in
turn with the other kernels for its speed. A row says `same bytes` if the tables of both runs of every scenario are
equal. Speed is data packets that left the bottleneck by second of CPU time of the guest (user and system), so that
other programs on the host count little. Rows of kernels that are not given are kept; without a kernel only the section
is written.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from dumbbell.engines import KernelEngine, Request
from dumbbell.kernels import Kernel, edits, find
from dumbbell.kernels.boot import boot
from dumbbell.kernels.store import CONFIG
from dumbbell.kernels.versions import numbers
from dumbbell.publish.cache import cache_folder
from dumbbell.results import result
from dumbbell.spec import find as scenario_file
from dumbbell.spec import load
from studies.kernels.compare import PAGE
from studies.study import COMMAND, RESULTS, fill, parser, rendered, table, tables_digest, write_figures

NAME = "kernel-versions"
SCENARIOS = ("cyclic", "two-classes", "lossy-download", "lossy-lan", "bufferbloat", "bufferbloat-cured")
SPEED = ("duration=60s", "sample=10ms")
SPEED_RUNS = 3
SECCOMP = "seccomp=on"
"""An argument of newer kernels: processes of the guest are stopped by a filter instead of ptrace."""
SECCOMP_HELP = b"seccomp=<on/auto/off>"


def main(given: list[str]) -> None:
    """Run everything and fill the section."""
    arguments = parser(__doc__)
    arguments.add_argument("kernels", nargs="*", metavar="KERNEL")
    arguments.add_argument("--speed", action="store_true", help="measure only the speed of kernels that were run")
    options = arguments.parse_args(given)
    found = [find(name) for name in options.kernels]
    rows: dict[str, dict[str, Any]] = json.loads((RESULTS / f"{NAME}.json").read_text(encoding="utf-8"))
    if not options.speed:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            rows |= zip((kernel.release for kernel in found), pool.map(ran, found), strict=True)
    measure_speed(found, rows)
    rows = {release: rows[release] for release in sorted(rows, key=numbers)}
    write_figures(NAME, rows)
    fill(PAGE, "study of versions", section(rows))


def measure_speed(found: list[Kernel], rows: dict[str, dict[str, Any]]) -> None:
    """Add each kernel's speed to its row; the kernels and the modes of one take turns."""
    for kernel in found:
        rows[kernel.release] |= {"packets_per_cpu_s": [], "load": []}
        if has_seccomp(kernel):
            rows[kernel.release] |= {"seccomp_packets_per_cpu_s": [], "seccomp_same_bytes": True}
    for _ in range(SPEED_RUNS):
        for kernel in found:
            row = rows[kernel.release]
            row["load"].append(os.getloadavg()[0])
            packets, traced = speed(kernel)
            row["packets_per_cpu_s"].append(packets)
            if has_seccomp(kernel):
                packets, other = speed(kernel, SECCOMP)
                row["seccomp_packets_per_cpu_s"].append(packets)
                row["seccomp_same_bytes"] &= other == traced


def ran(kernel: Kernel) -> dict[str, Any]:
    """Boot a kernel, and run every scenario twice."""
    report = boot(kernel.binary, kernel.arguments)
    config = (kernel.folder / CONFIG).read_text(encoding="utf-8")
    return {
        "source": kernel.source,
        "edits": edits_of(kernel),
        "absent": kernel.absent,
        "preemption": re.findall(r"^CONFIG_(PREEMPT_(?:NONE|VOLUNTARY|LAZY)|PREEMPT)=y$", config, re.MULTILINE),
        "controllers": len(report.controllers),
        "scenarios": {name: twice(kernel, name) for name in SCENARIOS},
    }


def edits_of(kernel: Kernel) -> tuple[str, ...]:
    """As its record has them; for a kernel built before they were recorded, as its tree has them."""
    tree = cache_folder("build") / kernel.name / "tree"
    return kernel.edits or (edits.edit(tree).applied if tree.is_dir() else ())


def has_seccomp(kernel: Kernel) -> bool:
    """Can it stop its processes by a filter?"""
    return SECCOMP_HELP in kernel.binary.read_bytes()


def twice(kernel: Kernel, scenario: str) -> dict[str, Any]:
    """Run a scenario twice: validity, met expectations, and whether the tables are the same."""
    with tempfile.TemporaryDirectory() as temporary:
        outcomes = [cli(kernel, scenario, Path(temporary) / str(number)) for number in (1, 2)]
        same = len({tables_digest(Path(temporary) / str(number)) for number in (1, 2)}) == 1
    sys.stderr.write(f"{kernel.name} {scenario}: {outcomes[0]}, {'same' if same else 'other'} bytes\n")
    return outcomes[0] | {"same_bytes": same}


def cli(kernel: Kernel, scenario: str, folder: Path) -> dict[str, Any]:
    """Run a scenario by the command; an error is a finding."""
    arguments = ["run", scenario, "--engine", "kernel", "--kernel", kernel.name, "--seed", "1", "--jobs", "1", "--json"]
    ran = subprocess.run([COMMAND, *arguments, "--out", folder], capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        return {"runs": 0, "valid": 0, "error": ran.stderr.strip().splitlines()[-1]}
    printed = json.loads(ran.stdout)
    runs = printed.get("cases") or [printed]
    expected = [each["passed"] for run in runs for each in run.get("expect", ())]
    return {
        "runs": len(runs), "valid": sum(run["valid"] for run in runs),
        "expectations": len(expected), "met": sum(expected),
    }  # fmt: skip


def speed(kernel: Kernel, *mode: str) -> tuple[float, str]:
    """Data packets of `cyclic` by second of the guest's CPU time, and the hash of the tables."""
    engine, (case,) = KernelEngine(kernel.name), load(scenario_file("cyclic"), SPEED)
    engine.kernel = replace(engine.kernel, arguments=(*kernel.arguments, *mode))
    with tempfile.TemporaryDirectory() as temporary:
        before = cpu_s()
        folder = engine.run(Request("cyclic", case, 1, Path(temporary) / "run"), lambda _: None)
        spent = cpu_s() - before
        queues, hashed = result.load(folder).manifest.queues, tables_digest(folder)
    packets = next(int(queue["sent_packets"]) for queue in queues if queue["under_test"])
    return packets / spent, hashed


def cpu_s() -> float:
    """CPU time of child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def section(rows: dict[str, dict[str, Any]]) -> str:
    """The section as Markdown."""
    needed = [(edits.HZ_NAME, "all", edits.HZ_FILE), *((each.name, each.versions, each.file) for each in edits.EDITS)]
    applied = [
        (name, versions, f"`{file}`", *("yes" if name in row["edits"] else "no" for row in rows.values()))
        for name, versions, file in needed
    ]
    modes = [
        (release, spread_of(row["packets_per_cpu_s"]), spread_of(row["seccomp_packets_per_cpu_s"]),
         "same bytes" if row["seccomp_same_bytes"] else "other bytes")
        for release, row in rows.items()
        if "seccomp_packets_per_cpu_s" in row
    ]  # fmt: skip
    loads = [load for row in rows.values() for load in row["load"]]
    built = "version | source | builds | >boots, controllers | six scenarios | repeated | >data packets a CPU second"
    return rendered(
        Path(__file__).with_name("versions.md"),
        scenarios=", ".join(f"`{name}`" for name in SCENARIOS),
        runs=SPEED_RUNS,
        least=min(loads),
        most=max(loads),
        versions=table(built, [version(release, row) for release, row in rows.items()]),
        applied=table(f"edit | needed by | file | {' | '.join(rows)}", applied),
        absent={release: ", ".join(row["absent"]) or "nothing" for release, row in rows.items()},
        modes=table("version | >ptrace | >seccomp | tables of both modes", modes),
    )


def version(release: str, row: dict[str, Any]) -> list[str]:
    """A kernel's row: source, edits, runs and speed."""
    done = row["scenarios"].values()
    runs, valid, same = (sum(each[key] for each in done) for key in ("runs", "valid", "same_bytes"))
    return [
        release,
        row["source"],
        f"{len(row['edits'])} edits, {', '.join(row['preemption'])}",
        f"yes, {row['controllers']}",
        f"{valid} of {runs} runs valid",
        f"same bytes in {same} of {len(SCENARIOS)}",
        spread_of(row["packets_per_cpu_s"]),
    ]


def spread_of(speeds: list[float]) -> str:
    """Median, smallest and largest."""
    return f"{median(speeds):,.0f} ({min(speeds):,.0f} to {max(speeds):,.0f})"
