"""Every column decoded from raw records with known fields."""

# ruff: noqa: E501 — each row of a table is one line
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dumbbell import _sim
from dumbbell.linux import FLOW_RECORD, PROBE_RECORD, QUEUE_RECORD
from dumbbell.plan import Plan, Queue, make
from dumbbell.results.reader import FLOWS, PROBES, QUEUES
from dumbbell.results.tables import NativeTable
from dumbbell.spec import parse
from dumbbell.spec.attachments import Attachments

NONE, VEGAS, DCTCP, BBR, UDP = 0, 3, 9, 16, 0xFFFF
NEVER = 2**64 - 1

TEXT = """
duration = "10s"
[path]
rtt = "10ms"
[path.bottleneck]
rate = "10mbit"
[[flows]]
cc = "bbr"
bytes = 1000000
[[flows]]
cc = "vegas"
[[flows]]
cc = "dctcp"
[[flows]]
kind = "udp"
rate = "1mbit"
[[probes]]
[[probes]]
kind = "udp"
"""


@pytest.fixture
def plan() -> Plan:
    return make(parse(TEXT, Path("known.toml"))[0].experiment, Attachments(), 1)


INFO = {
    "state": 1, "ca_state": 3, "retransmits": 9, "backoff": 2, "options": 8 | 7, "flags": 1,
    "rto": 204_000, "snd_mss": 1448, "unacked": 50, "sacked": 7, "lost": 3, "retrans": 2, "rtt": 13_500, "rttvar": 250,
    "snd_ssthresh": 77, "snd_cwnd": 88, "reordering": 5, "total_retrans": 11,
    "pacing_rate": 1_000_000, "bytes_acked": 4_000_000_000_000, "segs_out": 101, "notsent_bytes": 102, "min_rtt": 13_000,
    "data_segs_out": 103, "delivery_rate": 2_000_000, "busy_time": 900, "rwnd_limited": 800, "sndbuf_limited": 700,
    "delivered": 104, "delivered_ce": 105, "bytes_sent": 5_000_000_000_000, "bytes_retrans": 106,
    "dsack_dups": 107, "reord_seen": 108, "snd_wnd": 109,
}  # fmt: skip
COLUMNS = {
    "state": 1, "ca_state": "recovery", "cwnd_packets": 88, "cwnd_bytes": 88 * 1448,
    "ssthresh_packets": 77, "rtt_ns": 13_500_000,
    "rttvar_ns": 250_000, "min_rtt_ns": 13_000_000, "rto_ns": 204_000_000, "inflight_packets": 50 - 7 - 3 + 2,
    "inflight_bytes": 42 * 1448, "unacked_packets": 50, "sacked_packets": 7, "lost_packets": 3, "retrans_out_packets": 2,
    "retrans_packets": 11, "mss_bytes": 1448, "pacing_rate_bps": 8_000_000, "delivery_rate_bps": 16_000_000,
    "app_limited": True, "bytes_sent": 5_000_000_000_000, "bytes_acked": 4_000_000_000_000, "bytes_retrans": 106,
    "segs_out": 101, "data_segs_out": 103, "delivered_packets": 104, "delivered_ce_packets": 105,
    "reordering_packets": 5, "reord_seen": 108, "snd_wnd_bytes": 109, "notsent_bytes": 102, "busy_ns": 900_000,
    "rwnd_limited_ns": 800_000, "sndbuf_limited_ns": 700_000, "backoff": 2, "ecn": True, "dsack_dups": 107,
}  # fmt: skip
CONTROLLERS = [column for column in FLOWS if column.startswith(("bbr_", "vegas_", "dctcp_"))]


