"""Runs with known closed-form numbers, for tests of all packages.

`make()` returns a `Run` in memory; `make_folder()` writes it as an engine does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell._sim import MANIFEST_FORMAT as FORMAT
from dumbbell.results.reader import TABLES
from dumbbell.results.result import Run, write

NS = 1_000_000_000
MSS = 1448
PACKET_BYTES = 1514
"""A full packet with its link header."""

Floats = npt.NDArray[np.float64]
Rate = Callable[[Floats], Floats]


@dataclass
class Flow:
    """One flow: its rate and its window as functions of time in seconds."""

    name: str
    group: str
    rate_bps: float | Rate = 10e6
    cwnd: float | Rate = 20.0
    rtt_ms: float | Rate = 20.0
    cc: str = "cubic"
    kind: str = "tcp"
    start_s: float = 0.0
    stop_s: float | None = None
    bytes_asked: int | None = None
    fct_s: float | None = None
    retransmit_rate: float = 0.0


@dataclass
class Bench:
    """The run to make; change a field, call `make`."""

    flows: list[Flow] = field(default_factory=list)
    duration_s: float = 10.0
    sample_s: float = 0.01
    rate_bps: float = 40e6
    queue_packets: float | Rate = 100.0
    qdisc: str = "pfifo limit 150"
    drops: int = 50
    marks: int | None = None
    ping_ms: float | Rate = 30.0
    lost_pings: int = 0
    manifest: dict[str, Any] = field(default_factory=dict)

    def make(self, folder: Path = Path("synthetic")) -> Run:
        return Run(folder, self._manifest(), **self.tables())

    def make_folder(self, folder: Path) -> Path:
        folder.mkdir(parents=True)
        write(folder, self._manifest(), self.tables())
        return folder

    def times_s(self) -> Floats:
        return np.asarray(np.arange(round(self.duration_s / self.sample_s) + 1) * self.sample_s, dtype=np.float64)

    def tables(self) -> dict[str, pl.DataFrame]:
        flows = [self._flow(flow) for flow in self.flows]
        order = pl.concat(flows, how="diagonal") if flows else pl.DataFrame({"time_ns": []})
        return {
            "flows": _with_schema("flows", order.sort("time_ns", maintain_order=True)),
            "queues": _with_schema("queues", self._queue()),
            "probes": _with_schema("probes", self._pings()),
        }

    def received(self, flow: Flow) -> int:
        return int(self._bytes(flow, np.array([self._stop(flow)]))[0])

    def _stop(self, flow: Flow) -> float:
        return self.duration_s if flow.stop_s is None else flow.stop_s

    def _bytes(self, flow: Flow, times: Floats) -> Floats:
        """Bytes received by each time: exact for a constant rate, summed over milliseconds otherwise."""
        active_s = np.clip(times, flow.start_s, self._stop(flow)) - flow.start_s
        if not callable(flow.rate_bps):
            return np.round(flow.rate_bps * active_s / 8)
        steps_s = np.arange(round((self._stop(flow) - flow.start_s) * 1000) + 1) / 1000
        rates = flow.rate_bps(flow.start_s + steps_s[:-1] + 0.0005)
        return np.asarray(np.round(np.interp(active_s, steps_s, np.concatenate([[0], np.cumsum(rates) / 8000]))))

    def _flow(self, flow: Flow) -> pl.DataFrame:
        times = self.times_s()
        times = times[(times >= flow.start_s) & (times <= self._stop(flow))]
        received = self._bytes(flow, times)
        segments = np.round(received / MSS)
        rate = _at(flow.rate_bps, times)
        columns: dict[str, Any] = {"time_ns": np.round(times * NS), "bytes_received": received, "bytes_sent": received}
        if flow.kind == "tcp":
            cwnd = np.round(_at(flow.cwnd, times))
            columns |= {
                "cwnd_packets": cwnd,
                "rtt_ns": np.round(_at(flow.rtt_ms, times) * 1e6),
                "inflight_packets": np.round(cwnd * 0.9),
                "bytes_acked": received,
                "data_segs_out": segments,
                "retrans_packets": np.round(segments * flow.retransmit_rate),
                "delivery_rate_bps": np.round(rate),
                "pacing_rate_bps": np.round(rate * 1.2),
                "mss_bytes": np.full(times.size, MSS),
            }
        frame = pl.DataFrame(columns)
        return frame.with_columns(pl.lit(flow.name).alias("flow"), pl.lit(flow.group).alias("group"))

    def _queue(self) -> pl.DataFrame:
        times = self.times_s()
        backlog = np.round(_at(self.queue_packets, times))
        fraction = times / self.duration_s
        return pl.DataFrame(
            {
                "time_ns": np.round(times * NS),
                "queue": ["bottleneck"] * times.size,
                "kind": [self.qdisc.split()[0]] * times.size,
                "under_test": [True] * times.size,
                "backlog_bytes": backlog * PACKET_BYTES,
                "backlog_packets": backlog,
                "sent_bytes": np.round(self._sent_bytes() * fraction),
                "sent_packets": np.round(self._sent_bytes() * fraction / PACKET_BYTES),
                "drops_packets": np.floor(self.drops * fraction),
                "marks_packets": [None] * times.size if self.marks is None else np.floor(self.marks * fraction),
                "rate_bps": np.full(times.size, self.rate_bps),
                "delay_ns": np.round(backlog * PACKET_BYTES * 8 / self.rate_bps * NS),
            }
        )

    def _sent_bytes(self) -> int:
        return sum(self.received(flow) for flow in self.flows)

    def _pings(self) -> pl.DataFrame:
        times = np.arange(round(self.duration_s * 10)) / 10
        rtt_ns: list[int | None] = [round(value * 1e6) for value in _at(self.ping_ms, times).tolist()]
        rtt_ns[: self.lost_pings] = [None] * self.lost_pings
        forward = [None if value is None else value - 5_000_000 for value in rtt_ns]
        return pl.DataFrame(
            {
                "time_ns": np.round(times * NS),
                "probe": ["ping"] * times.size,
                "kind": ["ping"] * times.size,
                "seq": np.arange(times.size),
                "rtt_ns": rtt_ns,
                "forward_ns": forward,
            }
        )

    def _manifest(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "dumbbell": "0.1.0",
            "name": "synthetic",
            "title": "Known numbers",
            "engine": "sim",
            "seed": 1,
            "duration_s": self.duration_s,
            "asked_duration_s": self.duration_s,
            "valid": True,
            "invalid": [],
            "warnings": [],
            "wall_s": 0.5,
            "phases_s": {"run": 0.5},
            "experiment": {"title": "Known numbers", "path": {"rtt": "20ms"}},
            "source": None,
            "kernel": None,
            "agent": None,
            "host": {"machine": "x86_64"},
            "commands": ["tc qdisc add dev r1 root pfifo limit 150"],
            "generator": "tests",
            "flows": [self._manifest_flow(flow) for flow in self.flows],
            "queues": [
                {
                    "name": "bottleneck",
                    "kind": self.qdisc.split()[0],
                    "under_test": True,
                    "qdisc": self.qdisc,
                    "rates": [[0.0, self.rate_bps]],
                    "drops": self.drops,
                    "marks": self.marks,
                    "sent_bytes": self._sent_bytes(),
                    "sent_packets": self._sent_bytes() // PACKET_BYTES,
                }
            ],
            "bottleneck": "bottleneck",
            "probes": [{"name": "ping", "kind": "ping"}],
            "counters": {},
        } | self.manifest

    def _manifest_flow(self, flow: Flow) -> Mapping[str, Any]:
        segments = round(self.received(flow) / MSS)
        tcp = flow.kind == "tcp"
        return {
            "name": flow.name,
            "group": flow.group,
            "kind": flow.kind,
            "cc": flow.cc if tcp else None,
            "cc_asked": flow.cc if tcp else None,
            "start_s": flow.start_s,
            "stop_s": self._stop(flow),
            "bytes_asked": flow.bytes_asked,
            "bytes_received": self.received(flow),
            "fct_s": flow.fct_s,
            "retransmits": round(segments * flow.retransmit_rate) if tcp else None,
            "data_segs_out": segments if tcp else None,
            "connected": True,
            "completed": flow.fct_s is not None,
        }


def with_bbr(bench: Bench) -> "Measured":
    """The same with more socket fields: a smallest RTT of 20 ms, and BBR's gains over 10 s, with PROBE_RTT last."""
    return Measured(bench)


