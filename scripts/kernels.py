"""Did TCP change between two kernels? The six scenarios on both, and the page about it.

    python scripts/kernels.py 6.1 6.12 [-o docs/kernels-6.1-against-6.12.md] [--seeds 1..3] [SCENARIO...]

Each scenario is a `dumbbell compare`; what is outside its tolerance, by more than the seeds' own spread, is in the
table, the furthest first. What was found about the why is kept: the part of the page below `## Why`.
"""

import argparse
import json
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
    asked = arguments.parse_args()
    done = {name: compared(name, asked.first, asked.second, asked.seeds) for name in asked.scenarios}
    text = page(asked, done)
    if asked.output:
        kept = asked.output.read_text(encoding="utf-8") if asked.output.is_file() else ""
        text += "\n" + kept[kept.index(WHY) :] if WHY in kept else ""
        asked.output.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0


def compared(scenario: str, first: str, second: str, seeds: str) -> dict[str, Any]:
    """What `compare` has to say, as JSON. Leaves with its status when it could not compare."""
    words = ["compare", scenario, "--kernels", f"{first},{second}", "--seeds", seeds, "--json"]
    sys.stderr.write(f"dumbbell {' '.join(words)}\n")
    ran = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode not in (0, 1):
        sys.exit(ran.returncode)
    numbers: dict[str, Any] = json.loads(ran.stdout)
    return numbers


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
