"""Pure functions of the remote engine: frames, clocks, preflight checks, ssh errors, joined records."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.engines.agent_connection import LAUNCH, Frame, Inbox, InvalidFrame, command, explained, order
from dumbbell.engines.host_group import check, connect_hosts, facts_request
from dumbbell.engines.remote_records import Comparison, Reading, compare, join
from dumbbell.errors import HostError, ToolMissing
from dumbbell.linux import FLOW_RECORD, NEVER, PROBE_RECORD, QUEUE_RECORD
from dumbbell.plan import RemotePlan, plan_remote
from dumbbell.spec.document import read

PLAN: dict[str, Any] = {
    "duration": "5s",
    "path": {"rtt": "0ms", "bottleneck": {"rate": "10mbit"}},
    "flows": [{"cc": "cubic"}, {"cc": "bbr"}],
    "hosts": {
        "sender": {"ssh": "one", "address": "192.168.7.1", "device": "eth1"},
        "receiver": {"ssh": "two", "address": "192.168.8.2", "device": "eth5"},
        "router": {"ssh": "three", "to_receiver": "eth2", "to_sender": "eth3"},
    },
}


def plan() -> RemotePlan:
    return plan_remote(read(PLAN, Path("x.toml"))[0], 1)


# --- frames


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(["beat", "file", "done"]), st.binary(max_size=300))), st.data())
def test_frames_are_parsed_from_fragments(frames: list[tuple[str, bytes]], data: st.DataObject) -> None:
    stream = b"".join(order(kind, body, bytes=len(body)) for kind, body in frames)
    inbox, parsed = Inbox(), []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        inbox.add(stream[:cut])
        stream = stream[cut:]
        while (frame := inbox.frame()) is not None:
            parsed.append((frame.kind, frame.body))
    assert parsed == frames


@given(st.binary(max_size=400))
def test_any_bytes_are_a_frame_or_an_error(data: bytes) -> None:
    inbox = Inbox()
    inbox.add(data + b"\n")
    try:
        while (frame := inbox.frame()) is not None:
            assert isinstance(frame, Frame)
    except InvalidFrame:
        pass


@pytest.mark.parametrize("length", [-1, 1 << 60, True, "9", None, 1.5])
def test_an_excessive_length_is_an_error(length: object) -> None:
    inbox = Inbox()
    inbox.add(json.dumps({"kind": "file", "bytes": length}).encode() + b"\n")
    with pytest.raises(InvalidFrame):
        inbox.frame()


# --- clocks


@given(
    st.integers(-(10**15), 10**15),
    st.lists(st.tuples(st.integers(0, 10**8), st.integers(0, 10**8)), min_size=1, max_size=30),
)
def test_the_offset_is_within_its_error(offset_ns: int, delays_ns: list[tuple[int, int]]) -> None:
    now_ns, readings = 10**15, []
    for forward_ns, reverse_ns in delays_ns:
        readings.append(Reading(now_ns, now_ns + forward_ns + offset_ns, now_ns + forward_ns + reverse_ns))
        now_ns += 10**9
    found = compare(readings)
    assert abs(found.offset_ns - offset_ns) <= found.error_ns + 1
    assert found.error_ns == -(-min(forward + reverse for forward, reverse in delays_ns) // 2)


def test_clock_drift_is_measured() -> None:
    first = [Reading(0, 1_000_500, 1_000)]
    last = [Reading(10**9, 10**9 + 3_000_500, 10**9 + 1_000)]
    assert compare(first, last) == Comparison(1_000_000, 500, 2_000_000)


# --- ssh


def test_the_remote_script_is_valid_posix_shell(tmp_path: Path) -> None:
    """The script executes the program it receives, in a new folder."""
    assert "'" not in LAUNCH
    program = b'#!/bin/sh\necho "$1 $2 $(ls $(dirname $0)) $(wc -c < $0)"\n'
    done = subprocess.run(
        ["sh", "-c", LAUNCH], input=f"{len(program)}\n".encode() + program + b"more", capture_output=True,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), "SSH_CONNECTION": "a b"}, timeout=30, check=True,
    )  # fmt: skip
    greeting, stderr = done.stdout.decode().splitlines()
    assert greeting.startswith("dumbbell-shell Linux ")
    assert stderr == f"remote a b agent {len(program)}"


def test_an_incomplete_agent_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", LAUNCH], input=b"100\nshort", capture_output=True,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)}, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 6
    assert list(tmp_path.iterdir()) == []


def test_the_user_s_ssh_is_called_non_interactively() -> None:
    ssh_command = command("lab", {"DUMBBELL_SSH": f"{sys.executable} -F cfg"})
    assert ssh_command[:3] == [sys.executable, "-F", "cfg"]
    assert "BatchMode=yes" in ssh_command
    assert ssh_command[-3:-1] == ["--", "lab"]
    with pytest.raises(ToolMissing):
        command("lab", {"DUMBBELL_SSH": "/no/such/ssh"})


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        ("root@x: Permission denied (publickey).", "refused the login"),
        ("Host key verification failed.", "log in once by hand: ssh lab"),
        ("ssh: Could not resolve hostname lab: Name or service not known", "no such host name"),
        ("ssh: connect to host lab port 22: No route to host", "no route"),
        ("ssh: connect to host lab port 22: Connection refused", "sshd"),
        ("ssh: connect to host lab port 22: Connection timed out", "did not answer"),
        ("something else", "ssh ended with status 255: something else"),
    ],
)
def test_ssh_failures_are_explained(stderr: str, message: str) -> None:
    assert message in explained("lab", 255, stderr)


# --- host group

FAILING_HOST = """#!/bin/sh
echo "dumbbell-shell Linux $(uname -m) root"
read -r count
head -c "$count" > /dev/null
echo '{"kind": "hello"}'
while read -r order; do
  case "$order" in
    *plan*) echo '{"kind": "restored", "differences": []}' ;;
    *time*) echo '{"kind": "failed", "reason": "no such qdisc"}' ;;
  esac