@dataclass
class Measured:
    """A bench whose flows report BBR's fields."""

    bench: Bench

    def make(self) -> Run:
        run = self.bench.make()
        is_probe_rtt = pl.col("time_ns") % (10 * NS) >= 9 * NS
        fields = {
            "min_rtt_ns": pl.lit(20_000_000, pl.Int64),
            "bbr_bw_bps": pl.col("delivery_rate_bps"),
            "bbr_pacing_gain": pl.when(pl.col("time_ns") < NS).then(2.885).otherwise(1.0),
            "bbr_cwnd_gain": pl.when(pl.col("time_ns") < NS).then(2.885).when(is_probe_rtt).then(1.0).otherwise(2.0),
        }
        flows = run.flows.with_columns(**fields)
        return Run(run.folder, run.manifest, flows, run.queues, run.probes)


def alternating_rate(period_s: float, high_bps: float, low_bps: float, *, first: bool = True) -> Rate:
    """A square wave: `high` for half a period, `low` for the other; the second group gets the reverse."""
    return lambda times: np.where(((times % period_s) < period_s / 2) == first, high_bps, low_bps)


def sawtooth(low: float, high: float, period_s: float) -> Rate:
    """Rises linearly from low to high, periodically."""
    return lambda times: low + (high - low) * ((times % period_s) / period_s)


