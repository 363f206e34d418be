"""Runs the Python tests N times in random order and appends a row per run to validation/test-runs.md.

    python scripts/repeat_tests.py N [--seed FIRST] [-o validation/test-runs.md] [PYTEST ARGUMENTS]

Every run has its own seed: modules are shuffled, and tests in each module. Without further arguments a run is the
whole suite. SIGINT to pytest ends a run early, and its row says so. The exit status is 1 if a test failed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PYTEST = ("-q", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider", "--random-order-bucket=module")
INTERRUPTED = pytest.ExitCode.INTERRUPTED
HEAD = """# Runs of the tests

One row per run of `python scripts/repeat_tests.py`: the Python tests in random order (`--random-order-seed`), on two
processes. The load is the average of the minute before the start and of the minute before the end (`/proc/loadavg`).

| start (UTC) | commit | tests | seed | cores | load | passed | skipped | failed | duration |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |
"""


@dataclass(frozen=True)
class Outcome:
    """The results of one run."""

    passed: int
    skipped: int
    failed: tuple[str, ...]


def main() -> int:
    """Run the tests; a failure does not end the repetition."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="FIRST")
    parser.add_argument("-o", dest="out", type=Path, default=ROOT / "validation" / "test-runs.md")
    options, selected = parser.parse_known_args()
    failures = 0
    for seed in range(options.seed, options.seed + options.times):
        text, outcome = run(seed, selected)
        failures += len(outcome.failed)
        append(options.out, text)
    return int(failures > 0)


def run(seed: int, selected: Sequence[str]) -> tuple[str, Outcome]:
    """The row and the results of one run."""
    start, began, before = time.gmtime(), time.monotonic(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", *PYTEST, f"--random-order-seed={seed}", f"--junitxml={report}"]
        status = subprocess.run([*command, *selected], cwd=ROOT, check=False).returncode
        outcome = read(report.read_text(encoding="utf-8"))
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    tests = f"`{' '.join(selected)}`" if selected else "all"
    cells = [
        time.strftime("%Y-%m-%d %H:%M", start), commit(), tests + ", interrupted" * (status == INTERRUPTED), seed,
        len(os.sched_getaffinity(0)), f"{before:.1f} to {os.getloadavg()[0]:.1f}", f"{outcome.passed:,}",
        outcome.skipped, "<br>".join(outcome.failed) or "none", f"{minutes} min {seconds:02} s",
    ]  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |\n", outcome


def read(report: str) -> Outcome:
    """The results in pytest's report in JUnit's format, which pytest itself has written."""
    passed, skipped, failed = 0, 0, []
    for case in ET.fromstring(report).iter("testcase"):  # noqa: S314 — written by our own pytest
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed.append(f"{case.get('classname')}::{case.get('name')}".replace("|", "\\|"))
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
    return Outcome(passed, skipped, tuple(failed))


def commit() -> str:
    """The commit under test; with + if files differ from it."""
    described = ["git", "describe", "--always", "--dirty=+", "--abbrev=8", "--exclude=*"]
    return subprocess.run(described, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def append(page: Path, row: str) -> None:
    """Add the row; a new page gets its head first."""
    if not page.exists():
        page.write_text(HEAD, encoding="utf-8")
    with page.open("a", encoding="utf-8") as file:
        file.write(row)


if __name__ == "__main__":
    sys.exit(main())
