"""What controllers do over time.

- Their states, which `crates/metrics/src/phases.rs` reads or infers.
- Depth and duration of the dips of BBR's delivery rate in PROBE_RTT. The rate is computed from delivered bytes, because
  the socket's `tcpi_delivery_rate` keeps its last value while samples are application-limited (`tcp_rate_gen`), and BBR
  marks those of PROBE_RTT so (`bbr_update_min_rtt`). `reported_depth` is the dip of `tcpi_delivery_rate`.
- For loss-based controllers sawtooth windows: slow rise, cut, rise again; their period and depth.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.analysis.native import NS, Window, bounds_ns, by_flow_name, clip_ns, native, remembered
from dumbbell.analysis.time_series import Counter, Floats
from dumbbell.results.result import Run

if TYPE_CHECKING:
    from dumbbell.results.columns import Floats

__all__ = [
    "Sawtooth",
    "durations",
    "phases",
    "probe_rtt_dips",
    "sawtooth",
    "teeth",
]


PHASES = {"flow": pl.String, "phase": pl.String, "start_ns": pl.Int64, "stop_ns": pl.Int64, "inferred": pl.Boolean}


@remembered
def phases(run: Run) -> pl.DataFrame:
    """Every state of every flow, in order of time: `flow, phase, start_ns, stop_ns, inferred`.

    Flows without known states have no rows. The last state lasts to the flow's end.
    """
    found = by_flow_name(run, native(run).phases())
    tables = [
        pl.DataFrame(
            {"flow": [flow] * len(names), "phase": names, "start_ns": np.asarray(starts), "stop_ns": np.asarray(stops),
             "inferred": inferred}, PHASES,
        )
        for flow, (names, starts, stops, inferred) in found.items() if names
    ]  # fmt: skip
    return pl.concat([pl.DataFrame(schema=PHASES), *tables])


def durations(run: Run, window: Window | None = None) -> pl.DataFrame:
    """Number and duration of states: `flow, phase, times, total_s, mean_s, longest_s, share, inferred`.

    With a window, of the parts of states inside it. `share` is the state's time ÷ the time of all the flow's known
    states. In the order of first appearance.
    """
    from_ns, to_ns = bounds_ns(run, window)
    length_s = (pl.min_horizontal("stop_ns", to_ns) - pl.max_horizontal("start_ns", from_ns)) / NS
    table = (
        phases(run)
        .filter((pl.col("stop_ns") > from_ns) & (pl.col("start_ns") < to_ns))
        .group_by("flow", "phase", maintain_order=True)
        .agg(
            times=pl.len(),
            total_s=length_s.sum(),
            mean_s=length_s.mean(),
            longest_s=length_s.max(),
            inferred=pl.col("inferred").any(),
        )
    )
    share = pl.col("total_s") / pl.col("total_s").sum().over("flow")
    return table.select("flow", "phase", "times", "total_s", "mean_s", "longest_s", share.alias("share"), "inferred")


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


CUT = 0.1
"""Smallest relative reduction that counts as a cut: CUBIC reduces by 30 %, Reno by 50 %; one packet of 20 is 5 %."""
CUTS_MIN = 3
SLOW_RISE = 0.1
"""Minimum share of a tooth's length for its rise from 10 to 90 %: 80 % for a straight line, half for CUBIC."""


@dataclass(frozen=True)
class Sawtooth:
    """A window with repeated cuts; medians over the teeth, so that slow start's overshoot does not count."""

    period_s: float
    """Time between two cuts."""
    depth: float
    """Relative reduction by a cut, 1 − trough ÷ peak: 0.3 for CUBIC (RFC 9438), 0.5 for Reno (RFC 5681)."""
    count: int
    peak_packets: float
    trough_packets: float


def sawtooth(run: Run, window: Window | None = None) -> dict[str, Sawtooth | None]:
    """The sawtooth of every flow's cwnd, by flow; None if it has none (BBR, UDP, fewer than three cuts)."""
    rows = run.flows.select("flow", "time_ns", pl.col("cwnd_packets").cast(pl.Float64)).drop_nulls()
    parts = rows.partition_by("flow", as_dict=True)
    found: dict[str, Sawtooth | None] = {}
    for flow in run.manifest.flows:
        part, life = parts.get((flow["name"],)), clip_ns(run, flow, window)
        found[flow["name"]] = None
        if part is not None and life is not None:
            inside = part.filter(pl.col("time_ns").is_between(*life))
            found[flow["name"]] = teeth(inside["time_ns"].to_numpy(), inside["cwnd_packets"].to_numpy())
    return found


def teeth(times_ns: npt.ArrayLike, values: npt.ArrayLike) -> Sawtooth | None:
    """The sawtooth of one sampled curve, or None.

    Turning points: a peak counts once the curve has fallen by a tenth below it, a trough once it has risen by a tenth
    above (zigzag, as rainflow counting of Matsuishi & Endo 1968 finds reversals), so steps count as one rise, and a cut
    over several samples (PRR, RFC 6937) as one cut. A cut belongs to a sawtooth if its tooth rises slowly: the middle
    four fifths of the rise take at least a tenth of the time to the next cut, and longer than the fall took. BBR's
    windows jump. Most cuts must belong to a sawtooth.
    """
    times, sizes = np.asarray(times_ns, dtype=np.float64), np.asarray(values, dtype=np.float64)
    peaks, troughs = _turning_points(sizes)
    if len(peaks) < CUTS_MIN:
        return None
    slow = [
        _rises_slowly(times, sizes, fall, low, following)
        for fall, low, following in zip(peaks, troughs, peaks[1:], strict=False)
    ]
    if 2 * sum(slow) <= len(slow):
        return None
    high, low = sizes[peaks], sizes[troughs]
    return Sawtooth(
        period_s=float(np.median(np.diff(times[peaks]))) / NS,
        depth=float(np.median(1 - low / high)),
        count=len(peaks),
        peak_packets=float(np.median(high)),
        trough_packets=float(np.median(low)),
    )


def _turning_points(values: Floats) -> tuple[list[int], list[int]]:
    """Positions of the peaks before cuts, the last sample of each, and of the troughs after them."""
    peaks: list[int] = []
    troughs: list[int] = []
    high = low = 0
    most = least = -1.0
    falling = False
    turning_points = _extremes(values)
    for at, value in zip(turning_points, values[turning_points].tolist(), strict=True):
        if falling:
            if value < least:
                low, least = at, value
            elif value >= least / (1 - CUT):
                troughs.append(low)
                falling, high, most = False, at, value
        elif value >= most:
            high, most = at, value
        elif value <= most * (1 - CUT):
            peaks.append(high)
            falling, low, least = True, at, value
    if falling:
        troughs.append(low)
    return peaks, troughs


def _extremes(values: Floats) -> list[int]:
    """Where the curve stops rising or falling; of a level top or bottom the last sample."""
    moves = np.flatnonzero(np.diff(values))
    turning_points = np.flatnonzero(np.diff(np.sign(np.diff(values)[moves]))) + 1
    return [0, *moves[turning_points].tolist(), values.size - 1] if values.size else []


def _rises_slowly(times: Floats, values: Floats, fall: int, low: int, following: int) -> bool:
    rise = values[low : following + 1]
    height = rise[-1] - rise[0]
    tenth, nine = (int((rise >= rise[0] + share * height).argmax()) for share in (0.1, 0.9))
    took = times[low + nine] - times[low + tenth]
    fell = times[fall + int(values[fall : low + 1].argmin())] - times[fall]  # Up to the first sample of a level bottom.
    return bool(took >= SLOW_RISE * (times[following] - times[fall]) and took > fell)