def record(
    time_ns: int = 0, flow: int = 1, kind: int = NONE, received: int = 123, cc: bytes = b"", **info: int
) -> np.ndarray:
    records = np.zeros(1, FLOW_RECORD)
    records["time_ns"], records["flow"], records["cc_kind"], records["bytes_received"] = time_ns, flow, kind, received
    records["info_bytes"], records["rcv_space"] = 256, 65_536
    records["cc"] = np.void(cc.ljust(32, b"\0"))
    for name, value in info.items():
        records["info"][name] = value
    return records


def flow_table(plan: Plan, records: bytes) -> pl.DataFrame:
    return NativeTable("flows", plan.flow_table(records)).frame()


def probe_table(plan: Plan, records: bytes) -> pl.DataFrame:
    return NativeTable("probes", plan.probe_table(records)).frame()


def queue_table(plan: Plan, records: bytes, named: list[Queue], kinds: list[str]) -> pl.DataFrame:
    return NativeTable("queues", plan.queue_table(records, named, kinds)).frame()


def flows(plan: Plan, *records: np.ndarray) -> pl.DataFrame:
    return flow_table(plan, b"".join(each.tobytes() for each in records))


def row(plan: Plan, **fields: Any) -> dict[str, Any]:
    return flows(plan, record(**fields)).row(0, named=True)


def test_records_have_the_sizes_that_the_agent_writes() -> None:
    """record.rs: 32 bytes of header, 32 of the controller, 256 of tcp_info; 56 of a queue; 32 of a probe."""
    assert (FLOW_RECORD.itemsize, QUEUE_RECORD.itemsize, PROBE_RECORD.itemsize) == (32 + 32 + 256, 56, 32)
    assert FLOW_RECORD.fields is not None
    info = FLOW_RECORD.fields["info"][0]
    assert info.fields is not None
    # Offsets in Linux's struct tcp_info (include/uapi/linux/tcp.h).
    offsets = {
        "rto": 8,
        "unacked": 24,
        "rtt": 68,
        "snd_cwnd": 80,
        "pacing_rate": 104,
        "min_rtt": 148,
        "delivery_rate": 160,
        "bytes_sent": 200,
        "snd_wnd": 228,
    }
    assert {name: info.fields[name][1] for name in offsets} == offsets


def test_every_column_of_a_tcp_flow(plan: Plan) -> None:
    got = row(plan, time_ns=10_000_000, **INFO)
    head = {"time_ns": 10_000_000, "flow": "vegas", "group": "vegas", "bytes_received": 123, "rcv_space_bytes": 65_536}
    assert got == head | COLUMNS | dict.fromkeys(
        [*CONTROLLERS, "cc_phase", "datagrams_lost", "jitter_ns", "one_way_delay_ns"]
    )
    assert set(got) == set(FLOWS)


def test_values_unknown_to_the_kernel_are_null(plan: Plan) -> None:
    got = row(plan, snd_ssthresh=0x7FFFFFFF, min_rtt=0xFFFFFFFF, pacing_rate=NEVER, rtt=0)
    assert [got[name] for name in ("ssthresh_packets", "min_rtt_ns", "pacing_rate_bps", "rtt_ns")] == [None] * 4
    assert (got["ecn"], got["app_limited"], got["ca_state"]) == (False, False, "open")


def test_inflight_is_never_below_zero(plan: Plan) -> None:
    got = row(plan, unacked=1, sacked=2, snd_mss=1448)
    assert (got["inflight_packets"], got["inflight_bytes"]) == (0, 0)


@pytest.mark.parametrize(("number", "name"), list(enumerate(["open", "disorder", "cwr", "recovery", "loss"])))
def test_ca_states_have_names(plan: Plan, number: int, name: str) -> None:
    assert row(plan, ca_state=number)["ca_state"] == name


def controllers(got: dict[str, Any]) -> dict[str, Any]:
    return {name: got[name] for name in CONTROLLERS if got[name] is not None}


