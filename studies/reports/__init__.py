"""Five published reports on both engines, figure by figure: docs/results/reports.md.

It compares every figure of the reports, of the logs in `examples/logs` and of the tc scripts in `scenarios` with both
engines. `reports.toml` has what the page says of each report; `drawings` draws the figures. The exit status is 1 when
a run is invalid.
"""

import math
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

import dumbbell as db
from dumbbell.analysis.expect import FigureComparison, Reader, compare_source_figures
from dumbbell.analysis.time_series import group_throughput
from dumbbell.results import result
from dumbbell.results.result import Run
from studies.playground import experiment_of
from studies.reports.drawings import SCENARIOS, draw
from studies.study import (
    DOCS,
    KEPT,
    ROOT,
    SECOND_NS,
    dumbbell,
    loaded,
    number,
    ran,
    rendered,
    write,
    write_figures,
)

PAGE = DOCS / "results" / "reports.md"
TEXT = Path(__file__).with_name("reports.toml")
"""The scenarios of each report, and the reasons for figures that are not reproduced."""
LOGS = tuple(ROOT / "examples" / "logs" / f"iperf3-{cc}.txt" for cc in ("bbr", "cubic"))
ENGINES = ("sim", "kernel")
Runs = dict[tuple[str, str], list[Run]]
"""By scenario and engine."""
SETTLED_NS = 5 * SECOND_NS
"""The start of the groups' rates: after slow start."""
CLOSE = 0.25
"""The largest difference from a report that counts as reproduced."""
HEAD = "case | figure | >report | >simulator | >kernel | >difference | | >kernel, plain"


@dataclass(frozen=True)
class Row:
    """One figure of a report, with the means over seeds of the simulator's and of the kernel's."""

    case: str
    seen: FigureComparison
    sim: float | None
    kernel: float | None
    plain: float | None
    """The kernel's without the inferred conditions: seed 1 of the scenario's plain variant."""

    def difference(self) -> float | None:
        """The kernel's figure minus the report's, as a share of the report's; 0 inside a range."""
        if self.kernel is None:
            return None
        low, high = self.seen.low, self.seen.high
        bound = low if low is not None and self.kernel < low else high
        inside = (low is None or self.kernel >= low) and (high is None or self.kernel <= high)
        return 0.0 if inside or not bound else self.kernel / bound - 1


def main(_arguments: list[str]) -> int:
    """Run, compare, draw, write."""
    text = tomllib.loads(TEXT.read_text(encoding="utf-8"))
    reports = text["reports"]
    requests = [(*each, engine) for report in reports for each in report["scenarios"].items() for engine in ENGINES]
    requests += [(name, "1", "kernel") for report in reports for name in report.get("plain", {}).values()]
    runs = {(name, engine): loaded(ran(name, "--seed", seeds, engine=engine)) for name, seeds, engine in requests}
    log = imported()
    draw(runs, log, PAGE.parent)
    found = {
        name: list(rows(runs, name, report.get("plain", {}).get(name)))
        for report in reports
        for name in report["scenarios"]
    }
    write_figures("reports", {**counted(found), "scenarios": {name: figures_of(each) for name, each in found.items()}})
    page = rendered(
        Path(__file__).with_name("page.md"),
        text=text,
        counts=counted(found),
        compared=against_log(log, runs["two-classes", "kernel"]),
        rows=lambda report, name: [cells(row, name, report.get("reasons", {})) for row in found[name]],
        swings=lambda name: swings(runs[name, "kernel"][0]),
        head=HEAD,
    )
    write(PAGE, page)
    wrong = [str(run.folder) for each in runs.values() for run in each if not run.manifest.valid]
    sys.stderr.writelines(f"invalid: {folder}\n" for folder in wrong)
    return int(bool(wrong))


def figures() -> Iterator[tuple[Path, dict[str, db.Experiment]]]:
    """The experiments of each figure, by what distinguishes them."""
    return ((PAGE.with_name(file), experiment_of(scenario)) for file, scenario in SCENARIOS.items())


def imported() -> Run:
    """The two logs of iperf3 as one result."""
    target = KEPT / "iperf3-logs"
    if not target.exists():
        dumbbell("import", *LOGS, "--out", target)
    return result.load(target)