def alternating(duration_s: float = 60.0, period_s: float = 10.0, sample_s: float = 0.01) -> Bench:
    """Two BBR and two CUBIC flows at 80 Mbit/s that alternate, as in the scenario `cyclic`."""
    flows = [
        Flow(
            f"{cc}-{number}",
            cc,
            rate_bps=alternating_rate(period_s, 34e6, 4e6, first=cc == "bbr"),
            cwnd=sawtooth(20 + 30 * number, 100 + 30 * number, 2.0 + number),
            rtt_ms=sawtooth(15 + number, 35 + number, 2.0),
            cc=cc,
            retransmit_rate=0.01 if cc == "bbr" else 0.002,
        )
        for cc in ("bbr", "cubic")
        for number in (1, 2)
    ]
    return Bench(
        flows,
        duration_s,
        sample_s,
        rate_bps=80e6,
        queue_packets=sawtooth(75, 150, 2.0),
        qdisc="bfifo limit 225000",
        drops=2000,
        ping_ms=sawtooth(14, 36, 2.0),
    )


def _at(value: float | Rate, times: Floats) -> Floats:
    return value(times) if callable(value) else np.full(times.size, float(value))


def _with_schema(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The table with all columns of its schema; missing ones are null."""
    columns = [
        pl.col(column).cast(kind) if column in frame.columns else pl.lit(None, kind).alias(column)
        for column, kind in TABLES[name].items()
    ]
    return frame.select(columns)


def with_manifest(run: Run, **keys: Any) -> Run:
    """The run with these keys in its manifest."""
    return run.replaced(manifest=run.manifest | keys)


def with_flow(run: Run, number: int, **keys: Any) -> Run:
    """The run with these keys in a flow's entry."""
    return _with_entry(run, "flows", number, keys)


def with_queue(run: Run, number: int, **keys: Any) -> Run:
    """The run with these keys in a queue's entry."""
    return _with_entry(run, "queues", number, keys)


def _with_entry(run: Run, name: str, number: int, keys: dict[str, Any]) -> Run:
    entries = list(run.manifest[name])
    entries[number] |= keys
    return with_manifest(run, **{name: entries})
