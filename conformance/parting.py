"""Where the engines part: the first sample in which they differ, and in what.

    python conformance/parting.py [-o conformance/parting.md]

Reno and CUBIC throw no dice, and netems throw the same on both engines: a simulator that does all that Linux does gives
the same samples. One that falls into the very nanosecond of an event may come before it on one engine and after it on
the other, so a difference counts when the two samples behind it differ too. From there on figures may still agree; the
matrix (`matrix.py`) judges those. Here is what to look into next.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from runs import Job, side_by_side

from dumbbell.errors import DumbbellError
from dumbbell.result import Run
from dumbbell.spec import load

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
"""What is compared; of several that differ at once, the first counts."""
SEED = 1


@dataclass(frozen=True)
class Parting:
    """One experiment's end of agreement; no time when it never ended."""

    title: str
    at_ms: float | None
    what: str
    kernel: int | None
    sim: int | None
    retransmits: tuple[int, int]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--cores", type=int)
    asked = arguments.parse_args()
    text = page(partings(asked.cores))
    print(text)
    if asked.output:
        asked.output.write_text(text, encoding="utf-8")
    return 0


def partings(cores: int | None) -> list[Parting]:
    """All of `parting.toml`, those that part first at the top."""
    cases = load(HERE / "parting.toml", ())
    jobs = [Job(case.name, case, engine, SEED) for case in cases for engine in ("kernel", "sim")]
    samples: dict[str, dict[str, pl.DataFrame]] = {}
    for job, made, _ in side_by_side(jobs, cores, lambda _, run: watched(run)):
        if isinstance(made, DumbbellError):
            raise made
        samples.setdefault(job.title, {})[job.engine] = made
    found = [parting(title, each["kernel"], each["sim"]) for title, each in samples.items()]
    return sorted(found, key=lambda one: (one.at_ms is None, one.at_ms, one.title))


def watched(run: Run) -> pl.DataFrame:
    return run.flows.select("flow", "time_ns", *COLUMNS)


def parting(title: str, kernel: pl.DataFrame, sim: pl.DataFrame) -> Parting:
    """The first difference of any flow that the two samples behind it share."""
    both = kernel.join(sim, on=["flow", "time_ns"], suffix="_sim").sort("flow", "time_ns")
    firsts: list[tuple[int, int, str, int, int]] = []
    for place, name in enumerate(COLUMNS):
        differs = pl.col(name).ne_missing(pl.col(f"{name}_sim"))
        lasting = both.filter(differs & differs.shift(-1).over("flow") & differs.shift(-2).over("flow"))
        first = lasting.sort("time_ns").head(1)
        firsts += first.select("time_ns", pl.lit(place), "flow", name, f"{name}_sim").rows()
    retransmits = (total(kernel), total(sim))
    if not firsts:
        return Parting(title, None, "", None, None, retransmits)
    time_ns, place, flow, there, here = min(firsts)
    return Parting(title, time_ns / 1e6, f"`{COLUMNS[place]}` of {flow}", there, here, retransmits)


def total(samples: pl.DataFrame) -> int:
    """Retransmissions of all flows."""
    return int(samples.group_by("flow").agg(pl.col("retrans_packets").max())["retrans_packets"].sum())


def page(found: list[Parting]) -> str:
    same = sum(one.at_ms is None for one in found)
    equal = sum(one.retransmits[0] == one.retransmits[1] for one in found)
    lines = [
        "# Where the engines part",
        "",
        f"{len(found)} experiments of [parting.toml](parting.toml), 3 s each, seed {SEED}, a sample each millisecond."
        " Made by `make conformance`.",
        "",
        f"- **{same} give the same samples on both engines to their end**: bytes sent, acknowledged and received,"
        " retransmissions, cwnd, the peer's window, bytes not sent.",
        f"- {equal} retransmit equally often.",
        "",
        "| experiment | same until, ms | then | kernel | sim | retransmits, kernel | sim |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for one in found:
        at = "the end" if one.at_ms is None else f"{one.at_ms:.0f}"
        values = " | ".join("" if value is None else f"{value:,}" for value in (one.kernel, one.sim, *one.retransmits))
        lines.append(f"| {one.title} | {at} | {one.what} | {values} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
