"""Decodes the agent's raw records into tables, and adds each queue's rate and queueing delay.

`dumbbell.linux` has the layouts.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dumbbell import _sim
from dumbbell.linux import (
    BBR,
    BBR_INFO,
    BBR_UNIT,
    CA_STATES,
    DCTCP,
    DCTCP_ALPHA_ONE,
    DCTCP_INFO,
    FLOW_RECORD,
    INFINITE_SSTHRESH,
    NEVER,
    OPTION_ECN,
    PROBE_RECORD,
    QUEUE_RECORD,
    UDP,
    UDP_INFO,
    VEGAS,
    VEGAS_INFO,
)
from dumbbell.plan import Plan, Queue
from dumbbell.results.reader import FLOWS, PROBES, QUEUES

__all__ = [
    "FLOW_RECORD",
    "PROBE_RECORD",
    "QUEUE_RECORD",
    "controller_columns",
    "flows",
    "in_plan_order",
    "is_rate_limited",
    "name_queues",
    "probes",
    "queues",
    "transport_columns",
]


def is_rate_limited(number: np.ndarray, named: Sequence[Queue]) -> np.ndarray:
    """Rows where the rate limits the queue, and no netem: there backlog ÷ rate is the queueing delay."""
    return np.asarray(np.array([not queue.holds_netem for queue in named], dtype=np.bool_)[number])


def flows(file: Path, plan: Plan, more: np.ndarray | None = None) -> pl.DataFrame:
    """The table `flows` from `flows.bin` and `more` records of its layout."""
    records = np.fromfile(file, FLOW_RECORD)
    records = records if more is None else np.concatenate([records, more])
    records = records[np.lexsort((records["flow"], records["time_ns"]))]
    info, number = records["info"], records["flow"]
    tcp = records["cc_kind"] != UDP
    columns: dict[str, pl.Series] = {
        "time_ns": _series(records["time_ns"], pl.Int64),
        "flow": _names(number, [flow.name for flow in plan.flows]),
        "group": _names(number, [flow.group for flow in plan.flows]),
        **transport_columns(info, tcp),
        **controller_columns(records),
        "cc_phase": pl.Series(values=[None] * len(records), dtype=pl.String),
    }
    # A UDP flow's record has the bytes sent where a TCP flow's tcp_info begins.
    udp_sent = np.ascontiguousarray(info).view(UDP_INFO)["bytes_sent"].reshape(-1)
    columns["bytes_sent"] = _series(np.where(tcp, info["bytes_sent"], udp_sent), pl.Int64)
    columns["bytes_received"] = _series(_capped(records, plan), pl.Int64)
    columns["rcv_space_bytes"] = _series(records["rcv_space"], pl.UInt32, tcp)
    return pl.DataFrame({name: columns[name].cast(kind) for name, kind in FLOWS.items()}, schema=FLOWS)


def queues(file: Path, named: Sequence[Queue], kinds: Sequence[str], planned: Sequence[Queue] = ()) -> pl.DataFrame:
    """The table `queues` from `queues.bin`, in the plan's order as the simulator's; unplanned queues come last.

    `named` and `kinds` are in the order in which the agent found them.
    """
    records = np.fromfile(file, QUEUE_RECORD)
    records = records[np.lexsort((_ranks(named, planned)[records["queue"]], records["time_ns"]))]
    number, time = records["queue"], records["time_ns"].astype(np.int64)
    samples = (number.astype(np.uint32), time, records["backlog"].astype(np.int64))
    rate, delay = map(
        np.asarray, _sim.queue_rates([queue.limits for queue in named], *(each.tobytes() for each in samples))
    )
    known = rate > 0
    columns = {
        "time_ns": _series(time, pl.Int64),
        "queue": _names(number, [queue.name for queue in named]),
        "kind": _names(number, list(kinds)),
        "under_test": _series(np.array([queue.under_test for queue in named] or [False])[number], pl.Boolean),
        "backlog_bytes": _series(records["backlog"], pl.Int64),
        "backlog_packets": _series(records["qlen"], pl.UInt32),
        "sent_bytes": _series(records["sent_bytes"], pl.Int64),
        "sent_packets": _series(records["sent_packets"], pl.Int64),
        "drops_packets": _series(records["drops"], pl.Int64),
        "marks_packets": _series(records["marks"], pl.Int64, records["marks"] != NEVER),
        "overlimits": _series(records["overlimits"], pl.Int64),
        "rate_bps": _series(rate, pl.Int64, known),
        "delay_ns": _series(delay, pl.Int64, known & is_rate_limited(number, named)),
    }
    return pl.DataFrame(columns, schema=QUEUES)


def probes(file: Path, plan: Plan) -> pl.DataFrame:
    """The table `probes` from `probes.bin`, in order of sending."""
    records = np.fromfile(file, PROBE_RECORD)
    records = records[np.lexsort((records["probe"], records["sent_ns"]))]
    sent, arrived, answered = (records[key] for key in ("sent_ns", "arrived_ns", "answered_ns"))
    came, back = arrived != NEVER, answered != NEVER
    columns = {
        "sent_ns": _series(sent, pl.Int64),
        "probe": _names(
            records["probe"], [f"{probe.kind}-{number}" for number, probe in enumerate(plan.probes, start=1)]
        ),
        "kind": _names(records["probe"], [probe.kind for probe in plan.probes]),
        "seq": _series(records["sequence"], pl.Int64),
        "rtt_ns": _series(answered - sent, pl.Int64, back),
        "forward_ns": _series(arrived - sent, pl.Int64, came),
        "backward_ns": _series(answered - arrived, pl.Int64, came & back),
    }
    return pl.DataFrame(columns, schema=PROBES)


def name_queues(found: Sequence[dict[str, Any]], planned: Sequence[Queue]) -> list[Queue]:
    """The plan of each qdisc that the agent found; unplanned ones are named after their location."""
    by_location = {(queue.host, queue.device, queue.handle): queue for queue in planned}
    named = []
    for queue in found:
        location = (queue["host"], queue["device"], queue["handle"])
        fallback = Queue(f"{location[0]}.{location[1]}.{location[2].rstrip(':')}", *location, text=queue["kind"])
        named.append(by_location.get(location, fallback))
    return named


def in_plan_order(named: Sequence[Queue], planned: Sequence[Queue]) -> list[Queue]:
    """These queues in the plan's order; unplanned ones come last."""
    return [named[index] for index in np.argsort(_ranks(named, planned), kind="stable")]