def test_bbr_columns(plan: Plan) -> None:
    info = np.zeros(1, _sim.RECORDS["tcp_bbr_info"])
    info["bw_lo"], info["bw_hi"], info["min_rtt"], info["pacing_gain"], info["cwnd_gain"] = 5, 1, 13_000, 320, 512
    assert controllers(row(plan, kind=BBR, cc=info.tobytes())) == {
        "bbr_bw_bps": (2**32 + 5) * 8,
        "bbr_min_rtt_ns": 13_000_000,
        "bbr_pacing_gain": 1.25,
        "bbr_cwnd_gain": 2.0,
    }


def test_vegas_columns(plan: Plan) -> None:
    info = np.zeros(1, _sim.RECORDS["tcpvegas_info"])
    info["enabled"], info["rttcnt"], info["rtt"], info["minrtt"] = 1, 4, 15_000, 13_000
    assert controllers(row(plan, kind=VEGAS, cc=info.tobytes())) == {
        "vegas_enabled": True,
        "vegas_rttcnt": 4,
        "vegas_rtt_ns": 15_000_000,
        "vegas_minrtt_ns": 13_000_000,
    }


def test_dctcp_columns(plan: Plan) -> None:
    info = np.zeros(1, _sim.RECORDS["tcp_dctcp_info"])
    info["enabled"], info["ce_state"], info["alpha"], info["ab_ecn"], info["ab_tot"] = 1, 1, 256, 1000, 4000
    assert controllers(row(plan, kind=DCTCP, cc=info.tobytes())) == {
        "dctcp_enabled": True,
        "dctcp_ce_state": 1,
        "dctcp_alpha": 0.25,
        "dctcp_ab_ecn_bytes": 1000,
        "dctcp_ab_tot_bytes": 4000,
    }


def test_a_udp_flow_fills_its_bytes_and_nothing_else(plan: Plan) -> None:
    records = record(time_ns=5, flow=3, kind=UDP, received=900)
    raw = bytearray(records.tobytes())
    raw[64:72] = (1000).to_bytes(8, "little")
    got = flow_table(plan, bytes(raw)).row(0, named=True)
    assert {name: value for name, value in got.items() if value is not None} == {
        "time_ns": 5, "flow": "udp", "group": "udp", "bytes_sent": 1000, "bytes_received": 900,
        "datagrams_lost": 0, "jitter_ns": 0, "one_way_delay_ns": 0,
    }  # fmt: skip


def test_the_fin_does_not_count_as_a_byte_of_a_sized_flow(plan: Plan) -> None:
    assert row(plan, flow=0, received=1_000_001)["bytes_received"] == 1_000_000
    assert row(plan, flow=0, received=999_999)["bytes_received"] == 999_999
    assert row(plan, flow=1, received=1_000_001)["bytes_received"] == 1_000_001


def test_rows_are_in_order_of_time_and_then_of_flow(plan: Plan) -> None:
    order = [(20, 1), (10, 2), (20, 0), (10, 0), (0, 3)]
    table = flows(plan, *(record(time_ns=time, flow=flow) for time, flow in order))
    assert table.select("time_ns", "flow").rows() == [
        (0, "udp"),
        (10, "bbr"),
        (10, "dctcp"),
        (20, "bbr"),
        (20, "vegas"),
    ]


def test_no_records_give_empty_tables_with_every_column(plan: Plan) -> None:
    assert flow_table(plan, b"").schema == pl.Schema(FLOWS)
    assert probe_table(plan, b"").schema == pl.Schema(PROBES)
    assert queue_table(plan, b"", [], []).schema == pl.Schema(QUEUES)


def sampled(plan: Plan, queue_plans: list[Queue], kinds: list[str], *fields: dict[str, Any]) -> list[dict[str, Any]]:
    records = np.zeros(len(fields), QUEUE_RECORD)
    for number, values in enumerate(fields):
        for name, value in values.items():
            records[number][name] = value
    return queue_table(plan, records.tobytes(), queue_plans, kinds).rows(named=True)


