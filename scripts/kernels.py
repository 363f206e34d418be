"""Did TCP change between two kernels? Runs the six scenarios on both and writes the page and its figures.

    python scripts/kernels.py 6.1 6.12 [-o docs/kernels-6.1-against-6.12.md] [--seeds 1..5] [--runs DIR] [SCENARIO...]

Each scenario is run on both and compared. The table has what exceeds its tolerance and random variation, largest
difference first. Runs are kept in `--runs` and not repeated: remove them after a kernel changed. The part of the page
below `## Why` is written by hand and kept. With `-o` the counts go to validation/results/kernels-FIRST-SECOND.json too.
"""

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from generated import write_figures

SCENARIOS = (
    "cyclic", "two-classes", "lossy-lan-plain", "lossy-download-plain", "bufferbloat-plain", "bufferbloat-cured",
)  # fmt: skip
SEEDS = {"two-classes": "1..10", "lossy-lan-plain": "1..20", "lossy-download-plain": "1..20"}
"""Random losses spread the figures, and three runs tell little."""
COMMAND = Path(sys.executable).with_name("dumbbell")
WHY = "## Why"


def main() -> int:
    """Run, and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("first")
    arguments.add_argument("second")
    arguments.add_argument("scenarios", nargs="*", default=SCENARIOS, metavar="SCENARIO")
    arguments.add_argument("--seeds", help="for all; by default 1..3, and more where losses are random")
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--runs", type=Path, default=Path("runs/kernels"))
    asked = arguments.parse_args()
    done = {
        name: compared(
            *(
                ran(name, kernel, asked.seeds or SEEDS.get(name, "1..3"), asked.runs)
                for kernel in (asked.first, asked.second)
            )
        )
        for name in asked.scenarios
    }
    judged = Judged.of(done)
    text = page(asked, judged, list(done))
    if asked.output:
        write_figures(f"kernels-{asked.first}-{asked.second}", judged.counts())
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


@dataclass(frozen=True)
class Judged:
    """The comparisons of all scenarios."""

    cases: list[tuple[str, dict[str, Any]]]
    """Each case with its scenario."""
    outside: list[tuple[str, dict[str, Any], dict[str, Any]]]
    """Scenario, case and row of each figure that differs, largest difference first."""

    @classmethod
    def of(cls, done: dict[str, dict[str, Any]]) -> "Judged":
        """From the JSON of `compare`, by scenario."""
        cases = [
            (name, case)
            for name, numbers in done.items()
            for case in (numbers.get("cases") or [{"name": "", **numbers}])
        ]
        outside = [(name, case, row) for name, case in cases for row in case["metrics"] if row["verdict"] == "differs"]
        return cls(cases, sorted(outside, key=lambda each: -abs(each[2]["relative"] or 0)))

    def counts(self) -> dict[str, int]:
        """How many figures were judged, and how."""
        verdicts = [row["verdict"] for _, case in self.cases for row in case["metrics"] if row["verdict"] != "shown"]
        return {
            "figures": len(verdicts),
            "cases": len(self.cases),
            "differ": verdicts.count("differs"),
            "inconclusive": verdicts.count("inconclusive"),
        }


def page(asked: argparse.Namespace, judged: Judged, scenarios: list[str]) -> str:
    """The differences, then every case with its worst figure."""
    cases, outside, counts = judged.cases, judged.outside, judged.counts()
    alone = [f"{name} {case['name']}: {', '.join(case['one_sided'])}" for name, case in cases if case["one_sided"]]
    invalid = [f"{name} {case['name']}".strip() for name, case in cases if not case["valid"]]
    head = f"| scenario | case | seeds | figure | {asked.first} | {asked.second} | difference | 95 % interval |"
    lines = [
        f"# Linux {asked.first} against Linux {asked.second}",
        "",
        f"Made by `python scripts/kernels.py {asked.first} {asked.second} {' '.join(scenarios)}`: each scenario is run "
        f"with `--engine kernel` on `--kernel {asked.first}` and on `--kernel {asked.second}`, then `dumbbell compare` "
        f"lists the differences. A difference is {asked.second} minus {asked.first}, as a share of {asked.first}; "
        "figures are means over the seeds ± their standard deviation.",
        "",
        f"Of {counts['figures']} judged figures in {counts['cases']} cases, **{counts['differ']} exceed their "
        f"tolerance and random variation**; {counts['inconclusive']} more exceed their tolerance, but not random "
        "variation with these seeds ([compare.md](compare.md) has the tolerances).",
        *([f"On one kernel only: {'; '.join(alone)}."] if alone else []),
        *([f"Invalid: {'; '.join(invalid)}."] if invalid else []),
        "",
        "## Differences",
        "",
        *(
            [
                head,
                LINE,
                *(f"| {name} | {case['name']} | {seeds_of(case)} | {cells_of(row)} |" for name, case, row in outside),
            ]
            if outside
            else ["Nothing."]
        ),
        "",
        "## Every case",
        "",
        "The worst metric of each case, and the first sample of a flow that differs in the first seed's two runs.",
        "",
        f"{head} verdict | first sample that differs |",
        f"{LINE} --- | --- |",
        *(
            f"| {name} | {case['name']} | {seeds_of(case)} | {worst_of(case)} | {first_difference(case)} |"
            for name, case in cases
        ),
    ]
    return "\n".join(lines) + "\n"


def seeds_of(case: dict[str, Any]) -> int:
    """How often each side was run."""
    return len(case["first"]["runs"])


def worst_of(case: dict[str, Any]) -> str:
    """Its worst figure as cells of the table, with the verdict."""
    row = next((row for row in case["metrics"] if row["metric"] == case["worst"]), None)
    return f"{cells_of(row)} | {row['verdict']}" if row else "nothing is judged | | | | |"


def cells_of(row: dict[str, Any]) -> str:
    """A figure on both sides, and how far apart they are."""
    sides = " | ".join(f"{row[side]['mean']:.4g} ± {row[side]['sd'] or 0:.2g}" for side in ("first", "second"))
    base = abs(row["first"]["mean"])
    apart = "" if row["relative"] is None else f"{100 * row['relative']:+.1f} %"
    within = row["interval"] and base and " to ".join(f"{100 * edge / base:+.1f}" for edge in row["interval"]) + " %"
    return f"`{row['metric']}` | {sides} | {apart} | {within or ''}"


def first_difference(case: dict[str, Any]) -> str:
    """The earliest time at which the first runs' tables of flows differ, and the columns that do then."""
    first, second = (pl.read_parquet(Path(case[side]["runs"][0]) / "flows.parquet") for side in ("first", "second"))
    keys = ["time_ns", "flow"]
    both = first.join(second, on=keys, suffix=" of the other", how="inner", maintain_order="left")
    differs = [
        pl.col(name).ne_missing(pl.col(f"{name} of the other")).alias(name)
        for name in first.columns
        if name not in keys and name in second.columns
    ]
    found = both.select("time_ns", *differs).filter(pl.any_horizontal(pl.exclude("time_ns"))).head(1)
    if found.is_empty():
        return "none"
    named = [name for name in found.columns if name != "time_ns" and found[name][0]]
    told = ", ".join(f"`{name}`" for name in named[:COLUMNS]) + (" …" if len(named) > COLUMNS else "")
    return f"{found['time_ns'][0] / 1e9:g} s: {told}"


LINE = "| --- | --- | ---: | --- | ---: | ---: | ---: | ---: |"
COLUMNS = 4


if __name__ == "__main__":
    sys.exit(main())
