"""The agent's stream of TCP connections: frames and tables."""

import io
import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import LocalHostError
from dumbbell.host.tcp_connections import HEADER, MAGIC, ROW, Frame, Stream, frames, sockets, table


def encoded(frame: Frame) -> bytes:
    """A frame as the agent writes it."""
    times = (frame.monotonic_ns, frame.realtime_ns, frame.took_ns)
    head = np.array([(MAGIC, *times, len(frame.records), ROW.itemsize)], HEADER)
    return head.tobytes() + frame.records.tobytes()


def frame_of(raw: bytes, time_ns: int) -> Frame:
    rows = len(raw) // ROW.itemsize
    return Frame(time_ns, time_ns + 1, 7, np.frombuffer(raw[: rows * ROW.itemsize], ROW))


RAW = st.integers(0, 3).flatmap(lambda rows: st.binary(min_size=rows * ROW.itemsize, max_size=rows * ROW.itemsize))
FRAMES = st.lists(st.builds(frame_of, RAW, st.integers(0, 2**63)), max_size=3)


@contextmanager
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        closing(socket.create_connection(server.getsockname())) as client,
        closing(server.accept()[0]) as accepted,
    ):
        yield client, accepted


@given(FRAMES)
def test_frames_are_decoded_as_encoded(expected: list[Frame]) -> None:
    decoded = list(frames(io.BytesIO(b"".join(map(encoded, expected)))))
    assert [(f.monotonic_ns, f.realtime_ns, f.took_ns, f.records.tobytes()) for f in decoded] == [
        (f.monotonic_ns, f.realtime_ns, f.took_ns, f.records.tobytes()) for f in expected
    ]


@given(FRAMES, st.data())
def test_a_stream_truncated_within_a_frame_is_an_error(expected: list[Frame], data: st.DataObject) -> None:
    parts = list(map(encoded, expected))
    stream = b"".join(parts)
    ends = {sum(map(len, parts[:number])) for number in range(len(parts) + 1)}
    cut = data.draw(st.integers(0, len(stream)))
    if cut in ends:
        assert len(list(frames(io.BytesIO(stream[:cut])))) == sorted(ends).index(cut)
    else:
        with pytest.raises(LocalHostError, match="truncated"):
            list(frames(io.BytesIO(stream[:cut])))


@given(st.binary(max_size=2 * ROW.itemsize))
def test_any_bytes_are_an_error_or_no_frame(raw: bytes) -> None:
    try:
        decoded = list(frames(io.BytesIO(raw)))
    except LocalHostError:
        return
    assert not decoded or raw.startswith(MAGIC)


@pytest.mark.slow
@given(st.integers(0, 3).flatmap(lambda n: st.binary(min_size=n * ROW.itemsize, max_size=n * ROW.itemsize)))
def test_any_rows_become_a_table(raw: bytes) -> None:
    frame = frame_of(raw, 0)
    found = table(frame)
    assert len(found) == len(frame.records)
    assert found.columns == table(frame_of(b"", 0)).columns


def test_the_types_of_the_table_do_not_depend_on_its_rows() -> None:
    with connection():
        assert sockets("all").schema == table(frame_of(b"", 0)).schema


def test_a_connection_has_its_addresses_bytes_and_controller() -> None:
    with connection() as (client, accepted):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        client.sendall(b"x" * 5000)
        accepted.recv(5000, socket.MSG_WAITALL)
        port, peer = client.getsockname()[1], client.getpeername()[1]
        row = sockets("established").row(by_predicate=pl.col("local_port") == port, named=True)
    assert (row["local_address"], row["peer_address"], row["peer_port"]) == ("127.0.0.1", "127.0.0.1", peer)
    assert (row["cc"], row["state"], row["family"], row["uid"]) == ("reno", "established", "ipv4", os.getuid())
    assert row["bytes_sent"] == 5000
    assert row["rtt_ns"] > 0


def test_the_controller_s_columns_are_filled() -> None:
    if "bbr" not in Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text():
        pytest.skip("this host permits bbr to no user")
    with connection() as (client, _):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bbr")
        row = sockets().row(by_predicate=pl.col("local_port") == client.getsockname()[1], named=True)
    assert row["bbr_pacing_gain"] > 0
    assert row["bbr_cwnd_gain"] > 0


def test_ipv6_is_included_and_listeners_only_on_request() -> None:
    with closing(socket.socket(socket.AF_INET6)) as server:
        server.bind(("::1", 0))
        server.listen()
        is_server = pl.col("local_port") == server.getsockname()[1]
        row = sockets("all").row(by_predicate=is_server, named=True)
        assert sockets("connected").filter(is_server).is_empty()
    assert (row["family"], row["local_address"], row["state"]) == ("ipv6", "::1", "listen")
    assert row["cwnd_packets"] is None
    assert row["pmtu_bytes"] is None


def test_an_agent_samples_repeatedly_and_ends_with_its_block() -> None:
    with connection(), Stream(10**6, states="connected") as stream:
        samples = iter(stream)
        first, second = next(samples), next(samples)
    assert second.monotonic_ns >= first.monotonic_ns + 10**6
    assert second.realtime_ns > first.realtime_ns


def test_a_missing_namespace_is_an_error() -> None:
    with pytest.raises(LocalHostError, match=r"'no-such-namespace'.*ip netns list"):
        sockets(netns="no-such-namespace")


def test_another_namespace_has_other_sockets() -> None:
    if os.geteuid() != 0:
        pytest.skip("entering a namespace needs root")
    with connection() as (client, _):
        port = client.getsockname()[1]
        assert port in sockets(netns=str(os.getpid()))["local_port"]
