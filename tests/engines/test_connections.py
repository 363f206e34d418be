"""Two sockets become one flow, in any order, with the sender being the end that sent more data."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell import _sim
from dumbbell.engines.connections import Connections, read_connections
from dumbbell.linux import FLOW_RECORD
from dumbbell.plan import plan_case
from dumbbell.spec import parse
from engines.measured import experiment

PROGRAMS = """
[[programs]]
name = "server"
on = "sender"
run = "a"
serves = 80
[[programs]]
name = "client"
on = "receiver"
run = "b"
"""
PLAN = plan_case(parse(experiment(PROGRAMS), Path("x.toml"))[0], 1)
HOSTS = {"10.0.1.1": "sender", "10.0.2.2": "receiver"}
PROGRAM = {"sender": 0, "receiver": 1}


def end_report(local: str, remote: str, seen_ns: int) -> dict[str, object]:
    host = HOSTS[local.split(":", maxsplit=1)[0]]
    return {
        "host": host, "local": local, "remote": remote, "program": PROGRAM[host], "cc": "bbr", "seen_ns": seen_ns,
        "gone_ns": None,
    }  # fmt: skip


def rows(number: int, sent: list[int], received: list[int]) -> np.ndarray:
    """One record every 10 ms."""
    records = np.zeros(len(sent), FLOW_RECORD)
    records["time_ns"] = (np.arange(len(sent)) + 1) * 10_000_000
    records["flow"] = number
    records["info"]["bytes_sent"] = sent
    records["bytes_received"] = received
    return records


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(1024, 1030), st.integers(0, 10**9), st.integers(0, 10**9), st.booleans()),
        min_size=1,
        max_size=8,
        unique_by=lambda each: each[0],
    )
)
def test_each_connection_is_one_flow_in_the_direction_of_its_data(
    connections: list[tuple[int, int, int, bool]],
) -> None:
    ends: list[dict[str, object]] = []
    records, expected = [], []
    for port, up, down, both in connections:
        server, client = "10.0.1.1:80", f"10.0.2.2:{port}"
        records.append(rows(len(ends), [0, down], [0, up + 1]))  # The FIN counts at the receiver.
        ends.append(end_report(server, client, 10))
        if both:
            records.append(rows(len(ends), [0, up], [0, down + 1]))
            ends.append(end_report(client, server, 10))
        expected.append((up, down, both))
    end = {"connections": ends, "duration_ns": PLAN.duration_ns}
    found = read(np.concatenate(records), end)
    assert len(found.reports) == len(connections) == len(found.plan.flows)
    assert len({flow.name for flow in found.plan.flows}) == len(connections)
    received_bytes = sorted(report["bytes_received"] for report in found.reports)
    assert received_bytes == sorted(max(up, down) if both else 0 for up, down, both in expected)
    for flow, report in zip(found.plan.flows, found.reports, strict=True):
        assert flow.group in ("server", "client")
        assert report["started_ns"] == 10
    assert set(found.records["flow"]) == set(range(len(connections)))


def read(records: np.ndarray, end: dict[str, object]) -> Connections:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "connections.bin").write_bytes(records.tobytes())
        return read_connections(Path(folder), PLAN, _sim.End(end))


def test_successive_connections_of_a_port_are_separate_flows() -> None:
    server, client = "10.0.1.1:80", "10.0.2.2:1024"
    ends = [
        end_report(server, client, 10),
        end_report(client, server, 10),
        end_report(server, client, 30),
        end_report(client, server, 30),
    ]
    records = [rows(0, [5], [0]), rows(1, [0], [5]), rows(2, [9], [0]), rows(3, [0], [9])]
    found = read(np.concatenate(records), {"connections": ends, "duration_ns": PLAN.duration_ns})
    assert [flow.name for flow in found.plan.flows] == ["server-1", "server-2"]
    assert [report["bytes_received"] for report in found.reports] == [5, 9]


def test_of_two_directions_the_one_that_sent_more_is_the_flow(tmp_path: Path) -> None:
    server, client, silent = "10.0.1.1:4433", "10.0.2.2:1024", "10.0.2.2:1025"
    pairs = [(client, server, 10), (server, client, 900), (silent, server, 5), (server, silent, 5)]
    flows, records = [], rows(0, [0] * len(pairs), [0] * len(pairs))
    for number, (source, destination, sent) in enumerate(pairs):
        hosts = [HOSTS[each.split(":")[0]] for each in (source, destination)]
        flows.append(
            {
                "sender": hosts[0], "receiver": hosts[1], "source": source, "destination": destination,
                "program": PROGRAM[hosts[0]], "first_ns": number, "last_ns": 50, "gone_ns": None, "sent_packets": 3,
                "bytes_received": sent,
            }
        )  # fmt: skip
        records["flow"][number] = number
        records["info"]["bytes_sent"][number] = 0
        # A UDP flow's record begins with its counters.
        records["info"][number : number + 1].view("<u8")[0] = sent
    (tmp_path / "datagrams.bin").write_bytes(records.tobytes())
    end = _sim.End({"udp": {"flows": flows}, "duration_ns": PLAN.duration_ns, "programs": [{}, {}]})
    found = read_connections(tmp_path, PLAN, end)
    # Of equal directions the first: it asked.
    assert [(flow.sender, flow.transport) for flow in found.plan.flows] == [("sender", "udp"), ("receiver", "udp")]
    assert [(report["bytes_received"], report["cc"]) for report in found.reports] == [(900, None), (5, None)]


def test_without_connections_nothing_changes(tmp_path: Path) -> None:
    found = read_connections(tmp_path / "none", PLAN, _sim.End({"connections": [], "duration_ns": 1}))
    assert (found.plan, found.reports, len(found.records)) == (PLAN, [], 0)
