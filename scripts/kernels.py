"""Did TCP change between two kernels? The six scenarios on both, and the page about it.

    python scripts/kernels.py 6.1 6.12 [-o docs/kernels-6.1-against-6.12.md] [--seeds 1..3] [--runs DIR] [SCENARIO...]

Each scenario is run on both and compared; what is outside its tolerance, by more than the seeds' own spread, is in the
table, the furthest first. Runs stay below `--runs`, and what is there is not run again, so remove it when a kernel is
another. What was found about the why is kept: the part of the page below `## Why`.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

SCENARIOS = ("cyclic", "two-classes", "lossy-lan", "lossy-download", "bufferbloat", "bufferbloat-cured")
COMMAND = Path(sys.executable).with_name("dumbbell")
WHY = "## Why"


def main() -> int:
    """Run, and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("first")
    arguments.add_argument("second")
    arguments.add_argument("scenarios", nargs="*", default=SCENARIOS, metavar="SCENARIO")
    arguments.add_argument("--seeds", default="1..3")
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--runs", type=Path, default=Path("runs/kernels"))
    asked = arguments.parse_args()
    done = {
        name: compared(*(ran(name, kernel, asked.seeds, asked.runs) for kernel in (asked.first, asked.second)))
        for name in asked.scenarios
    }
    text = page(asked, done)
    if asked.output:
        kept = asked.output.read_text(encoding="utf-8") if asked.output.is_file() else ""
        text += "\n" + kept[kept.index(WHY) :] if WHY in kept else ""
        asked.output.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0


def ran(scenario: str, kernel: str, seeds: str, runs: Path) -> Path:
    """The folder of the scenario's runs on a kernel; they appear whole. Leaves with its status when there are none."""
    place = runs / kernel / scenario
    if not place.is_dir():
        staged = place.with_name(f"{scenario}.partial")
        shutil.rmtree(staged, ignore_errors=True)
        words = ["run", scenario, "--engine", "kernel", "--kernel", kernel, "--seed", seeds, "--out", str(staged)]
        # A run that is invalid (status 1) is a finding.
        called(words, stdout=sys.stderr)
        staged.rename(place)
    return place


def compared(first: Path, second: Path) -> dict[str, Any]:
    """What `compare` has to say, as JSON."""
    numbers: dict[str, Any] = json.loads(called(["compare", str(first), str(second), "--json"], stdout=subprocess.PIPE))
    return numbers


def called(words: list[str], stdout: Any) -> str:
    """Run Dumbbell. Leaves with its status where that is neither 0 nor 1."""
    sys.stderr.write(f"dumbbell {' '.join(words)}\n")
    ended = subprocess.run([COMMAND, *words], stdout=stdout, text=True, check=False)
    if ended.returncode not in (0, 1):
        sys.exit(ended.returncode)
    return ended.stdout or ""


def page(asked: argparse.Namespace, done: dict[str, dict[str, Any]]) -> str:
    """The table, the furthest apart first."""
    cases = {name: numbers.get("cases") or [{"name": "", **numbers}] for name, numbers in done.items()}
    judged = [row for each in cases.values() for case in each for row in case["metrics"] if row["verdict"] != "shown"]
    outside = [
        (name, case["name"], row)
        for name, each in cases.items()
        for case in each
        for row in case["metrics"]
        if row["verdict"] == "differs"
    ]
    outside.sort(key=lambda each: -abs(each[2]["relative"] or 0))
    invalid = [f"{name} {case['name']}".strip() for name, each in cases.items() for case in each if not case["valid"]]
    lines = [
        f"# Linux {asked.first} against Linux {asked.second}",
        "",
        f"`python scripts/kernels.py {asked.first} {asked.second} --seeds {asked.seeds} {' '.join(done)}`: each is "
        f"`dumbbell compare SCENARIO --kernels {asked.first},{asked.second} --seeds {asked.seeds}`.",
        "",
        f"Of {len(judged)} figures in {sum(map(len, cases.values()))} cases, {len(outside)} differ by more than is "
        "allowed and by more than the seeds do (docs/compare.md has the tolerances).",
        *([f"Invalid: {'; '.join(invalid)}."] if invalid else []),
        "",
        f"| scenario | case | figure | {asked.first} | {asked.second} | difference |",
        "| --- | --- | --- | ---: | ---: | ---: |",
        *(row_of(*each) for each in outside),
    ]
    return "\n".join(lines) + "\n"


def row_of(scenario: str, case: str, row: dict[str, Any]) -> str:
    """A line of the table."""
    share = "" if row["relative"] is None else f"{100 * row['relative']:+.1f} %"
    sides = " | ".join(f"{row[side]['mean']:.4g} ± {row[side]['sd'] or 0:.2g}" for side in ("first", "second"))
    return f"| {scenario} | {case} | `{row['metric']}` | {sides} | {share} |"


if __name__ == "__main__":
    sys.exit(main())
