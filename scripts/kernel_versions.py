"""Boot and run every given kernel: write docs/kernel-versions.md and validation/results/kernel-versions.json.

    python scripts/kernel_versions.py [6.1 6.12 7.2 7.3] [-o docs/kernel-versions.md]

Each kernel boots, runs the six scenarios twice with seed 1, and `cyclic` (60 s, sampled every 10 ms) three times in
turn with the other kernels for its speed. A row says `same bytes` if the tables of both runs of every scenario are
equal. Speed is data packets that left the bottleneck by second of CPU time of the guest (user and system), so that
other programs on the host count little. Rows of kernels that are not given are kept; without a kernel only the page is
written.
"""

import argparse
import hashlib
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

from generated import RESULTS, write_figures

from dumbbell.engines import KernelEngine, Request
from dumbbell.errors import DumbbellError
from dumbbell.kernels import Kernel, edits, find
from dumbbell.kernels.boot import boot
from dumbbell.kernels.store import CONFIG
from dumbbell.kernels.versions import numbers
from dumbbell.publish.cache import cache_folder
from dumbbell.results import result
from dumbbell.spec import find as scenario_file
from dumbbell.spec import load

NAME = "kernel-versions"
SCENARIOS = ("cyclic", "two-classes", "lossy-download", "lossy-lan", "bufferbloat", "bufferbloat-cured")
SPEED = ("duration=60s", "sample=10ms")
SPEED_RUNS = 3
SECCOMP = "seccomp=on"
"""An argument of newer kernels: processes of the guest are stopped by a filter instead of ptrace."""
SECCOMP_HELP = b"seccomp=<on/auto/off>"


def main() -> None:
    """Run everything and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("kernels", nargs="*", metavar="KERNEL")
    arguments.add_argument("-o", "--output", type=Path, default=Path("docs/kernel-versions.md"))
    arguments.add_argument("--speed", action="store_true", help="measure only the speed of kernels that were run")
    options = arguments.parse_args()
    found = [find(name) for name in options.kernels]
    rows: dict[str, dict[str, Any]] = json.loads((RESULTS / f"{NAME}.json").read_text(encoding="utf-8"))
    if not options.speed:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            rows |= zip((kernel.release for kernel in found), pool.map(ran, found), strict=True)
    measure_speed(found, rows)
    rows = {release: rows[release] for release in sorted(rows, key=numbers)}
    write_figures(NAME, rows)
    options.output.write_text(page(rows), encoding="utf-8")


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
        same = len({tables(Path(temporary) / str(number)) for number in (1, 2)}) == 1
    sys.stderr.write(f"{kernel.name} {scenario}: {outcomes[0]}, {'same' if same else 'other'} bytes\n")
    return outcomes[0] | {"same_bytes": same}


def cli(kernel: Kernel, scenario: str, folder: Path) -> dict[str, Any]:
    """Run a scenario by the command."""
    command = Path(sys.executable).with_name("dumbbell")
    arguments = ["run", scenario, "--engine", "kernel", "--kernel", kernel.name, "--seed", "1", "--jobs", "1", "--json"]
    ran = subprocess.run([command, *arguments, "--out", folder], capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        return {"runs": 0, "valid": 0, "error": ran.stderr.strip().splitlines()[-1]}
    printed = json.loads(ran.stdout)
    runs = printed.get("cases") or [printed]
    expected = [each["passed"] for run in runs for each in run.get("expect", ())]
    return {
        "runs": len(runs), "valid": sum(run["valid"] for run in runs),
        "expectations": len(expected), "met": sum(expected),
    }  # fmt: skip


def tables(folder: Path) -> str:
    """A hash of all tables of a result."""
    hashed = hashlib.sha256()
    for file in sorted(folder.rglob("*.parquet")):
        hashed.update(f"{file.relative_to(folder)}\0".encode() + file.read_bytes())
    return hashed.hexdigest()


def speed(kernel: Kernel, *mode: str) -> tuple[float, str]:
    """Data packets of `cyclic` by second of the guest's CPU time, and the hash of the tables."""
    engine, (case,) = KernelEngine(kernel.name), load(scenario_file("cyclic"), SPEED)
    engine.kernel = replace(engine.kernel, arguments=(*kernel.arguments, *mode))
    with tempfile.TemporaryDirectory() as temporary:
        before = cpu_s()
        folder = engine.run(Request("cyclic", case, 1, Path(temporary) / "run"), lambda _: None)
        spent = cpu_s() - before
        queues, hashed = result.load(folder).manifest.queues, tables(folder)
    packets = next(int(queue["sent_packets"]) for queue in queues if queue["under_test"])
    return packets / spent, hashed