done
"""


def test_a_host_that_fails_while_it_is_set_up_is_reported_with_its_own_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It restores itself, reports that, and sends the reason afterwards: here only when the next order arrives."""
    script = tmp_path / "ssh"
    script.write_text(FAILING_HOST)
    script.chmod(0o755)
    monkeypatch.setenv("DUMBBELL_SSH", str(script))
    machine = plan().hosts[0]
    with connect_hosts([machine], b"the agent's program", lambda: None) as host_group:
        connection = host_group.connections[machine.role]
        host_group.expect(machine.role, "hello")
        connection.send(order("plan"))
        while not connection.frames:
            host_group.listen(1.0)
        connection.send(order("time"))
        with pytest.raises(HostError, match=r"\(one\): no such qdisc$"):
            host_group.expect(machine.role, "ready")


# --- checks


def facts(role: str, **other: object) -> dict[str, Any]:
    devices = plan().host(role).devices
    address = plan().host(role).address

    def link(**keys: object) -> str:
        properties = {"flags": ["UP"], "operstate": "UP", "mtu": 1500, "addr_info": [{"local": address}]}
        return json.dumps([{}, properties | keys])

    routes = [json.dumps([{"dev": device}]) for device in devices]
    return {
        "release": "6.12", "version": "#1", "host": "h", "cpu": "c", "cores": 4, "clocksource": "tsc", "governor": "",
        "hypervisor": False, "memory_available_bytes": 1 << 30, "forwards": [True, True], "missing_tools": [],
        "controllers": ["bbr", "cubic"], "devices": {device: link() for device in devices}, "routes": routes,
        "control": json.dumps([{"dev": "eth0"}]), "sysctls": {},
    } | other  # fmt: skip


@pytest.mark.parametrize("role", ["sender", "router", "receiver"])
def test_a_suitable_host_passes(role: str) -> None:
    assert check(plan(), plan().host(role), facts(role)) == []


