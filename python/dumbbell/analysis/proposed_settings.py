"""Differences between a run's conditions and a log's, and the settings that remove them.

A setting is proposed only for conditions inferred from the log (`conditions`), or for what both arms show together: if
a flow's rate stays level far below what its window allows, something else limits it. If Linux's default buffer limits
explain that level, they are proposed, with that reservation.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dumbbell.analysis.conditions import Condition, conditions
from dumbbell.analysis.sample_arrays import base_rtts_ns, by_flow
from dumbbell.analysis.time_series import bytes_counters
from dumbbell.results.result import Run
from dumbbell.spec.units import duration_ns

__all__ = ["Facts", "Plateau", "Setting", "facts", "plateaus", "settings"]

NS = 1_000_000_000
MTU_MIN, MTU_MAX = 576, 9000
"""Range of `path.mtu`."""
RTT_SHARE, RTT_NS = 0.05, 100_000
"""Tolerated difference of base RTTs."""
DURATION_SHARE = 0.02
BUFFER_SHARE = 0.25
"""The share of a buffer that is window differs between kernels, and with the packets in it."""
LINUX_RMEM_MAX, LINUX_WMEM_MAX = 6 << 20, 4 << 20
"""Maxima of tcp_rmem and tcp_wmem on hosts with 1 GiB or more: `tcp_init` of net/ipv4/tcp.c."""
USUAL_BYTES = (LINUX_RMEM_MAX // 8, LINUX_RMEM_MAX // 2)
"""Maximum in flight: half of the receive buffer is the window; a quarter of that during loss recovery."""
INTERVALS_MIN = 10
LEVEL = 1.15
"""Maximum ratio of 90th percentile to median for a level rate."""
BEYOND = 2.5
"""A window of this many times the data in flight limits nothing: BBR's is 2 bandwidth-delay products."""
FASTER = 1.1


@dataclass(frozen=True)
class Plateau:
    """The level rate of a flow, by its group, and the larger window that it had."""

    group: str
    rate_bps: float
    window_bytes: float


@dataclass(frozen=True)
class Setting:
    """One `--set` option."""

    key: str
    run: str
    """The run's value."""
    value: str
    """The value that matches the log."""
    because: str

    @property
    def option(self) -> str:
        """The setting as a command-line option."""
        return f"--set {self.key}={self.value}"

    def as_json(self) -> dict[str, Any]:
        """The setting as the JSON contract has it."""
        return asdict(self) | {"option": self.option}


def plateaus(run: Run) -> tuple[Plateau, ...]:
    """The flows with nearly the same rate in most intervals, with the median window in bytes."""
    windows, counters = by_flow(run, "cwnd_bytes"), bytes_counters(run)
    return tuple(
        Plateau(flow["group"], float(np.median(rates)), float(np.median(windows[flow["name"]][1])))
        for flow in run.manifest.flows
        if windows[flow["name"]][1].size and (counter := counters[flow["name"]])
        # The first interval has slow start and the initial fill of the send buffer.
        for rates in [np.diff(counter.values)[1:] * 8 * NS / np.maximum(np.diff(counter.times_ns)[1:], 1)]
        if rates.size >= INTERVALS_MIN and 0 < np.quantile(rates, 0.9) <= LEVEL * np.median(rates)
    )


@dataclass(frozen=True)
class Facts:
    """A run's facts about its measurement conditions."""

    conditions: tuple[Condition, ...]
    """For an import; empty for a run, whose experiment states them."""
    plateaus: tuple[Plateau, ...]
    base_rtts_ns: Mapping[str, float]
    """By group."""


def facts(run: Run) -> Facts:
    """All facts that an explanation needs."""
    if run.manifest.engine == "import":
        return Facts(conditions(run), plateaus(run), base_rtts_ns(run))
    return Facts((), (), base_rtts_ns(run))


def settings(log: Facts, run: Facts, manifest: Mapping[str, Any], values: Mapping[str, float]) -> tuple[Setting, ...]:
    """Settings that give the run the log's conditions; empty if its experiment is unknown.

    `manifest` is the run's manifest, `values` its measures.
    """
    if not manifest.get("experiment") or not log.conditions:
        return ()
    side = _RunFacts(manifest["experiment"], float(manifest["duration_s"]), run.base_rtts_ns, values)
    known = {each.name: each for each in log.conditions}
    return (
        *_duration(known["duration_s"], side),
        *_mtu(known["mtu_bytes"], side),
        *_offloads(known["offloads"], side),
        *_rtt(log.base_rtts_ns, side),
        *_buffers(known, side),
        *_usual_buffers(known, log, side),
    )


