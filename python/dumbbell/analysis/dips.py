"""How far, and for how long, BBR's delivery rate falls when it looks for the path's delay (PROBE_RTT).

Which states there were is `states`. The rate is computed from what was delivered, for the socket's own
`tcpi_delivery_rate` keeps its last value while samples are application-limited (`tcp_rate_gen`), and BBR marks those
of PROBE_RTT so (`bbr_update_min_rtt`). What that one showed is `reported_depth`.
"""

import numpy as np
import polars as pl

from dumbbell.analysis.counters import Counter, Floats
from dumbbell.analysis.states import phases
from dumbbell.analysis.window import NS
from dumbbell.result import Run

__all__ = ["probe_rtt_dips", "probe_rtt_interval_s"]

BEFORE_NS = NS
"""A gain cycle is eight round trips; a second holds several of them on most paths."""

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
"""A row of `DIPS` behind the time."""


def probe_rtt_dips(run: Run) -> pl.DataFrame:
    """Each PROBE_RTT as a dip: `flow, time_ns, before_bps, lowest_bps, depth, lasted_ns, reported_depth`.

    r(t) = 8 × (bytes delivered by t − by t − R) ÷ R, delivered bytes being `tcpi_delivered` × MSS and R the smoothed
    RTT when PROBE_RTT began. `time_ns` is when that was; `before_bps` the mean rate of the second before;
    `lowest_bps` the least r(t) until a round trip after PROBE_RTT's end; `depth` 1 − lowest ÷ before; `lasted_ns` the
    full width at half depth (of the stretch around the lowest in which r(t) < (before + lowest) ÷ 2);
    `reported_depth` by how much the socket's `tcpi_delivery_rate` fell: 1 − its least in that time ÷ its mean in the
    second before, null where it isn't known. A dip after a second without any delivery is left out.
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
    """The median time in seconds from one PROBE_RTT to the next, of each flow that had two."""
    probes = phases(run).filter(pl.col("phase") == "probe_rtt")
    medians = probes.group_by("flow", maintain_order=True).agg(pl.col("start_ns").diff().median() / NS).drop_nulls()
    return dict(medians.iter_rows())


def _samples(run: Run, flow: str) -> pl.DataFrame:
    """What a flow had delivered, in bytes, its RTT, and its socket's delivery rate, at each sample."""
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
    """1 − the least `tcpi_delivery_rate` of the dip ÷ its mean before; None where either isn't known."""
    before, inside = (
        samples.filter(pl.col("time_ns").is_between(*span, closed="left"))["reported_bps"].drop_nulls()
        for span in (before_ns, dip_ns)
    )
    mean, least = before.mean(), inside.min()
    return 1 - least / mean if isinstance(mean, float) and mean > 0 and isinstance(least, int | float) else None


def _width_ns(times: Floats, rates: Floats, low: int, level: float) -> int:
    """From the first to the last sample of the stretch around `low` that lies below `level`, and one sample more."""
    above = np.flatnonzero(rates >= level)
    left = int(above[above < low].max(initial=-1)) + 1
    right = int(above[above > low].min(initial=rates.size - 1))
    return int(times[right] - times[left])


def _step_ns(times: Floats) -> int:
    return int(np.median(np.diff(times))) if times.size > 1 else NS
