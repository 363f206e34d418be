"""QUIC stacks beside Linux's TCP: docs/results/quic.md.

A cell is a stack with a controller in a network with a rival, 20 s of virtual time, one seed. In each network and
beside each rival Linux's own controller of that name takes the stack's place for comparison. Cells are in the order of
`cells()`; stacks that are not built are left out. Kept cells are not run again.
"""

import hashlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.stacks import find, stacks
from studies.study import DOCS, KEPT, SECOND_NS, asked, build, dumbbell, number, parser, rendered, write, write_figures

DURATION = "20s"
START_BYTES = 5_000_000
"""Start-up is the time until so many bytes have arrived."""

NETWORKS = {
    "deep": 'rtt = "40ms"\nbottleneck = { rate = "50mbit", qdisc = "pfifo limit 668" }',
    "shallow": 'rtt = "40ms"\nbottleneck = { rate = "50mbit", qdisc = "pfifo limit 42" }',
    "loss": 'rtt = "40ms"\nloss = "1%"\nbottleneck = { rate = "50mbit", qdisc = "pfifo limit 167" }',
    "long": 'rtt = "100ms"\nbottleneck = { rate = "50mbit", qdisc = "pfifo limit 417" }',
    "policer": 'rtt = "40ms"\nbottleneck = { qdisc = "police rate 50mbit burst 100kb" }',
    "fq_codel": 'rtt = "40ms"\nbottleneck = { rate = "50mbit", qdisc = "fq_codel" }',
}
ABOUT = {
    "deep": "a buffer of four bandwidth-delay products",
    "shallow": "a buffer of a quarter of the bandwidth-delay product",
    "loss": "1 % random loss and a buffer of one bandwidth-delay product",
    "long": "100 ms and a buffer of one bandwidth-delay product",
    "policer": "a policer with a burst of 100 kB",
    "fq_codel": "fq_codel",
}
BESIDE = {"alone": "alone", "cubic": "beside Linux's CUBIC", "bbr": "beside Linux's BBR", "itself": "beside itself"}
SITUATIONS = (
    ("deep", "cubic"), ("loss", "alone"), ("shallow", "cubic"), ("policer", "alone"), ("fq_codel", "cubic"),
    ("long", "cubic"), ("deep", "bbr"), ("shallow", "bbr"), ("deep", "itself"), ("deep", "alone"),
)  # fmt: skip
"""The most telling first."""
FURTHER = 5
"""How many stacks' controllers the selection has in each situation but the first."""
FAMILY = {"cubic": "cubic", "reno": "reno", "bbr": "bbr", "bbr2": "bbr", "bbr3": "bbr"}
"""Linux's controller that a stack's one is compared with: Linux 6.12 has BBR's first version only."""


@dataclass(frozen=True)
class Cell:
    """A stack (or "linux") with a controller in a network with a rival."""

    stack: str
    cc: str
    network: str
    rival: str

    @property
    def text(self) -> str:
        """The experiment."""
        mine = f'cc = "{self.cc}"' + ("" if self.stack == "linux" else f'\nkind = "quic"\nstack = "{self.stack}"')
        first = f'[[flows]]\nname = "mine"\n{mine}\ncount = {2 if self.rival == "itself" else 1}\n'
        other = f'[[flows]]\nname = "rival"\ncc = "{self.rival}"\n' if self.rival in ("cubic", "bbr") else ""
        return f'duration = "{DURATION}"\n[path]\n{NETWORKS[self.network]}\n{first}{other}'

    @property
    def linux(self) -> "Cell | None":
        """The same with Linux's own controller."""
        cc = FAMILY.get(self.cc)
        return None if cc is None else Cell("linux", cc, self.network, self.rival)


@dataclass(frozen=True)
class Outcome:
    """What a cell gave."""

    throughput_mbps: float
    queue_ms: float | None
    lost: int
    """Datagrams that did not arrive; of TCP, segments sent again."""
    startup_s: float | None
    rival_mbps: float | None


