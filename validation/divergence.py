"""Find the first sample in which both engines differ, and the column.

    python validation/divergence.py [-o validation/divergence.md]
    python validation/divergence.py --random SEED [--experiments 100] [--only NUMBER]... [-o PAGE]

Reno and CUBIC draw no random numbers, and netem draws the same ones on both engines, so a simulator that does all that
Linux does gives the same samples. A sample taken in the nanosecond of an event may precede the event on one engine and
follow it on the other; therefore a difference counts only if the next two samples of the flow differ too. Only samples
that both engines have are compared. `matrix.py` compares the means of longer runs. With `--random` the experiments are
those of `random_experiments.py`, whose controllers and disciplines may draw numbers that the engines do not share.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import figures
import polars as pl
from random_comparison import in_a_line
from random_experiments import drawn
from runs import Job, in_parallel

from dumbbell.errors import DumbbellError
from dumbbell.results.result import Run
from dumbbell.spec import Case, load

HERE = Path(__file__).parent
COLUMNS = (
    "bytes_sent",
    "bytes_acked",
    "bytes_received",
    "retrans_packets",
    "cwnd_packets",
    "snd_wnd_bytes",
    "notsent_bytes",
)
"""The columns compared; if several differ at once, the first one is reported."""
SEED = 1


@dataclass(frozen=True)
class Divergence:
    """The first difference of one experiment; no time if there is none."""

    title: str
    has_loss: bool
    at_ms: float | None
    what: str
    kernel: int | None
    sim: int | None
    retransmits: tuple[int, int]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--cores", type=int)
    arguments.add_argument("--random", type=int, metavar="SEED")
    arguments.add_argument("--experiments", type=int, default=100)
    arguments.add_argument("--kernel", metavar="NAME")
    arguments.add_argument("--only", type=int, action="append", metavar="NUMBER")
    options = arguments.parse_args()
    if options.random is not None:
        return of_random(options)
    found = divergences(load(HERE / "divergence.toml", ()), options.cores)
    text = page(found)
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
        figures.write_figures("divergence", summary(found))
    return 0


def of_random(options: argparse.Namespace) -> int:
    """Compare random experiments; write the page, or print it."""
    numbers = options.only or range(options.experiments)
    cases = {f"{number}": drawn(options.random, number) for number in numbers}
    found = divergences([replace(case, name=number) for number, case in cases.items()], options.cores, options.kernel)
    text = random_page(options.random, found, cases)
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    return 0


def divergences(cases: Sequence[Case], cores: int | None, kernel: str | None = None) -> list[Divergence]:
    """The first divergence of each, the earliest one first."""
    jobs = [
        Job(case.name, case, engine, SEED, kernel if engine == "kernel" else None)
        for case in cases
        for engine in ("kernel", "sim")
    ]
    samples: dict[str, dict[str, pl.DataFrame]] = {}
    for job, made, _ in in_parallel(jobs, cores, lambda _, run: selected(run)):
        if isinstance(made, DumbbellError):
            if job.title.isdecimal():  # A random experiment that an engine refuses.
                print(f"{job.title}: {made}", file=sys.stderr)
                continue
            raise made
        samples.setdefault(job.title, {})[job.engine] = made
    lossy = {case.name: case.experiment.path.loss not in (None, "0%") for case in cases}
    found = [
        first_divergence(title, lossy[title], each["kernel"], each["sim"])
        for title, each in samples.items()
        if len(each) == 2
    ]
    return sorted(found, key=lambda one: (one.at_ms is None, one.at_ms, one.title))


def selected(run: Run) -> pl.DataFrame:
    return run.flows.select("flow", "time_ns", *COLUMNS)


def first_divergence(title: str, has_loss: bool, kernel: pl.DataFrame, sim: pl.DataFrame) -> Divergence:
    """The first difference of any flow that lasts for three samples."""
    both = kernel.join(sim, on=["flow", "time_ns"], suffix="_sim").sort("flow", "time_ns")
    firsts: list[tuple[int, int, str, int, int]] = []
    for rank, name in enumerate(COLUMNS):
        differs = pl.col(name).ne_missing(pl.col(f"{name}_sim"))
        lasting = both.filter(differs & differs.shift(-1).over("flow") & differs.shift(-2).over("flow"))
        first = lasting.sort("time_ns").head(1)
        firsts += first.select("time_ns", pl.lit(rank), "flow", name, f"{name}_sim").rows()
    retransmits = (total(kernel), total(sim))
    if not firsts:
        return Divergence(title, has_loss, None, "", None, None, retransmits)
    time_ns, rank, flow, kernel_value, sim_value = min(firsts)
    return Divergence(
        title, has_loss, time_ns / 1e6, f"`{COLUMNS[rank]}` of {flow}", kernel_value, sim_value, retransmits
    )


def total(samples: pl.DataFrame) -> int:
    """Retransmissions of all flows."""
    return int(samples.group_by("flow").agg(pl.col("retrans_packets").max())["retrans_packets"].sum())


def summary(found: list[Divergence]) -> dict[str, Any]:
    """The numbers on the page."""
    same = [one for one in found if one.at_ms is None]
    return {
        "experiments": len(found),
        "same_to_the_end": len(same),
        "with_random_loss": sum(one.has_loss for one in found),
        "same_with_random_loss": sum(one.has_loss for one in same),
        "equal_retransmits": sum(one.retransmits[0] == one.retransmits[1] for one in found),
        "cases": [
            {
                "case": one.title,
                "first_difference_ms": None if one.at_ms is None else round(one.at_ms),
                "what": one.what.replace("`", "") or None,
                "kernel": one.kernel,
                "sim": one.sim,
                "retransmits": dict(zip(("kernel", "sim"), one.retransmits, strict=True)),
            }
            for one in found
        ],
    }


HEAD = "experiment | >same until, ms | first difference | >kernel | >sim | "


def page(found: list[Divergence]) -> str:
    """The page of the experiments of divergence.toml."""
    rows = [(*_cells(one), *(f"{count:,}" for count in one.retransmits)) for one in found]
    table = figures.table(f"{HEAD}>retransmits, kernel | >sim", rows)
    return figures.page_of("divergence", seed=SEED, rows=table, **summary(found))


def random_page(seed: int, found: list[Divergence], cases: dict[str, Case]) -> str:
    """The page of random experiments."""
    rows = [(*_cells(one), f"`{in_a_line(cases[one.title])}`") for one in found]
    table = figures.table(f"{HEAD}draws", rows)
    return figures.page_of("random-divergence", random=seed, seed=SEED, rows=table, **summary(found))


def _cells(one: Divergence) -> tuple[str, ...]:
    at = "the end" if one.at_ms is None else f"{one.at_ms:.0f}"
    return (one.title, at, one.what, *("" if value is None else f"{value:,}" for value in (one.kernel, one.sim)))


if __name__ == "__main__":
    sys.exit(main())
