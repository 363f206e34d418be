"""A panel as data: its lines, bands and marks, and the lines of a run, without lost extremes.

`time_panels` and `panels` make a `Drawn` from a run. Two modules read it: `chart_style` makes Altair
layers (reports, downloads), `panels` makes binary data for a page that draws on its own.

Lines are traces by name: times in seconds, values. More than eight flows are reduced to one line per group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell import _sim
from dumbbell.analysis.flows import group_throughput_bps
from dumbbell.analysis.sample_arrays import Floats, by_flow
from dumbbell.analysis.time_series import delivered, goodput, group_delivered, group_goodput
from dumbbell.results.result import Run

__all__ = [
    "FLOWS_MAX",
    "POINTS",
    "Bands",
    "Curve",
    "Drawn",
    "Layer",
    "Legend",
    "Line",
    "Lines",
    "Points",
    "Rule",
    "Scale",
    "Spread",
    "SpreadLine",
    "Ticks",
    "Trace",
    "binned",
    "cwnd_of",
    "delivered_lines",
    "downsample",
    "downsampled",
    "from_the_busiest",
    "group_members",
    "grouped",
    "names",
    "of_groups",
    "partitioned",
    "quantile",
    "rate_lines",
    "round_step_ns",
    "sample_lines",
    "shown_groups",
    "step_ns",
]


Curve = Literal["linear", "step", "step-after"]
"""Interpolation between points: straight, a step halfway, or a step at the next point."""
Trace = tuple[Floats, Floats]
"""Times in seconds, and values."""


@dataclass(frozen=True)
class Scale:
    """The value axis."""

    domain: tuple[float, float] | None = None
    """From and to; None: from zero to the largest value."""
    nice: bool = True
    """Round the ends to nice numbers?"""


@dataclass(frozen=True)
class Legend:
    """Names of this panel only, with their colours in order; all panels share the legend of flows."""

    title: str
    entries: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Line:
    """One line; without points it appears only in the legend."""

    name: str
    colour: str
    s: Floats
    v: Floats
    dash: tuple[int, ...] = ()
    """Lengths of dashes and gaps in pixels."""


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines with a common style."""

    lines: tuple[Line, ...]
    of: Literal["flows", "panel", "none"]
    """The legend with their names: the flows' shared one, the panel's own, or none."""
    width: float
    curve: Curve = "linear"
    dash: tuple[int, ...] = ()
    """Common to all lines; if empty each line has its own."""
    opacity: float | None = None


@dataclass(frozen=True, eq=False)
class SpreadLine:
    """The smallest and the largest value of a line's samples around each time."""

    name: str
    colour: str
    s: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Spread:
    """Bands below lines of the same names."""

    parts: tuple[SpreadLine, ...]
    of: Literal["flows", "panel", "none"]
    """As of `Lines`."""


def from_the_busiest(lines: Sequence[Line]) -> list[Line]:
    """The lines in drawing order: those with the most variation first, so that they don't hide steadier ones."""
    return sorted(lines, key=lambda line: -float(np.nansum(np.abs(np.diff(line.v)))))


@dataclass(frozen=True)
class Rule:
    """A dashed line across the panel."""

    v: float
    colour: str
    dash: tuple[int, ...] = (4, 3)


@dataclass(frozen=True, eq=False)
class Ticks:
    """Points in time: short vertical ticks that many pixels below the panel's top, or in one of its rows."""

    colour: str
    s: Floats
    top: int = 0
    size: int = 7
    row: str | None = None
    packets: Floats = field(default_factory=lambda: np.empty(0))
    """For ticks in a row: the packets of each tick."""


@dataclass(frozen=True, eq=False)
class Bands:
    """Time spans in which a row's controller was in one state. Later bands cover earlier ones."""

    row: str
    phase: str
    colour: str
    s: Floats
    e: Floats


@dataclass(frozen=True, eq=False)
class Points:
    """Dots."""

    colour: str
    size: int
    """Area in square pixels."""
    of: tuple[Line, ...]
    """Their positions, by name."""


Layer = Lines | Spread | Rule | Ticks | Bands | Points


@dataclass(frozen=True, eq=False)
class Drawn:
    """One panel of a run."""

    title: str
    layers: tuple[Layer, ...]
    """From bottom to top."""
    note: str = ""
    """A note below the title."""
    scale: Scale = Scale()
    rows: tuple[str, ...] = ()
    """Row names from the top, for a panel with rows instead of values."""
    legend: Legend | None = None


POINTS = 1400
"""Points per line: two for each pixel of a wide figure."""


