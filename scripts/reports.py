"""Runs the five reports' scenarios on both engines; writes docs/results/reports.md and validation/results/reports.json.

    python scripts/reports.py [-o docs/results/reports.md] [--runs runs/reports]

It compares every figure of the reports, of the logs in `examples/logs` and of the tc scripts in `scenarios` with both
engines. Finished runs are not repeated; `make clean` removes them. `reports_figures.py` draws the figures.
`make page NAME=reports` calls this. The exit status is 1 when a run is invalid or missing.
"""

import argparse
import math
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
from generated import write_figures
from reports_figures import draw

from dumbbell.analysis.expect import FigureComparison, Reader, compare_source_figures
from dumbbell.analysis.time_series import group_throughput
from dumbbell.results import result
from dumbbell.results.result import Run

ROOT = Path(__file__).resolve().parents[1]
DUMBBELL = Path(sys.executable).parent / "dumbbell"
TEXT = ROOT / "scripts" / "reports.toml"
"""The scenarios of each report, and the reasons for figures that are not reproduced."""
LOGS = tuple(ROOT / "examples" / "logs" / f"iperf3-{cc}.txt" for cc in ("bbr", "cubic"))
ENGINES = ("sim", "kernel")
Runs = dict[tuple[str, str], list[Run]]
"""By scenario and engine."""
SECOND_NS = 1_000_000_000
SETTLED_NS = 5 * SECOND_NS
"""The start of the groups' rates: after slow start."""
CLOSE = 0.25
"""The largest difference from a report that counts as reproduced."""
SUMMARY = "In {reproduced} of the {figures} rows below the kernel reproduces the figure of the report."


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


def main() -> int:
    """Run, compare, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs" / "results" / "reports.md")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "reports")
    options = parser.parse_args()
    text = tomllib.loads(TEXT.read_text(encoding="utf-8"))
    reports = text["reports"]
    requests = [(*each, engine) for report in reports for each in report["scenarios"].items() for engine in ENGINES]
    requests += [(name, "1", "kernel") for report in reports for name in report.get("plain", {}).values()]
    runs = {(name, engine): ran(name, engine, seeds, options.runs) for name, seeds, engine in requests}
    log = imported(options.runs)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    draw(runs, log, options.output.parent)
    compared = against_log(log, runs["two-classes", "kernel"])
    found = {
        name: list(rows(runs, name, report.get("plain", {}).get(name)))
        for report in reports
        for name in report["scenarios"]
    }
    write_figures("reports", {**counted(found), "scenarios": {name: figures(each) for name, each in found.items()}})
    options.output.write_text("\n".join(page(text, runs, found, compared)).rstrip() + "\n", encoding="utf-8")
    wrong = [str(run.folder) for each in runs.values() for run in each if not run.manifest.valid]
    for folder in wrong:
        sys.stderr.write(f"invalid: {folder}\n")
    return 1 if wrong else 0


def ran(scenario: str, engine: str, seeds: str, folder: Path) -> list[Run]:
    """The runs of all cases and seeds of a scenario. Exits with the command's status if there are none."""
    target = folder / engine / scenario
    if not target.exists():
        called("run", scenario, "--engine", engine, "--seed", seeds, "--jobs", "2", "--out", str(target))
    return [result.load(file.parent) for file in sorted(target.rglob("run.json"))]


def imported(folder: Path) -> Run:
    """The two logs of iperf3 as one result."""
    target = folder / "log"
    if not target.exists():
        called("import", *map(str, LOGS), "--out", str(target))
    return result.load(target)


def against_log(log: Run, runs: Sequence[Run]) -> str:
    """The output of `dumbbell compare` for the log and the first seed under the report's conditions."""
    run = next(run for run in runs if run.manifest.case == "as reported" and run.manifest.seed == 1)
    return called("compare", str(log.folder), str(run.folder))


