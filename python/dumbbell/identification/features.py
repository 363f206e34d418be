"""A connection's behaviour as numbers that are comparable between a capture and a simulated candidate on its path.

Windows are data sent during the last round trip, in units of the path's BDP; they are the same at both ends of it.
A number that a connection does not show (the window after a loss, without a loss) is NaN. `docs/identify.md` lists
what each group tells apart.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dumbbell.identification.connection import Connection, Floats
from dumbbell.identification.path import Path
from dumbbell.identification.round_trips import loss_events, round_trips

__all__ = ["GROUPS", "features"]

STARTUP_ROUNDS = (2, 3, 4, 5, 6, 8, 10, 13, 17, 25)
STEADY_FROM = 0.25
"""Share of the connection after which its start no longer counts as such."""
LAGS = (1.5, 3, 5, 8, 12, 20, 32)
"""In round trips."""
LAGS_S = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class _Series:
    """Equally spaced samples."""

    step_s: float
    time: Floats
    window: Floats
    """In BDP."""
    queue: Floats
    """Queueing delay, in smallest round trip times."""
    delivered: Floats
    """Bytes acknowledged until then."""


def features(flow: Connection, path: Path) -> dict[str, float]:
    """All numbers, by `group.name`."""
    series = _series(flow, path)
    events = loss_events(flow, path.rtt_s)
    found: dict[str, float] = {}
    for group, measure in _MEASURES.items():
        found |= {f"{group}.{name}": float(value) for name, value in measure(flow, path, series, events).items()}
    return found


def _series(flow: Connection, path: Path) -> _Series:
    step = float(np.clip(path.rtt_s / 4, 0.001, 0.05))
    time = np.arange(0, flow.duration_s, step)
    known, trips = round_trips(flow, path.at_sender)
    trip = trips[np.clip(np.searchsorted(known, time, side="right") - 1, 0, None)]
    sent = np.concatenate([[0.0], np.cumsum(flow.payload)])
    until = sent[np.searchsorted(flow.time, time, side="right")]
    since = sent[np.searchsorted(flow.time, time - trip, side="right")]
    acked = np.concatenate([[0.0], flow.acked])[np.searchsorted(flow.ack_time, time, side="right")]
    bdp = path.bdp_bytes / flow.frame_ratio
    return _Series(step, time, (until - since) / bdp, trip / path.rtt_s - 1, acked)


def _startup(flow: Connection, path: Path, series: _Series, events: Floats) -> dict[str, float]:
    """How fast a connection starts, and what ends its start."""
    if not flow.handshake:
        names = [f"sent{rounds}" for rounds in STARTUP_ROUNDS] + ["peak", "first_loss"]
        return dict.fromkeys(names, np.nan)
    begin = flow.time[0]
    sent = np.cumsum(flow.payload)
    bdp = path.bdp_bytes / flow.frame_ratio
    found = {}
    for rounds in STARTUP_ROUNDS:
        at = np.searchsorted(flow.time, begin + (rounds - 0.5) * path.rtt_s)
        found[f"sent{rounds}"] = np.log2(sent[max(at - 1, 0)] / bdp)
    early = series.time < max(STEADY_FROM * flow.duration_s, 25 * path.rtt_s)
    found["peak"] = np.log2(0.05 + series.window[early].max())
    found["first_loss"] = np.log2(1 + (events[0] - begin) / path.rtt_s) if events.size else np.nan
    return found


def _level(flow: Connection, path: Path, series: _Series, events: Floats) -> dict[str, float]:
    """Windows, queues, throughput and losses once the start is over."""
    steady = series.time >= STEADY_FROM * flow.duration_s
    window, queue = series.window[steady], series.queue[steady]
    found = {f"window{share}": np.log2(0.05 + np.quantile(window, share / 100)) for share in (5, 25, 50, 75, 95)}
    found |= {f"queue{share}": np.log2(0.1 + np.quantile(queue, share / 100)) for share in (5, 25, 50, 75, 95)}
    seconds = flow.duration_s * (1 - STEADY_FROM)
    gained = series.delivered[-1] - series.delivered[steady][0]
    found["used"] = gained * 8 * flow.frame_ratio / seconds / path.rate_bps
    late = flow.time >= STEADY_FROM * flow.duration_s
    found["retransmitted"] = np.log10(3e-4 + flow.retransmitted[late].mean()) if late.any() else np.nan
    found["losses"] = np.log2(0.1 + (events >= STEADY_FROM * flow.duration_s).sum() / seconds)
    return found


def _growth(flow: Connection, path: Path, series: _Series, events: Floats) -> dict[str, float]:
    """The window between two losses: how far it falls, how fast and in which shape it grows."""
    names = ("kept", "kept_least", "rounds", "at25", "at50", "at75", "slope", "early", "late")
    epochs = [_epoch(flow, path, series, begin, end) for begin, end in _between(flow, events)]
    found = [epoch for epoch in epochs if epoch is not None]
    if not found:
        return dict.fromkeys(names, np.nan)
    table = {name: np.array([epoch[name] for epoch in found]) for name in found[0]}
    with np.errstate(all="ignore"):
        measured = {name: _median(table[name]) for name in names if name != "kept_least"}
    kept = table["kept"][np.isfinite(table["kept"])]
    return measured | {"kept_least": float(np.quantile(kept, 0.1)) if kept.size else np.nan}


def _between(flow: Connection, events: Floats) -> list[tuple[float, float]]:
    """The times between losses that are not part of the start; the whole rest of a connection without a loss."""
    begin = STEADY_FROM * flow.duration_s / 2
    edges = events[events > begin]
    if not edges.size:
        return [(begin, flow.duration_s)]
    return list(zip(edges, [*edges[1:], flow.duration_s], strict=True))


def _epoch(flow: Connection, path: Path, series: _Series, begin: float, end: float) -> dict[str, float] | None:
    rtt = path.rtt_s * (1 + float(np.median(series.queue)))
    inside = np.flatnonzero((series.time > begin + 2.5 * rtt) & (series.time < end - 0.25 * rtt))
    rounds = (end - begin) / rtt
    if rounds < 6 or inside.size < 12:
        return None
    window = series.window[inside]
    before = series.window[(series.time > begin - 1.5 * rtt) & (series.time <= begin)]
    after = series.window[(series.time > begin + 1.5 * rtt) & (series.time <= begin + 3.5 * rtt)]
    parts = [float(np.median(part)) for part in np.array_split(window, 8)]
    first, last = parts[0], parts[-1]
    grown = last - first
    per_round = path.bdp_bytes / flow.frame_ratio / flow.mss
    shape = [np.nan] * 3 if grown < 0.04 else [(parts[at] - first) / grown for at in (2, 4, 6)]
    step = per_round / max(rounds / 8, 1e-9)
    return {
        "kept": float(np.median(after)) / before.max() if before.size and after.size and before.max() > 0 else np.nan,
        "rounds": np.log2(rounds),
        "at25": shape[0], "at50": shape[1], "at75": shape[2],
        "slope": np.arcsinh(grown * per_round / rounds * 4),
        "early": np.arcsinh((parts[2] - parts[0]) / 2 * step * 4),
        "late": np.arcsinh((parts[7] - parts[5]) / 2 * step * 4),
    }  # fmt: skip


def _rhythm(flow: Connection, path: Path, series: _Series, events: Floats) -> dict[str, float]:
    """Oscillations of the window: pulses of BBR, of delay-based controllers, and short drains."""
    del events
    steady = series.time >= STEADY_FROM * flow.duration_s
    window = series.window[steady]
    median = max(float(np.median(window)), 1e-3)
    relative = np.clip(window / median, 0, 4)
    found: dict[str, float] = {}
    for lag in [each * path.rtt_s for each in LAGS] + list(LAGS_S):
        name = f"lag{lag / path.rtt_s:g}" if len(found) < 2 * len(LAGS) else f"lag{lag:g}s"
        found |= _lagged(relative, max(round(lag / series.step_s), 1), name)
    low = relative < 0.6
    starts = np.flatnonzero(low & ~np.concatenate([[False], low[:-1]]))
    seconds = window.size * series.step_s
    found["lowest"] = np.log2(0.03 + float(np.quantile(relative, 0.01)))
    found["low_share"] = np.log2(0.01 + float(low.mean()))
    found["lows"] = np.log2(0.1 + starts.size / seconds)
    found["highest"] = float(np.quantile(relative, 0.99))
    return found


def _lagged(values: Floats, lag: int, name: str) -> dict[str, float]:
    """How much, and how alike, values change over a time."""
    if values.size < 3 * lag:
        return {f"{name}.change": np.nan, f"{name}.alike": np.nan}
    change = values[lag:] - values[:-lag]
    alike = _correlated(values[lag:], values[:-lag])
    return {f"{name}.change": np.log2(0.02 + float(np.sqrt((change**2).mean()))), f"{name}.alike": alike}


def _spacing(flow: Connection, path: Path, series: _Series, events: Floats) -> dict[str, float]:
    """Times between data segments, in transmission times at the bottleneck: bursts or pacing."""
    del series, events
    late = flow.time >= STEADY_FROM * flow.duration_s
    gaps = np.diff(flow.time[late]) / (flow.mss * flow.frame_ratio * 8 / path.rate_bps)
    if gaps.size < 20:
        return dict.fromkeys(("burst", "closer", "equal", "farther", "pause"), np.nan)
    edges = (0.2, 0.85, 1.15, 2.3)
    shares = np.histogram(gaps, bins=[0, *edges, np.inf])[0] / gaps.size
    return dict(zip(("burst", "closer", "equal", "farther", "pause"), np.sqrt(shares), strict=True))


def _reaction(flow: Connection, path: Path, series: _Series, events: Floats) -> dict[str, float]:
    """Whether the window shrinks when the queue grows."""
    del events
    steady = series.time >= STEADY_FROM * flow.duration_s
    window, queue = series.window[steady], series.queue[steady]
    lag = max(round(path.rtt_s * (1 + float(np.median(queue))) / series.step_s), 1)
    change = window[lag:] - window[:-lag]
    return {
        "to_queue": _correlated(change, queue[:-lag]),
        "with_queue": _correlated(window, queue),
        "to_window": _correlated(change, window[:-lag]),
    }


def _correlated(one: Floats, other: Floats) -> float:
    if one.size < 10 or one.std() < 0.005 or other.std() < 0.005:
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


def _median(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")


_MEASURES: Mapping[str, Callable[..., Mapping[str, Any]]] = {
    "startup": _startup,
    "level": _level,
    "growth": _growth,
    "rhythm": _rhythm,
    "spacing": _spacing,
    "reaction": _reaction,
}
GROUPS = tuple(_MEASURES)
"""Groups of numbers, each with the same weight in a distance."""
