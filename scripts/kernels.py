"""Compare TCP on two kernels: run the six scenarios on both, write a section of the page and its figures.

    python scripts/kernels.py 6.12 7.3 [-o docs/results/linux-6.1-6.12-7.3.md] [--seeds 1..5] [--runs DIR] [SCENARIO...]

The table has the metrics that exceed their tolerance and random variation, largest difference first. Runs are kept in
`--runs` and not repeated: remove them after a kernel changed. Other sections of the page are kept: those of other
pairs, and what is written by hand. With `-o` the counts also go to validation/results/kernels-FIRST-SECOND.json.
"""

import argparse
import json
import re
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
"""Random losses increase the variance, so three runs do not suffice."""
COMMAND = Path(sys.executable).with_name("dumbbell")


def main() -> int:
    """Run, and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("first")
    arguments.add_argument("second")
    arguments.add_argument("scenarios", nargs="*", default=SCENARIOS, metavar="SCENARIO")
    arguments.add_argument("--seeds", help="seeds of all scenarios; by default 1..3, and more with random losses")
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--runs", type=Path, default=Path("runs/kernels"))
    options = arguments.parse_args()
    done = {
        name: compared(
            *(
                ran(name, kernel, options.seeds or SEEDS.get(name, "1..3"), options.runs)
                for kernel in (options.first, options.second)
            )
        )
        for name in options.scenarios
    }
    judged = Judged.of(done)
    text = page(options, judged, list(done))
    if options.output:
        write_figures(f"kernels-{options.first}-{options.second}", judged.counts())
        kept = options.output.read_text(encoding="utf-8")
        options.output.write_text(with_section(kept, text), encoding="utf-8")
    sys.stdout.write(text)
    return 0


def with_section(kept: str, section: str) -> str:
    """The page with this section in place of the one with its heading, or before the first one."""
    heading = section.splitlines()[0]
    head, *others = re.split(r"(?m)^(?=## )", kept)
    if not any(other.startswith(f"{heading}\n") for other in others):
        others.insert(0, f"{heading}\n")
    return head + "".join(f"{section}\n" if other.startswith(f"{heading}\n") else other for other in others)


def ran(scenario: str, kernel: str, seeds: str, runs: Path) -> Path:
    """The folder of the scenario's runs on a kernel, renamed when complete. Exits if the command writes none."""
    folder = runs / kernel / scenario
    if not folder.is_dir():
        staged = folder.with_name(f"{scenario}.partial")
        shutil.rmtree(staged, ignore_errors=True)
        arguments = ["run", scenario, "--engine", "kernel", "--kernel", kernel, "--seed", seeds, "--out", str(staged)]
        # An invalid run (status 1) is a finding.
        called(arguments, stdout=sys.stderr)
        staged.rename(folder)
    return folder


def compared(first: Path, second: Path) -> dict[str, Any]:
    """The JSON output of `compare`."""
    numbers: dict[str, Any] = json.loads(called(["compare", str(first), str(second), "--json"], stdout=subprocess.PIPE))
    return numbers


def called(arguments: list[str], stdout: Any) -> str:
    """Run Dumbbell. Exits with its status unless that is 0 or 1."""
    sys.stderr.write(f"dumbbell {' '.join(arguments)}\n")
    ended = subprocess.run([COMMAND, *arguments], stdout=stdout, text=True, check=False)
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
        """The number of judged figures, by verdict."""
        verdicts = [row["verdict"] for _, case in self.cases for row in case["metrics"] if row["verdict"] != "shown"]
        return {
            "figures": len(verdicts),
            "cases": len(self.cases),
            "differ": verdicts.count("differs"),
            "inconclusive": verdicts.count("inconclusive"),
        }


def page(options: argparse.Namespace, judged: Judged, scenarios: list[str]) -> str:
    """The differences, then every case with its worst figure."""
    cases, outside, counts = judged.cases, judged.outside, judged.counts()
    alone = [f"{name} {case['name']}: {', '.join(case['one_sided'])}" for name, case in cases if case["one_sided"]]
    invalid = [f"{name} {case['name']}".strip() for name, case in cases if not case["valid"]]
    head = f"| scenario | case | seeds | figure | {options.first} | {options.second} | difference | 95 % interval |"
    lines = [
        f"## {options.first} against {options.second}",
        "",
        f"Made by `python scripts/kernels.py {options.first} {options.second} {' '.join(scenarios)}`: each scenario is "
        f"run with `--engine kernel` on `--kernel {options.first}` and on `--kernel {options.second}`, then `dumbbell "
        f"compare` lists the differences. A difference is {options.second} minus {options.first}, as a share of "
        f"{options.first}; "
        "figures are means over the seeds ± their standard deviation.",
        "",
        f"{options.first} to {options.second}: of {counts['figures']} judged figures in {counts['cases']} cases, "
        f"**{counts['differ']} exceed their tolerance and random variation**; {counts['inconclusive']} more exceed "
        "their tolerance, but not random variation with these seeds ([compare.md](../compare.md) has the tolerances).",
        *([f"On one kernel only: {'; '.join(alone)}."] if alone else []),
        *([f"Invalid: {'; '.join(invalid)}."] if invalid else []),
        "",
        "### Differences",
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
        "### Every case",
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
    """The number of runs on each kernel."""
    return len(case["first"]["runs"])


def worst_of(case: dict[str, Any]) -> str:
    """The case's worst figure as cells of the table, with the verdict."""
    row = next((row for row in case["metrics"] if row["metric"] == case["worst"]), None)
    return f"{cells_of(row)} | {row['verdict']}" if row else "nothing is judged | | | | |"


def cells_of(row: dict[str, Any]) -> str:
    """A figure on both kernels, with the difference and its interval."""
    means = " | ".join(f"{row[kernel]['mean']:.4g} ± {row[kernel]['sd'] or 0:.2g}" for kernel in ("first", "second"))
    base = abs(row["first"]["mean"])
    apart = "" if row["relative"] is None else f"{100 * row['relative']:+.1f} %"
    within = row["interval"] and base and " to ".join(f"{100 * edge / base:+.1f}" for edge in row["interval"]) + " %"
    return f"`{row['metric']}` | {means} | {apart} | {within or ''}"


def first_difference(case: dict[str, Any]) -> str:
    """The earliest time at which the first runs' tables of flows differ, and the columns that do then."""
    first, second = (pl.read_parquet(Path(case[kernel]["runs"][0]) / "flows.parquet") for kernel in ("first", "second"))
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
    differing = [name for name in found.columns if name != "time_ns" and found[name][0]]
    columns = ", ".join(f"`{name}`" for name in differing[:COLUMNS]) + (" …" if len(differing) > COLUMNS else "")
    return f"{found['time_ns'][0] / 1e9:g} s: {columns}"


LINE = "| --- | --- | ---: | --- | ---: | ---: | ---: | ---: |"
COLUMNS = 4


if __name__ == "__main__":
    sys.exit(main())