def cpu_s() -> float:
    """CPU time of child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def page(rows: dict[str, dict[str, Any]]) -> str:
    """The page as Markdown."""
    table = [
        "| version | source | builds | boots, controllers | six scenarios | repeated | data packets a CPU second |",
        "| --- | --- | --- | ---: | --- | --- | ---: |",
    ]
    for release, row in rows.items():
        done = row["scenarios"].values()
        runs, valid = (sum(each[key] for each in done) for key in ("runs", "valid"))
        same = sum(each["same_bytes"] for each in done)
        built = f"{len(row['edits'])} edits, {', '.join(row['preemption'])}"
        table.append(
            f"| {release} | {row['source']} | {built} | yes, {row['controllers']} | {valid} of {runs} runs valid "
            f"| same bytes in {same} of {len(SCENARIOS)} | {spread_of(row['packets_per_cpu_s'])} |"
        )
    needed = [(edits.HZ_NAME, "all", edits.HZ_FILE), *((each.name, each.versions, each.file) for each in edits.EDITS)]
    edited = [
        f"| edit | needed by | file | {' | '.join(rows)} |",
        f"| --- | --- | --- | {' | '.join('---' for _ in rows)} |",
        *(
            f"| {name} | {versions} | `{file}` | "
            + " | ".join("yes" if name in row["edits"] else "no" for row in rows.values())
            + " |"
            for name, versions, file in needed
        ),
    ]
    absent = [f"- {release}: {', '.join(row['absent']) or 'nothing'}" for release, row in rows.items()]
    modes = [
        f"| {release} | {spread_of(row['packets_per_cpu_s'])} | {spread_of(row['seccomp_packets_per_cpu_s'])} "
        f"| {'same bytes' if row['seccomp_same_bytes'] else 'other bytes'} |"
        for release, row in rows.items()
        if "seccomp_packets_per_cpu_s" in row
    ]
    parts = [*table, "", SPEED_TEXT, "", EDITS, "", *edited, "", ABSENT, "", *absent, "", MODES, *modes, "", UNTRIED]
    loads = [load for row in rows.values() for load in row["load"]]
    return HEAD.format(least=min(loads), most=max(loads)) + "\n".join(parts) + "\n"


def spread_of(speeds: list[float]) -> str:
    """Median, smallest and largest."""
    return f"{median(speeds):,.0f} ({min(speeds):,.0f} to {max(speeds):,.0f})"


HEAD = f"""# Versions of Linux

Made by `python scripts/kernel_versions.py`: each kernel is booted, runs {", ".join(f"`{name}`" for name in SCENARIOS)}
twice with seed 1, and `cyclic` (60 s, sampled every 10 ms) {SPEED_RUNS} times for its speed, in turn with the others.
"Same bytes" means that the Parquet tables of both runs are equal. Speed counts CPU time of the guest: median, smallest,
largest, on a host whose two cores had other work (load {{least:.0f}} to {{most:.0f}}).
"builds" has the number of edits and the model of preemption: arch/um of 7.x offers no PREEMPT_NONE, and of what it
offers PREEMPT_VOLUNTARY alone doesn't preempt by force.

"""
EDITS = """## Edits

`kernel.json` of a kernel lists the edits of arch/um that its source got (`edits`), and what was not found (`unedited`).
[Why each is needed](design/kernel-engine.md#edits-of-archum)."""
SPEED_TEXT = """Two reasons for different speeds are known, but not measured apart: before 6.10 samples can't be queued
ahead, and on kernels newer than 6.12 each segment is read ([kernel engine](design/kernel-engine.md#path))."""
ABSENT = """## What a version lacks

Options of Dumbbell's configuration that the version doesn't have (`absent` in `kernel.json`). In 7.3 `PROC_SYSCTL` is
part of `SYSCTL`, which is on:"""
MODES = """## seccomp instead of ptrace

Linux 7.x can stop a guest's processes by a seccomp filter (`seccomp=on` on the guest's command line). Data packets of
`cyclic` a CPU second, both modes in turn. Dumbbell uses ptrace
([why](design/kernel-engine.md#seccomp-instead-of-ptrace)):

| version | ptrace | seccomp | tables of both modes |
| --- | ---: | ---: | --- |"""
UNTRIED = """## Untried

Other versions from 5.10 on are built with a note that nobody tried them. 5.10, 5.15 and 6.6 are such versions: no
source of them could be had where this page was made."""


if __name__ == "__main__":
    try:
        main()
    except DumbbellError as error:
        sys.exit(str(error))
