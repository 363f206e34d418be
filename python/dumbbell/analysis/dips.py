"""Depth and duration of the dips of BBR's delivery rate in PROBE_RTT.

`states` finds PROBE_RTT. The rate is computed from delivered bytes, because the socket's `tcpi_delivery_rate` keeps its
last value while samples are application-limited (`tcp_rate_gen`), and BBR marks those of PROBE_RTT so
(`bbr_update_min_rtt`). `reported_depth` is the dip of `tcpi_delivery_rate`.
"""

import numpy as np
import polars as pl

from dumbbell.analysis.counters import Counter, Floats
from dumbbell.analysis.native import by_flow_name, native
from dumbbell.analysis.states import phases
from dumbbell.analysis.window import NS
from dumbbell.results.result import Run

__all__ = ["probe_rtt_dips", "probe_rtt_interval_s"]

BEFORE_NS = NS
"""A gain cycle takes eight round trips; a second contains several of them on most paths."""

DIPS = {
    "flow": pl.String,
    "time_ns": pl.Int64,
    "before_bps": pl.Float64,
    "lowest_bps": pl.Float64,
    "depth": pl.Float64,
    "lasted_ns": pl.Int64,
    "reported_depth": pl.Float64,
}

Dip = tuple[float, float, float, int, float | None]
"""A row of `DIPS` after the time."""


def probe_rtt_dips(run: Run) -> pl.DataFrame:
    """Each PROBE_RTT as a dip: `flow, time_ns, before_bps, lowest_bps, depth, lasted_ns, reported_depth`.

    r(t) = 8 × (bytes delivered by t − by t − R) ÷ R, where delivered bytes are `tcpi_delivered` × MSS and R is the
    smoothed RTT at the start of PROBE_RTT (`time_ns`). `before_bps` is the mean rate of the second before; `lowest_bps`
    the smallest r(t) until a round trip after PROBE_RTT's end; `depth` 1 − lowest ÷ before; `lasted_ns` the full width
    at half depth (of the stretch around the lowest in which r(t) < (before + lowest) ÷ 2); `reported_depth` the dip of
    the socket's `tcpi_delivery_rate`: 1 − its minimum in that time ÷ its mean in the second before, null if unknown.
    Dips after a second without any delivery are omitted.
    """
    table = phases(run)
    probes = table.filter(pl.col("phase") == "probe_rtt")
    rows = []
    for (name,), part in probes.partition_by("flow", as_dict=True, maintain_order=True).items():
        samples = _samples(run, str(name))
        if samples.is_empty():
            continue
        stops = table.filter(pl.col("flow") == name)["stop_ns"].max()
        starts_ns = [*part["start_ns"].to_list(), stops]
        for (start_ns, stop_ns), until_ns in zip(part.select("start_ns", "stop_ns").rows(), starts_ns[1:], strict=True):
            if dip := _dip(samples, start_ns, stop_ns, until_ns):
                rows.append((name, start_ns, *dip))
    return pl.DataFrame(rows, schema=DIPS, orient="row")


def probe_rtt_interval_s(run: Run) -> dict[str, float]:
    """The median time in seconds between PROBE_RTTs, for flows with at least two."""
    found = by_flow_name(run, native(run).probe_rtt_intervals_s())
    return {name: interval for name, interval in found.items() if interval is not None}


def _samples(run: Run, flow: str) -> pl.DataFrame:
    """A flow's delivered bytes, its RTT, and its socket's delivery rate, at each sample."""
    delivered = pl.coalesce(pl.col("delivered_packets").cast(pl.Int64) * pl.col("mss_bytes"), "bytes_acked")
    table = run.flows.filter(pl.col("flow") == flow)
    columns = table.select("time_ns", "rtt_ns", bytes=delivered, reported_bps=pl.col("delivery_rate_bps"))
    return columns.drop_nulls(["time_ns", "rtt_ns", "bytes"])


def _dip(samples: pl.DataFrame, start_ns: int, stop_ns: int, until_ns: int) -> Dip | None:
    times = samples["time_ns"].to_numpy()
    at_start = int(np.searchsorted(times, start_ns))
    round_ns = max(int(samples["rtt_ns"][min(at_start, times.size - 1)]), _step_ns(times))
    counter = Counter(times, samples["bytes"].to_numpy())
    from_ns = max(start_ns - BEFORE_NS, int(times[0]))
    before_bps = 8 * NS * counter.between(from_ns, start_ns) / max(start_ns - from_ns, 1)
    inside = times[(times >= start_ns) & (times <= max(until_ns, stop_ns))]
    if before_bps <= 0 or inside.size == 0:
        return None
    rates = 8 * NS * (counter.at(inside) - counter.at(inside - round_ns)) / round_ns
    low = int(np.argmin(rates[inside <= stop_ns + round_ns]))
    lowest_bps = float(rates[low])
    lasted_ns = _width_ns(inside, rates, low, (before_bps + lowest_bps) / 2)
    reported = _reported_depth(samples, (from_ns, start_ns), (start_ns, stop_ns + round_ns))
    return before_bps, lowest_bps, 1 - lowest_bps / before_bps, lasted_ns, reported


def _reported_depth(samples: pl.DataFrame, before_ns: tuple[int, int], dip_ns: tuple[int, int]) -> float | None:
    """1 − the smallest `tcpi_delivery_rate` in the dip ÷ its mean before; None if either is unknown."""
    before, inside = (
        samples.filter(pl.col("time_ns").is_between(*span, closed="left"))["reported_bps"].drop_nulls()
        for span in (before_ns, dip_ns)
    )
    mean, least = before.mean(), inside.min()
    return 1 - least / mean if isinstance(mean, float) and mean > 0 and isinstance(least, int | float) else None


def _width_ns(times: Floats, rates: Floats, low: int, level: float) -> int:
    """The duration of the stretch around `low` that lies below `level`, plus one sample."""
    above = np.flatnonzero(rates >= level)
    left = int(above[above < low].max(initial=-1)) + 1
    right = int(above[above > low].min(initial=rates.size - 1))
    return int(times[right] - times[left])


def _step_ns(times: Floats) -> int:
    return int(np.median(np.diff(times))) if times.size > 1 else NS