def pairs() -> Iterator[tuple[str, str]]:
    """CUBIC and the newest BBR of each stack that is built, then its other controllers."""
    built = [each for each in stacks() if find(each.name) is not None]
    for stack in built:
        if "cubic" in stack.controllers:
            yield stack.name, "cubic"
    newest = {stack.name: max((cc for cc in stack.controllers if cc.startswith("bbr")), default="") for stack in built}
    yield from ((name, cc) for name, cc in newest.items() if cc)
    for stack in built:
        yield from ((stack.name, cc) for cc in stack.controllers if cc not in ("cubic", newest[stack.name]))


def cells(every: bool = False) -> list[Cell]:
    """The cells in their order: `every` controller in each situation, or a selection of at most 60.

    The selection has CUBIC and every BBR of each stack in the first situation, in each further one `FURTHER` of them
    in turn.
    """
    known = list(pairs())
    if every:
        return [Cell(stack, cc, network, rival) for network, rival in SITUATIONS for stack, cc in known]
    main = [(stack, cc) for stack, cc in known if cc == "cubic" or cc.startswith("bbr")]
    ring = islice(cycle(main), FURTHER * (len(SITUATIONS) - 1))
    of_situation = [main, *batched(ring)]
    return [
        Cell(stack, cc, network, rival)
        for (network, rival), chosen in zip(SITUATIONS, of_situation, strict=False)
        for stack, cc in chosen
    ]