@pytest.mark.parametrize(
    ("role", "other", "message"),
    [
        ("sender", {"missing_tools": ["tc"]}, "'tc' is missing; install it"),
        ("sender", {"devices": {"eth1": None}}, "no device 'eth1'"),
        ("sender", {"devices": {"eth1": json.dumps([{"flags": [], "mtu": 1500}])}}, "is down"),
        ("sender", {"devices": {"eth1": json.dumps([{"flags": ["UP"], "mtu": 9000}])}}, "has mtu 9000"),
        ("sender", {"devices": {"eth1": json.dumps([{"flags": ["UP"], "mtu": 1500}])}}, "the address 192.168.7.1"),
        ("sender", {"routes": [None]}, "no route to 192.168.8.2"),
        ("sender", {"routes": [json.dumps([{"dev": "eth0"}])]}, "leave through 'eth0', not 'eth1'"),
        ("sender", {"controllers": ["cubic"]}, "no congestion control 'bbr'"),
        ("sender", {"memory_available_bytes": 1 << 16}, "sample less often"),
        ("router", {"forwards": [False, True]}, "net.ipv4.ip_forward=1"),
    ],
)
def test_each_missing_property_is_reported(role: str, other: dict[str, Any], message: str) -> None:
    with pytest.raises(HostError) as caught:
        check(plan(), plan().host(role), facts(role, **other))
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{role} (")


def test_ssh_through_the_device_under_test_is_a_warning() -> None:
    warnings = check(plan(), plan().host("sender"), facts("sender", control=json.dumps([{"dev": "eth1"}])))
    assert "the ssh connection uses 'eth1'" in warnings[0]


@pytest.mark.slow
@given(st.text(max_size=60) | st.recursive(st.none() | st.integers(), st.lists).map(json.dumps))
def test_any_output_of_ip_is_parsed_or_an_error(output: str) -> None:
    with suppress(HostError):
        check(plan(), plan().host("sender"), facts("sender", devices={"eth1": output}, control=output))


def test_a_router_s_request_has_both_routes() -> None:
    assert facts_request(plan(), plan().host("router"))["routes"] == [[None, "192.168.8.2"], [None, "192.168.7.1"]]


# --- the joined records


def write_records(folder: Path, flows: list[tuple[int, int, int]], probes: list[tuple[int, int, int, int]]) -> None:
    """Rows of flows: time, flow, bytes received; of probes: sequence, sent, arrived, answered."""
    folder.mkdir(parents=True)
    records = np.zeros(len(flows), FLOW_RECORD)
    for row, (time_ns, flow, received) in zip(records, flows, strict=True):
        row["time_ns"], row["flow"], row["bytes_received"] = time_ns, flow, received
    records.tofile(folder / "flows.bin")
    queue = np.zeros(1, QUEUE_RECORD)
    queue.tofile(folder / "queues.bin")
    sent = np.zeros(len(probes), PROBE_RECORD)
    for row, (sequence, *times) in zip(sent, probes, strict=True):
        row["sequence"], row["sent_ns"], row["arrived_ns"], row["answered_ns"] = sequence, *times
    sent.tofile(folder / "probes.bin")
    report: dict[str, Any] = {"name": "f", "cc": "cubic", "error": None, "completed_ns": None, "exchanges_ns": [],
              "bytes_received": flows[-1][2] if flows else 0, "started_ns": 0}  # fmt: skip
    end = {
        "duration_ns": 100, "flows": [report], "counters": {"": {"dev": folder.name}}, "counters_before": {"": {}},
        "queues": [{"host": "", "device": "eth1", "handle": "1:", "kind": "tbf"}], "seen": {}, "machine": {},
        "machine_programs": [],
        "settings": {"machine": {"a": "1"}, "hosts": {"": {}}, "parameters": {}},
    }  # fmt: skip
    (folder / "end.json").write_text(json.dumps(end))


def joined(tmp_path: Path, error_ns: int) -> Any:
    write_records(tmp_path / "sender", [(10, 0, 0), (20, 0, 0), (30, 0, 0)], [(0, 5, NEVER, 25), (1, 15, NEVER, NEVER)])
    write_records(tmp_path / "receiver", [(20, 0, 700), (40, 0, 900)], [(0, NEVER, 12, NEVER), (1, NEVER, 22, NEVER)])
    clocks = {role: Comparison(0, error_ns, 0) for role in ("sender", "receiver")}
    folders = {role: tmp_path / role for role in ("sender", "receiver")}
    return join(folders, tmp_path, clocks)


def test_a_sender_s_row_has_the_receiver_s_latest_values(tmp_path: Path) -> None:
    joined(tmp_path, 1)
    rows = np.fromfile(tmp_path / "flows.bin", FLOW_RECORD)
    assert rows["bytes_received"].tolist() == [0, 700, 700]
    end = json.loads((tmp_path / "end.json").read_text())
    assert end["flows"][0]["bytes_received"] == 900
    assert [queue["host"] for queue in end["queues"]] == ["sender", "receiver"]
    assert np.fromfile(tmp_path / "queues.bin", QUEUE_RECORD)["queue"].tolist() == [0, 1]


def test_one_way_delays_are_known_if_the_clock_offset_is(tmp_path: Path) -> None:
    known = joined(tmp_path, 4)
    assert known.one_way_known
    assert known.shortest_rtt_ns == 20
    assert np.fromfile(tmp_path / "probes.bin", PROBE_RECORD)["arrived_ns"].tolist() == [12, 22]


def test_one_way_delays_are_omitted_if_the_clocks_are_too_inaccurate(tmp_path: Path) -> None:
    assert not joined(tmp_path, 5).one_way_known
    rows = np.fromfile(tmp_path / "probes.bin", PROBE_RECORD)
    assert rows["arrived_ns"].tolist() == [NEVER, NEVER]
    assert rows["answered_ns"].tolist() == [25, NEVER]
