"""Two kernels in the six scenarios.

The table has the metrics that exceed their tolerance and random variation, largest difference first. The counts also
go to validation/results/kernels-FIRST-SECOND.json.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from studies.study import DOCS, asked, fill, parser, ran, rendered, table, write_figures

PAGE = DOCS / "results" / "linux-6.1-6.12-7.3.md"
SCENARIOS = (
    "cyclic", "two-classes", "lossy-lan-plain", "lossy-download-plain", "bufferbloat-plain", "bufferbloat-cured",
)  # fmt: skip
SEEDS = {"two-classes": "1..10", "lossy-lan-plain": "1..20", "lossy-download-plain": "1..20"}
"""Random losses increase the variance, so three runs do not suffice."""


def main(given: list[str]) -> None:
    """Run, and fill the section."""
    arguments = parser(__doc__)
    arguments.add_argument("first")
    arguments.add_argument("second")
    arguments.add_argument("scenarios", nargs="*", default=SCENARIOS, metavar="SCENARIO")
    arguments.add_argument("--seeds", help="seeds of all scenarios; by default 1..3, and more with random losses")
    options = arguments.parse_args(given)
    first, second = options.first, options.second
    done = {}
    for name in options.scenarios:
        seeds = options.seeds or SEEDS.get(name, "1..3")
        done[name] = asked("compare", *(ran(name, "--seed", seeds, kernel=kernel) for kernel in (first, second)))
    judged = Judged.of(done)
    write_figures(f"kernels-{first}-{second}", judged.counts())
    fill(PAGE, f"study of compare {first} {second}", section(first, second, judged, list(done)))


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


def section(first: str, second: str, judged: Judged, scenarios: list[str]) -> str:
    """The differences, then every case with its worst figure."""
    head = f"scenario | case | >seeds | figure | >{first} | >{second} | >difference | >95 % interval"
    outside = [(name, case["name"], seeds_of(case), *cells_of(row)) for name, case, row in judged.outside]
    every = [
        (name, case["name"], seeds_of(case), *worst_of(case), first_difference(case)) for name, case in judged.cases
    ]
    return rendered(
        Path(__file__).with_name("compare.md"),
        first=first,
        second=second,
        scenarios=" ".join(scenarios),
        counts=judged.counts(),
        alone=[
            f"{name} {case['name']}: {', '.join(case['one_sided'])}" for name, case in judged.cases if case["one_sided"]
        ],
        invalid=[f"{name} {case['name']}".strip() for name, case in judged.cases if not case["valid"]],
        outside=table(head, outside) if outside else "Nothing.",
        every=table(f"{head} | verdict | first sample that differs", every),
    )


def seeds_of(case: dict[str, Any]) -> int:
    """The number of runs on each kernel."""
    return len(case["first"]["runs"])


def worst_of(case: dict[str, Any]) -> list[str]:
    """The case's worst figure as cells of the table, with the verdict."""
    row = next((row for row in case["metrics"] if row["metric"] == case["worst"]), None)
    return [*cells_of(row), row["verdict"]] if row else ["nothing is judged", *[""] * 5]


def cells_of(row: dict[str, Any]) -> list[str]:
    """A figure on both kernels, with the difference and its interval."""
    means = [f"{row[kernel]['mean']:.4g} ± {row[kernel]['sd'] or 0:.2g}" for kernel in ("first", "second")]
    base = abs(row["first"]["mean"])
    apart = "" if row["relative"] is None else f"{100 * row['relative']:+.1f} %"
    within = row["interval"] and base and " to ".join(f"{100 * edge / base:+.1f}" for edge in row["interval"]) + " %"
    return [f"`{row['metric']}`", *means, apart, within or ""]


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


COLUMNS = 4