def called(*arguments: str) -> str:
    """Call Dumbbell. A status of 1 (outside a tolerance, invalid) is a finding; any other ends this script."""
    sys.stderr.write(f"dumbbell {' '.join(arguments)}\n")
    done = subprocess.run([DUMBBELL, *arguments], stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)
    return done.stdout


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
    cases = [seen.get("case") for seen in runs[0].manifest.source["seen"]]
    return sorted(runs, key=lambda run: cases.index(run.manifest.case) if run.manifest.case in cases else -1)


def mean(seen: Sequence[FigureComparison]) -> float | None:
    """The mean over the seeds that have the figure."""
    known = [each.here for each in seen if each.here is not None]
    return fmean(known) if known else None


def counted(found: dict[str, list[Row]]) -> dict[str, int]:
    """The number of the reports' figures, and of those that the kernel reproduces."""
    off = [row.difference() for each in found.values() for row in each]
    return {"figures": len(off), "reproduced": sum(each is not None and abs(each) <= CLOSE for each in off)}


def figures(found: Sequence[Row]) -> dict[str, dict[str, Any]]:
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


def page(text: dict[str, Any], runs: Runs, found: dict[str, list[Row]], compared: str) -> Iterator[str]:
    """The lines of the page."""
    yield from (
        "# Five reports, figure by figure",
        "",
        text["introduction"].strip(),
        "",
        SUMMARY.format(**counted(found)),
        "",
    )
    for report in text["reports"]:
        yield from (f"## {report['title']}", "", report["text"].strip(), "")
        for name, seeds in report["scenarios"].items():
            yield from table(name, seeds, found[name], report.get("reasons", {}))
            yield from swings(runs[name, "kernel"][0]) if report.get("swings") else ()
        for file, caption in report["figures"].items():
            yield from (f"![{caption}]({file})", "", caption, "")
        if report.get("log"):
            yield from (
                "`dumbbell compare` of the imported log and of one run on the kernel:",
                "",
                "```text",
                *(line.rstrip() for line in compared.strip().splitlines()),
                "```",
                "",
            )
    yield from ("`make page NAME=reports` writes this page.",)


def table(name: str, seeds: str, found: Sequence[Row], reasons: dict[str, str]) -> Iterator[str]:
    """Report, both engines and verdict, a row for each figure."""
    many = "" if seeds == "1" else f", means over seeds {seeds.replace('..', ' to ')}"
    yield from (
        f"`dumbbell run {name}`{many}:",
        "",
        "| case | figure | report | simulator | kernel | difference | | kernel, plain |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |",
    )
    for row in found:
        off = row.difference()
        cells = (
            row.case,
            row.seen.what,
            row.seen.reported(shown),
            *("–" if value is None else shown(value) for value in (row.sim, row.kernel)),
            "–" if off is None else f"{round(100 * off) or 0:+d} %".replace("+0", "0"),
            verdict(row, off, name, reasons),
            "" if row.plain is None else shown(row.plain),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def swings(run: Run) -> Iterator[str]:
    """The range of each group's rate."""
    rates = group_throughput(run, SECOND_NS, (SETTLED_NS, round(run.manifest.duration_s * SECOND_NS)))
    spans = rates.group_by("group", maintain_order=True).agg(
        least=pl.col("throughput_bps").min() / 1e6, most=pl.col("throughput_bps").max() / 1e6
    )
    each = "; ".join(f"{group} {shown(low)} to {shown(high)}" for group, low, high in spans.iter_rows())
    yield from (f"Mbit/s of each group in seconds of seed {run.manifest['seed']} on the kernel, after 5 s: {each}.", "")


def verdict(row: Row, off: float | None, name: str, reasons: dict[str, str]) -> str:
    """`reproduced within 8 %`, or the reason why not."""
    if off is not None and abs(off) <= CLOSE:
        exact = "inside" if row.seen.low != row.seen.high else "equal"
        return exact if off == 0 else f"reproduced within {max(1, math.ceil(abs(off) * 100))} %"
    why = reasons.get(f"{name}, {row.case}, {row.seen.what}") or reasons.get(f"{name}, {row.seen.what}") or "not known"
    return f"not reproduced: {why}"


def shown(value: float) -> str:
    """The value with four significant digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