def downsample(times: npt.ArrayLike, values: npt.ArrayLike, points: int = POINTS) -> npt.NDArray[np.int64]:
    """The indices of the samples to keep, in order: min and max of every time bin, the first and the last.

    Bins are equal in time, so that the line renders the same at one bin per pixel (min-max reduction, as in M4, Jugel
    et al. 2014). Keeps at most `points` + 2 samples, or all if there are no more. Takes no NaN.
    """
    time, value = np.asarray(times, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if value.size <= points:
        return np.arange(value.size)
    bins = max(points // 2, 1)
    bin_of = np.minimum((time - time[0]) / max(time[-1] - time[0], 1e-300) * bins, bins - 1).astype(np.int64)
    order = np.lexsort((value, bin_of))
    starts = np.flatnonzero(np.diff(bin_of[order], prepend=-1))
    ends = np.append(starts[1:], value.size) - 1
    return np.unique(np.concatenate([order[starts], order[ends], [0, value.size - 1]]))


FLOWS_MAX = 8
"""The most distinguishable lines. Above that, groups replace flows; of more groups, those with the highest goodput."""
STEPS_MAX = 300
NS = 1_000_000_000


def grouped(run: Run) -> bool:
    """Whether groups replace flows."""
    return len(run.manifest.flows) > FLOWS_MAX


def names(run: Run) -> Sequence[Mapping[str, Any]]:
    """The legend's entries: flows, or groups in their place, each with `name`, `group` and `cc`."""
    return shown_groups(run) if grouped(run) else list(run.manifest.flows)


def shown_groups(run: Run) -> list[Mapping[str, Any]]:
    """The groups to draw: all, or the `FLOWS_MAX` with the highest goodput; in the order of the experiment."""
    groups, rates = group_members(run), group_throughput_bps(run)
    most = sorted(groups, key=lambda group: -(rates.get(group["name"]) or 0.0))[:FLOWS_MAX]
    return [group for group in groups if group in most]


def group_members(run: Run) -> list[Mapping[str, Any]]:
    """The groups, each with `name`, `group`, and `cc` if all of its flows have the same."""
    controllers: dict[str, set[str | None]] = {}
    for flow in run.manifest.flows:
        controllers.setdefault(flow["group"], set()).add(flow.get("cc"))
    return [
        {"name": group, "group": group, "cc": next(iter(each)) if len(each) == 1 else None}
        for group, each in controllers.items()
    ]


def step_ns(run: Run) -> int:
    """The bin of a rate: 1, 2 or 5 times a power of ten, at least 10 ms; at most 300 bins."""
    return round_step_ns(run.manifest.duration_s * NS, STEPS_MAX)


def round_step_ns(length_ns: float, bins: int) -> int:
    """1, 2 or 5 times a power of ten, at least 10 ms, such that `length_ns` has at most `bins` bins."""
    return _sim.step_ns(length_ns, bins)


def rate_lines(run: Run) -> dict[str, Trace]:
    """Throughput in Mbit/s of flows or groups."""
    return binned(group_goodput(run, step_ns(run)) if grouped(run) else goodput(run, step_ns(run)), 1e6)


def delivered_lines(run: Run) -> dict[str, Trace]:
    """Delivered data in Mbit/s of flows or groups."""
    return binned(group_delivered(run, step_ns(run)) if grouped(run) else delivered(run, step_ns(run)), 1e6)


def binned(rates: Mapping[str, Trace], per: float) -> dict[str, Trace]:
    """Rates in bins (centres in ns, values) as lines in units of `per`, without unknown values."""
    traces = {}
    for name, (times_ns, values) in rates.items():
        known = ~np.isnan(values)
        traces[name] = (times_ns[known] / NS, values[known] / per)
    return traces


def sample_lines(
    run: Run, column: str, per: float = 1.0, *, add: bool, points: int = POINTS, zero: bool = True
) -> dict[str, Trace]:
    """A column of the flows' samples in units of `per`; for groups the sum of their flows (`add`) or the mean.

    With `zero=False`, 0 counts as unknown.
    """
    if grouped(run):
        value = pl.col(column) if zero else pl.col(column).replace(0, None)
        rows = run.flows.select("time_ns", "flow", "group", (value / per).alias("v")).drop_nulls()
        together = of_groups(rows, max(round(run.manifest.duration_s * NS / POINTS), 1), add=add)
        samples = partitioned(together.rename({"time_ns": "s", "group": "flow"}))
    else:
        samples = {name: (times, values / per) for name, (times, values) in by_flow(run, column).items()}
        if not zero:
            samples = {name: (times[values != 0], values[values != 0]) for name, (times, values) in samples.items()}
    return downsampled({name: (times / NS, values) for name, (times, values) in samples.items()}, points)


def cwnd_of(runs: Sequence[Run]) -> tuple[str, float, str]:
    """A common window unit for these runs, kB if more flows' logs record only bytes: column, divisor, axis title."""
    known = {
        column: sum(times.size > 0 for run in runs for times, _ in by_flow(run, column).values())
        for column in ("cwnd_packets", "cwnd_bytes")
    }
    if known["cwnd_bytes"] > known["cwnd_packets"]:
        return "cwnd_bytes", 1e3, "cwnd, kB"
    return "cwnd_packets", 1.0, "cwnd, packets"


def downsampled(traces: Mapping[str, Trace], points: int = POINTS) -> dict[str, Trace]:
    """Downsample every line to the points it needs; drop lines without points."""
    kept = {name: downsample(s, v, points) for name, (s, v) in traces.items() if s.size}
    return {name: (traces[name][0][which], traces[name][1][which]) for name, which in kept.items()}


def partitioned(table: pl.DataFrame) -> dict[str, Trace]:
    """The lines of a table `s, v, flow`; unknown values are NaN."""
    parts = table.partition_by("flow", as_dict=True, maintain_order=True)
    return {str(name): (part["s"].to_numpy(), part["v"].to_numpy()) for (name,), part in parts.items()}


def quantile(traces: Mapping[str, Trace], share: float) -> float:
    """A quantile of all lines' values; 0 without any."""
    return float(
        pl.concat([pl.Series(dtype=pl.Float64), *(pl.Series(v) for _, v in traces.values())]).quantile(share) or 0
    )


def of_groups(rows: pl.DataFrame, bin_ns: int, *, add: bool) -> pl.DataFrame:
    """Samples (`time_ns, flow, group, v`) as one line per group: `time_ns` (the bin's centre), `group`, `v`.

    Flows are sampled at slightly different times: average each flow within a bin, then combine the flows of the group.
    """
    time = pl.col("time_ns") // bin_ns * bin_ns + bin_ns // 2
    means = rows.group_by(time, "group", "flow").agg(pl.col("v").mean())
    together = pl.col("v").sum() if add else pl.col("v").mean()
    return means.group_by("time_ns", "group").agg(together).sort("group", "time_ns")