def _ranks(named: Sequence[Queue], planned: Sequence[Queue]) -> np.ndarray:
    """The position of each queue in the plan."""
    position = {queue.name: number for number, queue in enumerate(planned)}
    return np.array([position.get(queue.name, len(planned)) for queue in named], np.int64)


def transport_columns(info: np.ndarray, tcp: np.ndarray) -> dict[str, pl.Series]:
    """Columns from `struct tcp_info`, with times in microseconds and rates in bytes per second."""
    pipe = info["unacked"].astype(np.int64) - info["sacked"] - info["lost"] + info["retrans"]
    pacing = info["pacing_rate"]
    plain = {
        "state": "state", "cwnd_packets": "snd_cwnd", "unacked_packets": "unacked", "sacked_packets": "sacked",
        "lost_packets": "lost", "retrans_out_packets": "retrans", "retrans_packets": "total_retrans",
        "mss_bytes": "snd_mss", "bytes_acked": "bytes_acked", "bytes_retrans": "bytes_retrans",
        "segs_out": "segs_out", "data_segs_out": "data_segs_out",
        "delivered_packets": "delivered", "delivered_ce_packets": "delivered_ce", "reordering_packets": "reordering",
        "reord_seen": "reord_seen", "snd_wnd_bytes": "snd_wnd", "notsent_bytes": "notsent_bytes", "backoff": "backoff",
        "dsack_dups": "dsack_dups",
    }  # fmt: skip
    micros = {
        "rtt_ns": "rtt", "rttvar_ns": "rttvar", "min_rtt_ns": "min_rtt", "rto_ns": "rto", "busy_ns": "busy_time",
        "rwnd_limited_ns": "rwnd_limited", "sndbuf_limited_ns": "sndbuf_limited",
    }  # fmt: skip
    columns = {name: _series(info[field], pl.Int64, tcp) for name, field in plain.items()}
    columns |= {name: _series(info[field].astype(np.int64) * 1000, pl.Int64, tcp) for name, field in micros.items()}
    unsent = info["min_rtt"] == 0xFFFFFFFF
    columns["min_rtt_ns"] = _series(info["min_rtt"].astype(np.int64) * 1000, pl.Int64, tcp & ~unsent)
    columns["rtt_ns"] = _series(info["rtt"].astype(np.int64) * 1000, pl.Int64, tcp & (info["rtt"] > 0))
    columns |= {
        "ca_state": _names(np.minimum(info["ca_state"], len(CA_STATES) - 1), list(CA_STATES), tcp),
        "ssthresh_packets": _series(info["snd_ssthresh"], pl.Int64, tcp & (info["snd_ssthresh"] < INFINITE_SSTHRESH)),
        "cwnd_bytes": _series(info["snd_cwnd"].astype(np.int64) * info["snd_mss"], pl.Int64, tcp),
        "inflight_packets": _series(np.maximum(pipe, 0), pl.Int64, tcp),
        "inflight_bytes": _series(np.maximum(pipe, 0) * info["snd_mss"], pl.Int64, tcp),
        "pacing_rate_bps": _series(np.where(pacing == NEVER, 0, pacing) * 8, pl.Int64, tcp & (pacing != NEVER)),
        "delivery_rate_bps": _series(info["delivery_rate"] * 8, pl.Int64, tcp),
        "app_limited": _series((info["flags"] & 1).astype(bool), pl.Boolean, tcp),
        "ecn": _series((info["options"] & OPTION_ECN) != 0, pl.Boolean, tcp),
    }
    return columns