@dataclass(frozen=True)
class _RunFacts:
    """The run's data for comparison with a log."""

    experiment: Mapping[str, Any]
    duration_s: float
    base_rtts_ns: Mapping[str, float]
    """By group."""
    values: Mapping[str, float]
    """The run's measures."""

    def at(self, key: str) -> Any:
        """A key of the experiment; None if missing."""
        value: Any = self.experiment
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value


def _duration(log: Condition, run: _RunFacts) -> Iterator[Setting]:
    if log.value and abs(log.value - run.duration_s) > DURATION_SHARE * log.value:
        yield Setting("duration", f"{run.duration_s:g}s", f"{log.value:g}s", log.evidence)


def _mtu(log: Condition, run: _RunFacts) -> Iterator[Setting]:
    now = run.at("path.mtu")
    if log.value is None or log.low is None or log.high is None or not isinstance(now, int):
        return
    if not log.low <= now <= log.high and MTU_MIN <= log.value <= MTU_MAX:
        yield Setting("path.mtu", str(now), f"{log.value:.0f}", log.evidence)


def _offloads(log: Condition, run: _RunFacts) -> Iterator[Setting]:
    if log.value and run.at("path.offloads") is False:
        yield Setting("path.offloads", "false", "true", log.evidence)


def _rtt(log_rtts_ns: Mapping[str, float], run: _RunFacts) -> Iterator[Setting]:
    """`path.rtt` moved by the common difference of all groups; nothing if groups differ by different amounts."""
    apart = [log_rtts_ns[group] - run.base_rtts_ns[group] for group in log_rtts_ns if group in run.base_rtts_ns]
    now = run.at("path.rtt")
    if not apart or not isinstance(now, str):
        return
    middle, least = float(np.median(apart)), min(log_rtts_ns.values())
    allowed = max(RTT_SHARE * least, RTT_NS)
    then = duration_ns(now) + middle
    if abs(middle) <= allowed or max(apart) - min(apart) > allowed or then <= 0:
        return
    because = f"its smallest round-trip time is {least / 1e6:.4g} ms, the run's {(least - middle) / 1e6:.4g} ms"
    yield Setting("path.rtt", now, f"{round(then / 1000)}us", because)


def _buffers(known: Mapping[str, Condition], run: _RunFacts) -> Iterator[Setting]:
    """Limits that held back the log's flows, if the run's limits differ."""
    for name, key, times in (
        ("receive_window_bytes", "tcp.rmem_max", 2),  # tcp_win_from_space: half of the buffer is window.
        ("send_buffer_bytes", "tcp.wmem_max", 1),
    ):
        now = run.at(key)
        value = known[name].value
        if value is not None and isinstance(now, int) and abs(value * times - now) > BUFFER_SHARE * now:
            yield Setting(key, str(now), str(round(value * times)), known[name].evidence)


def _usual_buffers(known: Mapping[str, Condition], log: Facts, run: _RunFacts) -> Iterator[Setting]:
    """Linux's default limits, if they explain a level rate that the window doesn't, and the run's are larger."""
    if any(known[name].value for name in ("receive_window_bytes", "send_buffer_bytes")):
        return
    for each in log.plateaus:
        rtts, whose = (log.base_rtts_ns, "its") if each.group in log.base_rtts_ns else (run.base_rtts_ns, "the run's")
        flight = each.rate_bps / 8 * rtts.get(each.group, 0.0) / NS
        if not USUAL_BYTES[0] <= flight <= USUAL_BYTES[1] or each.window_bytes < BEYOND * flight:
            continue
        if run.values.get(f"groups.{each.group}.throughput_mbps", 0.0) < FASTER * each.rate_bps / 1e6:
            continue
        because = (
            f"{each.group} stayed level at {each.rate_bps / 1e6:,.0f} Mbit/s, {flight / 1e6:.1f} MB per {whose} "
            f"smallest round-trip time, with a window of {each.window_bytes / 1e6:.1f} MB: something else limited it. "
            "Linux's default limits would; so would a slower host or link, which this log can't distinguish"
        )
        limits = {"tcp.rmem_max": LINUX_RMEM_MAX, "tcp.wmem_max": LINUX_WMEM_MAX}
        for key, limit in limits.items():
            if isinstance(now := run.at(key), int) and now > limit:
                yield Setting(key, str(now), str(limit), because)
        return
