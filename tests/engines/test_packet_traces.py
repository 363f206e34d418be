"""Packet traces agree with the run's tables."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dumbbell as db
from dumbbell.engines import Request, Simulator
from dumbbell.engines.sim import PacketTraces, Window, packet_traces
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.results.result import Run
from dumbbell.spec import Case, load, parse, scenarios
from engines.measured import CUBIC, experiment

MS = 10**6
COLUMNS = {
    "flow": pl.String,
    "kind": pl.String,
    "direction": pl.String,
    "sequence_bytes": pl.Int64,
    "size_bytes": pl.Int64,
    "retransmit": pl.Boolean,
    "marked": pl.Boolean,
    "sent_ns": pl.Int64,
    "queue": pl.String,
    "queued_ns": pl.Int64,
    "dequeued_ns": pl.Int64,
    "departed_ns": pl.Int64,
    "received_ns": pl.Int64,
    "dropped_ns": pl.Int64,
    "dropped_at": pl.String,
}
"""Those of docs/packet-traces.md, in order."""
ODD_SAMPLE = 'sample = "9999991ns"'
"""Avoids samples at the same instant as other events."""


def request_of(case: Case, seed: int = 1) -> Request:
    return Request("mine", case, seed, Path("never"))


def request_from(text: str) -> Request:
    return request_of(parse(text, Path("mine.toml"))[0])


def built_in(name: str, duration_ns: int) -> Request:
    return request_of(load(scenarios()[name], [f"duration={duration_ns}ns"])[0])


def run_with_traces(request: Request) -> tuple[Run, pl.DataFrame]:
    run = Simulator().simulate(request)
    return run, packet_traces(request, Window(0, request.case.experiment.duration)).packets


def queued(packets: pl.DataFrame, queue: str, time_ns: int) -> int | None:
    """Packets in a queue; None if one arrived or left at this instant."""
    in_queue = packets.filter(pl.col("queue") == queue)
    out = pl.coalesce("dequeued_ns", "dropped_ns")
    if in_queue.filter((pl.col("queued_ns") == time_ns) | (out == time_ns)).height:
        return None
    return in_queue.filter((pl.col("queued_ns") < time_ns) & (out.is_null() | (out > time_ns))).height


def backlogs(run: Run, queue: str) -> list[tuple[int, int]]:
    return list(run.queues.filter(pl.col("queue") == queue).select("time_ns", "backlog_packets").iter_rows())


QDISCS = [
    "pfifo limit 30",
    "bfifo limit 40000",
    "codel limit 60",
    "fq_codel limit 40",
    "red limit 60000 min 9000 max 30000 avpkt 1500 bandwidth 8mbit",
    "tbf rate 8mbit burst 4k limit 30k",
]


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(QDISCS),
    st.lists(st.sampled_from(["cubic", "bbr", "reno"]), min_size=1, max_size=3),
    st.sampled_from(["", 'loss = "1%"', 'duplicate = "2%"']),
    st.integers(1, 1000),
)
def test_packets_agree_with_the_samples_of_the_queue(qdisc: str, ccs: list[str], path: str, seed: int) -> None:
    flows = "".join(f'[[flows]]\nname = "{cc}-{number}"\ncc = "{cc}"\n' for number, cc in enumerate(ccs))
    rate = None if qdisc.startswith("tbf") else "8mbit"
    text = experiment(flows, rate=rate, qdisc=qdisc, path=path, duration="1s", top=ODD_SAMPLE)
    run, packets = run_with_traces(replace(request_from(text), seed=seed))
    compared = [(queued(packets, "bottleneck", time), backlog) for time, backlog in backlogs(run, "bottleneck")]
    comparable = [(in_queue, backlog) for in_queue, backlog in compared if in_queue is not None]
    assert len(comparable) > 90
    assert [in_queue for in_queue, _ in comparable] == [backlog for _, backlog in comparable]
    assert sum(backlog for _, backlog in comparable) > 0
    # A shaper also counts drops of the queue below it; the trace names the inner queue.
    drops = {queue.name: queue.drops for queue in run.manifest.queues if not queue.name.endswith("-shaper")}
    dropped = dict(packets["dropped_at"].drop_nulls().value_counts().iter_rows())
    assert {name: count for name, count in drops.items() if count} == dropped


@pytest.mark.parametrize("name", ["cyclic", "two-classes-script", "parking-lot", "wifi", "leo"])
def test_a_time_window_of_a_scenario(name: str) -> None:
    request = built_in(name, 1500 * MS)
    got = packet_traces(request, Window(700 * MS, 900 * MS))
    packets = got.packets
    assert packets.schema == COLUMNS
    assert packets.height > 100
    assert got.left_out == 0
    assert packets["sent_ns"].is_sorted()
    assert packets.filter(
        (pl.col("sent_ns") > 900 * MS) | (pl.coalesce("received_ns", "dropped_ns") < 700 * MS)
    ).is_empty()
    for earlier, later in [
        ("sent", "queued"),
        ("queued", "dequeued"),
        ("dequeued", "departed"),
        ("departed", "received"),
    ]:
        assert packets.filter(pl.col(f"{later}_ns") < pl.col(f"{earlier}_ns")).is_empty()
    names = {flow.name for flow in Simulator().prepare(request).plan.flows}
    assert set(packets.filter(pl.col("kind") == "data")["flow"]) <= names


def test_a_packet_is_in_the_first_queue_under_test_on_its_path() -> None:
    packets = run_with_traces(built_in("parking-lot", 2000 * MS))[1]
    data = packets.filter((pl.col("kind") == "data") & pl.col("queue").is_not_null())
    first = {flow: set(rows["queue"]) for (flow,), rows in data.group_by("flow")}
    assert first == {"long": {"bottleneck"}, "at-first": {"bottleneck"}, "at-second": {"second"}, "at-third": {"third"}}
    assert (
        packets.filter(pl.col("dropped_at").is_in(["second", "third"]) & (pl.col("flow") == "long"))[
            "dequeued_ns"
        ].null_count()
        == 0
    )


def test_classes_of_one_device_are_distinguished() -> None:
    request = built_in("two-classes-script", 1000 * MS)
    packets = run_with_traces(request)[1].filter((pl.col("kind") == "data") & pl.col("queue").is_not_null())
    by_class = packets.group_by("flow").agg(pl.col("queue").unique())
    assert all(len(queues) == 1 for queues in by_class["queue"])
    assert len({queues[0] for queues in by_class["queue"]}) == 2


def test_data_have_sequence_numbers_and_acks_have_ack_numbers() -> None:
    request = request_from(experiment('[[flows]]\ncc = "cubic"\nbytes = "100kB"\n', top=ODD_SAMPLE + "\nprobes = []"))
    run, packets = run_with_traces(request)
    data = packets.filter(pl.col("kind") == "data", ~pl.col("retransmit"))
    assert data["sequence_bytes"].to_list() == list(range(0, 100_000, 1448))
    assert set(data["direction"]) == {"forward"}
    acks = packets.filter((pl.col("kind") == "ack") & (pl.col("direction") == "backward"))
    assert acks["sequence_bytes"].is_sorted()
    # Bytes after the last whole segment are acknowledged with the FIN.
    assert acks["sequence_bytes"].max() == data["sequence_bytes"].max()
    assert acks["queue"].null_count() == acks.height
    assert run.manifest.flows[0]["bytes_received"] == 100_000
    assert set(packets.filter(pl.col("kind") == "control")["sequence_bytes"]) == {None}


def test_marks_are_in_the_traces() -> None:
    request = request_from(
        experiment(CUBIC, qdisc="codel limit 1000 ecn", top="tcp = { ecn = 'classic' }", duration="3s")
    )
    run, packets = run_with_traces(request)
    marks = run.queues.filter(pl.col("queue") == "bottleneck")["marks_packets"].max()
    assert 0 < packets["marked"].sum() == marks


def test_rows_are_limited_and_missing_ones_are_counted() -> None:
    request = request_from(experiment())
    window = Window(500 * MS, 800 * MS)
    all_rows = packet_traces(request, window)
    limited_rows = packet_traces(request, replace(window, max_rows=50))
    assert limited_rows.packets.equals(all_rows.packets.head(50))
    assert limited_rows.left_out == all_rows.packets.height - 50


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (Window(5, 4), "start exceeds its stop"),
        (Window(-1, 4), "start exceeds its stop"),
        (Window(0, 2 * 10**9 + 1), "stop exceeds the experiment's duration"),
        (Window(0, 1, -1), "number of rows is negative"),
    ],
)
def test_an_invalid_window_is_refused(window: Window, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        packet_traces(request_from(experiment()), window)


def test_the_simulator_s_refusals_are_raised() -> None:
    with pytest.raises((ExperimentError, PlanError)):
        packet_traces(request_from(experiment(qdisc="pfifo_fast", top='record = "nonsense"')), Window(0, 1))


def test_the_python_api() -> None:
    got = db.packet_traces(
        db.experiment(
            {
                "duration": "2s",
                "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": "pfifo limit 50"}},
                "flows": [{"cc": "bbr"}],
            }
        ),
        start="1s",
        stop="1.1s",
        path__rtt="10ms",
    )
    assert isinstance(got, PacketTraces)
    delay_ns = (got.packets["received_ns"] - got.packets["sent_ns"]).filter(got.packets["kind"] == "ack")
    assert delay_ns.min() == 10 * MS
    with pytest.raises(ExperimentError, match="a time without a unit"):
        db.packet_traces(db.scenario("cyclic"), start="3")