def batched(ring: Iterator[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """The pairs of each further situation."""
    while batch := list(islice(ring, FURTHER)):
        yield batch


def measured(cell: Cell) -> Run | None:
    """The cell's run, kept by what it depends on; None if it is not valid."""
    built = find(cell.stack) if cell.stack != "linux" else None
    about = "\0".join([cell.text, build("kernel"), built.folder.name if built else ""])
    folder = KEPT / f"quic-{hashlib.sha256(about.encode()).hexdigest()[:12]}"
    if not folder.is_dir():
        KEPT.mkdir(parents=True, exist_ok=True)
        file = folder.with_suffix(".toml")
        file.write_text(cell.text, encoding="utf-8")
        dumbbell("run", file, "--engine", "kernel", "--out", folder)
    run = result.load(folder)
    if not run.manifest.valid:
        sys.stderr.write(f"{cell}: {run.manifest.invalid}\n")
    return run if run.manifest.valid else None


def outcome(run: Run) -> Outcome:
    """The figures of a run."""
    stats = asked("stats", run.folder)
    mine = stats["groups"]["mine"]
    delay = (stats.get("queue") or {}).get("delay_ms") or {}
    rival = stats["groups"].get("rival", {}).get("throughput_mbps")
    lost = mine["lost_datagrams"] if mine["lost_datagrams"] is not None else mine["retransmits"]
    return Outcome(mine["throughput_mbps"], delay.get("mean"), int(lost or 0), startup_s(run), rival)


def startup_s(run: Run) -> float | None:
    """Seconds until the group's first flow has delivered `START_BYTES`."""
    first = run.manifest.flows[0]["name"]
    rows = run.flows.filter((pl.col("flow").cast(pl.String) == first) & (pl.col("bytes_received") >= START_BYTES))
    return None if rows.is_empty() else int(rows["time_ns"][0]) / SECOND_NS


def deviation(mine: Outcome, linux: Outcome | None) -> float | None:
    """Relative difference of throughput from Linux's in the same place."""
    return None if linux is None or not linux.throughput_mbps else mine.throughput_mbps / linux.throughput_mbps - 1


def main(given: list[str]) -> None:
    """Measure the cells, write the page."""
    arguments = parser(__doc__)
    arguments.add_argument("--cells", type=int, help="only the first N")
    arguments.add_argument("--all", action="store_true", help="every controller in every situation")
    arguments.add_argument("--list", action="store_true", help="print the cells and exit")
    options = arguments.parse_args(given)
    chosen = cells(every=options.all)[: options.cells]
    if options.list:
        sys.stdout.writelines(f"{cell.stack} {cell.cc}, {cell.network}, {cell.rival}\n" for cell in chosen)
        return
    if not chosen:
        sys.exit("no stack is built: dumbbell stack build quinn quic-go aioquic ngtcp2 quiche tquic s2n-quic")
    found: dict[Cell, Outcome] = {}
    for cell in chosen:
        for each in (cell, cell.linux):
            if each is not None and each not in found and (run := measured(each)) is not None:
                found[each] = outcome(run)
    done = [cell for cell in chosen if cell in found]
    page(done, found)
    write_figures("quic", {"date": time.strftime("%Y-%m-%d"), "cells": [as_json(cell, found) for cell in done]})


def as_json(cell: Cell, found: dict[Cell, Outcome]) -> dict[str, Any]:
    """A cell for validation/results."""
    linux = found.get(cell.linux) if cell.linux else None
    names = {"stack": cell.stack, "cc": cell.cc, "network": cell.network, "rival": cell.rival}
    return names | vars(found[cell]) | {"linux": vars(linux) if linux else None}


def page(done: list[Cell], found: dict[Cell, Outcome]) -> None:
    """Write docs/results/quic.md."""
    situations = list(dict.fromkeys((cell.network, cell.rival) for cell in done))
    tables = [
        (network, rival, [row(cell, found) for cell in done if (cell.network, cell.rival) == (network, rival)])
        for network, rival in situations
    ]
    far = [
        (value, cell)
        for cell in done
        if (value := deviation(found[cell], found.get(cell.linux) if cell.linux else None)) is not None
    ]
    values = {
        "date": time.strftime("%Y-%m-%d"), "cells": len(done), "of": len(cells(every=True)),
        "versions": [(each.name, each.version) for each in stacks() if any(cell.stack == each.name for cell in done)],
        "number": number, "tables": tables, "about": ABOUT, "beside": BESIDE, "duration": DURATION,
        "equals": next(
            ((cell, found[cell]) for cell in found if (cell.stack, cell.cc, cell.rival) == ("linux", "cubic", "cubic")),
            None,
        ),
        "cubic": extreme(far, found, "cubic"), "bbr": extreme(far, found, "bbr"),
    }  # fmt: skip
    write(DOCS / "results" / "quic.md", rendered(Path(__file__).with_name("page.md"), **values))


def extreme(far: list[tuple[float, Cell]], found: dict[Cell, Outcome], family: str) -> dict[str, Any] | None:
    """The cell of a family that is farthest from Linux's, as a factor, and the nearest."""
    of_family = sorted(
        ((value, cell) for value, cell in far if FAMILY[cell.cc] == family), key=lambda each: factor(each[0])
    )
    if not of_family:
        return None

    def told(value: float, cell: Cell) -> dict[str, Any]:
        assert cell.linux is not None
        return {
            "name": f"{cell.stack}'s {cell.cc}",
            "where": f"{ABOUT[cell.network]}, {BESIDE[cell.rival]}",
            "mbps": number(found[cell].throughput_mbps),
            "linux_mbps": number(found[cell.linux].throughput_mbps),
            "percent": f"{100 * value:+.0f} %",
        }

    return {"farthest": told(*of_family[-1]), "nearest": told(*of_family[0]), "count": len(of_family)}


def factor(value: float) -> float:
    """How many times more or less: half and double are equally far."""
    ratio = max(1 + value, 1e-9)
    return max(ratio, 1 / ratio)


def row(cell: Cell, found: dict[Cell, Outcome]) -> list[str]:
    """A line of a table; Linux's figure in parentheses."""
    mine, linux = found[cell], found.get(cell.linux) if cell.linux else None
    value = deviation(mine, linux)
    return [
        cell.stack,
        cell.cc,
        number(mine.throughput_mbps),
        "–" if linux is None else number(linux.throughput_mbps),
        "–" if value is None else f"{100 * value:+.0f} %",
        *(
            number(getattr(mine, name)) + (f" ({number(getattr(linux, name))})" if linux else "")
            for name in ("queue_ms", "lost", "startup_s")
        ),
    ]