def test_every_column_of_a_queue(plan: Plan) -> None:
    queue = Queue("bottleneck", "router", "right", "10:", "codel", under_test=True, rates=((0, 8_000_000),))
    fields = {"time_ns": 7, "queue": 0, "qlen": 3, "backlog": 4500, "drops": 5, "requeues": 99, "overlimits": 6,
              "sent_bytes": 10**12, "sent_packets": 10**10, "marks": 17}  # fmt: skip
    assert sampled(plan, [queue], ["codel"], fields) == [
        {
            "time_ns": 7, "queue": "bottleneck", "kind": "codel", "under_test": True, "backlog_bytes": 4500,
            "backlog_packets": 3, "sent_bytes": 10**12, "sent_packets": 10**10, "drops_packets": 5, "marks_packets": 17,
            "overlimits": 6, "rate_bps": 8_000_000, "delay_ns": 4_500_000,
        }
    ]  # fmt: skip


def test_queues_without_marking_have_null_marks(plan: Plan) -> None:
    queue = Queue("q", "router", "right", "10:", "pfifo")
    got = sampled(plan, [queue], ["pfifo"], {"backlog": 1500, "marks": NEVER})[0]
    assert (got["marks_packets"], got["rate_bps"], got["delay_ns"], got["under_test"]) == (None, None, None, False)


def test_queues_have_the_order_of_the_plan(plan: Plan) -> None:
    first, second = plan.queues[:2]
    extra = Queue("router.left.8001", "router", "left", "8001:", "pfifo")
    found, fields = (
        [extra, second, first],
        [{"time_ns": time, "queue": number} for time in (5, 9) for number in range(3)],
    )
    records = np.zeros(len(fields), QUEUE_RECORD)
    for number, values in enumerate(fields):
        records[number]["time_ns"], records[number]["queue"] = values["time_ns"], values["queue"]
    table = queue_table(plan, records.tobytes(), found, ["pfifo"] * 3)
    assert table["queue"].to_list() == [first.name, second.name, extra.name] * 2
    assert plan.in_order(found) == [first, second, extra]


def test_the_rate_follows_changes(plan: Plan) -> None:
    """A sample at the time of a change has the new rate."""
    queue = Queue("q", "router", "right", "10:", "pfifo", rates=((0, 8_000_000), (100, 4_000_000)))
    got = sampled(plan, [queue], ["pfifo"], *({"time_ns": time, "backlog": 1000} for time in (0, 99, 100, 101)))
    assert [each["rate_bps"] for each in got] == [8_000_000, 8_000_000, 4_000_000, 4_000_000]
    assert [each["delay_ns"] for each in got] == [1_000_000, 1_000_000, 2_000_000, 2_000_000]


def test_every_column_of_a_probe(plan: Plan) -> None:
    records = np.array(
        [(1, 4, 300, 340, 400), (0, 1, 100, NEVER, 150), (0, 2, 200, 220, NEVER), (0, 3, 250, NEVER, NEVER)],
        PROBE_RECORD,
    )
    table = probe_table(plan, records.tobytes())
    assert table.schema == pl.Schema(PROBES)
    assert table.rows() == [
        (100, "ping-1", "ping", 1, 50, None, None),
        (200, "ping-1", "ping", 2, None, 20, None),
        (250, "ping-1", "ping", 3, None, None, None),
        (300, "udp-2", "udp", 4, 100, 40, 60),
    ]


def test_an_unplanned_qdisc_is_named_after_its_location() -> None:
    planned = Queue("bottleneck", "router", "right", "10:", "pfifo limit 10")
    found = [
        {"host": "router", "device": "right", "handle": "10:", "kind": "pfifo"},
        {"host": "sender", "device": "right", "handle": "8001:", "kind": "fq"},
    ]
    assert [queue.name for queue in _sim.End({"queues": found}).named_queues([planned])] == [
        "bottleneck",
        "sender.right.8001",
    ]