def against_log(log: Run, runs: Sequence[Run]) -> str:
    """The output of `dumbbell compare` for the log and the first seed under the report's conditions."""
    run = next(run for run in runs if run.manifest.case == "as reported" and run.manifest.seed == 1)
    compared = dumbbell("compare", log.folder, run.folder)
    return "\n".join(line.rstrip() for line in compared.strip().splitlines())


def rows(runs: Runs, scenario: str, plain: str | None) -> Iterator[Row]:
    """A row for each figure and case under the report's conditions."""
    found: dict[tuple[str, str], dict[str, list[FigureComparison]]] = defaultdict(lambda: defaultdict(list))
    for run, column in by_column(runs, scenario, plain):
        case = run.manifest.case or ""
        for seen in compare_source_figures(run.manifest, Reader(run)):
            # A scenario may have a case `plain`; a plain scenario has the same cases.
            found["as reported" if case == "plain" else case, seen.what][column].append(seen)
    order = {run.manifest.case or "": number for number, run in enumerate(in_file_order(runs[scenario, "sim"]))}
    for (case, _), by_column_of in sorted(found.items(), key=lambda item: order[item[0][0]]):
        yield Row(case, by_column_of["sim"][0], *(mean(by_column_of[column]) for column in (*ENGINES, "plain")))


def by_column(runs: Runs, scenario: str, plain: str | None) -> Iterator[tuple[Run, str]]:
    """Each run with the column it belongs to."""
    for engine in ENGINES:
        for run in runs[scenario, engine]:
            if run.manifest.case != "plain":
                yield run, engine
            elif engine == "kernel" and run.manifest.seed == 1:
                yield run, "plain"
    for run in runs[plain, "kernel"] if plain else ():
        yield run, "plain"


def in_file_order(runs: Sequence[Run]) -> list[Run]:
    """Runs in the order of the cases for which their source reports figures."""
    source = runs[0].manifest.source
    cases = [seen.get("case") for seen in source["seen"]] if source else []
    return sorted(runs, key=lambda run: cases.index(run.manifest.case) if run.manifest.case in cases else -1)


def mean(seen: Sequence[FigureComparison]) -> float | None:
    """The mean over the seeds that have the figure."""
    known = [each.here for each in seen if each.here is not None]
    return fmean(known) if known else None


def counted(found: dict[str, list[Row]]) -> dict[str, int]:
    """The number of the reports' figures, and of those that the kernel reproduces."""
    off = [row.difference() for each in found.values() for row in each]
    return {"figures": len(off), "reproduced": sum(each is not None and abs(each) <= CLOSE for each in off)}


def figures_of(found: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """The means behind a table, by case and figure."""
    return {
        f"{row.case}, {row.seen.what}".removeprefix(", "): {
            "report": [row.seen.low, row.seen.high],
            "sim": row.sim,
            "kernel": row.kernel,
            "plain": row.plain,
        }
        for row in found
    }


def cells(row: Row, name: str, reasons: dict[str, str]) -> list[str]:
    """Report, both engines and verdict of a figure."""
    off = row.difference()
    return [
        row.case,
        row.seen.what,
        row.seen.reported(number),
        number(row.sim),
        number(row.kernel),
        "–" if off is None else f"{round(100 * off) or 0:+d} %".replace("+0", "0"),
        verdict(row, off, name, reasons),
        "" if row.plain is None else number(row.plain),
    ]


def swings(run: Run) -> str:
    """The range of each group's rate."""
    rates = group_throughput(run, SECOND_NS, (SETTLED_NS, round(run.manifest.duration_s * SECOND_NS)))
    spans = rates.group_by("group", maintain_order=True).agg(
        least=pl.col("throughput_bps").min() / 1e6, most=pl.col("throughput_bps").max() / 1e6
    )
    each = "; ".join(f"{group} {number(low)} to {number(high)}" for group, low, high in spans.iter_rows())
    return f"Mbit/s of each group in seconds of seed {run.manifest['seed']} on the kernel, after 5 s: {each}."


def verdict(row: Row, off: float | None, name: str, reasons: dict[str, str]) -> str:
    """`reproduced within 8 %`, or the reason why not."""
    if off is not None and abs(off) <= CLOSE:
        exact = "inside" if row.seen.low != row.seen.high else "equal"
        return exact if off == 0 else f"reproduced within {max(1, math.ceil(abs(off) * 100))} %"
    why = reasons.get(f"{name}, {row.case}, {row.seen.what}") or reasons.get(f"{name}, {row.seen.what}") or "not known"
    return f"not reproduced: {why}"