def controller_columns(records: np.ndarray) -> dict[str, pl.Series]:
    """Columns from congestion control info; null for other controllers."""
    raw, kind = np.ascontiguousarray(records["cc"]), records["cc_kind"]
    bbr, vegas, dctcp = (raw.view(layout).reshape(-1) for layout in (BBR_INFO, VEGAS_INFO, DCTCP_INFO))
    is_bbr, is_vegas, is_dctcp = kind == BBR, kind == VEGAS, kind == DCTCP
    bandwidth = (bbr["bw_hi"].astype(np.uint64) << np.uint64(32)) | bbr["bw_lo"]
    return {
        "bbr_bw_bps": _series(bandwidth * 8, pl.Int64, is_bbr),
        "bbr_min_rtt_ns": _series(bbr["min_rtt"].astype(np.int64) * 1000, pl.Int64, is_bbr),
        "bbr_pacing_gain": _series(bbr["pacing_gain"] / BBR_UNIT, pl.Float64, is_bbr),
        "bbr_cwnd_gain": _series(bbr["cwnd_gain"] / BBR_UNIT, pl.Float64, is_bbr),
        "vegas_enabled": _series(vegas["enabled"] != 0, pl.Boolean, is_vegas),
        "vegas_rttcnt": _series(vegas["rttcnt"], pl.Int64, is_vegas),
        "vegas_rtt_ns": _series(vegas["rtt"].astype(np.int64) * 1000, pl.Int64, is_vegas),
        "vegas_minrtt_ns": _series(vegas["minrtt"].astype(np.int64) * 1000, pl.Int64, is_vegas),
        "dctcp_enabled": _series(dctcp["enabled"] != 0, pl.Boolean, is_dctcp),
        "dctcp_ce_state": _series(dctcp["ce_state"], pl.Int64, is_dctcp),
        "dctcp_alpha": _series(dctcp["alpha"] / DCTCP_ALPHA_ONE, pl.Float64, is_dctcp),
        "dctcp_ab_ecn_bytes": _series(dctcp["ab_ecn"], pl.Int64, is_dctcp),
        "dctcp_ab_tot_bytes": _series(dctcp["ab_tot"], pl.Int64, is_dctcp),
    }


def _capped(records: np.ndarray, plan: Plan) -> np.ndarray:
    """Bytes received in order; the kernel's counter includes the FIN's sequence number."""
    most = np.array(
        [flow.bytes if flow.bytes is not None else NEVER for flow in plan.flows] or [NEVER], dtype=np.uint64
    )
    capped: np.ndarray = np.minimum(records["bytes_received"], most[records["flow"]])
    return capped


def _series(values: np.ndarray, kind: type[pl.DataType], known: np.ndarray | None = None) -> pl.Series:
    target: Any = {pl.Int64: np.int64, pl.UInt32: np.uint32, pl.Float64: np.float64, pl.Boolean: np.bool_}[kind]
    return _where(known, pl.Series(values=np.ascontiguousarray(values).astype(target)))


def _names(numbers: np.ndarray, names: list[str], known: np.ndarray | None = None) -> pl.Series:
    """Names by index; null where `known` is false."""
    positions = pl.Series(values=np.ascontiguousarray(numbers).astype(np.uint32))
    return _where(known, pl.Series(values=names, dtype=pl.String).gather(positions))


def _where(known: np.ndarray | None, series: pl.Series) -> pl.Series:
    """The series, null where `known` is false."""
    if known is None or known.all():
        return series
    return pl.select(pl.when(pl.Series(values=np.ascontiguousarray(known))).then(series)).to_series()
