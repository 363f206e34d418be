"""All hosts of a run: sends and receives messages, with a heartbeat every second.

An agent that receives nothing for ten seconds restores its host and exits; the same limit applies here. There is one
thread and no polling: it sleeps until data arrives or the next heartbeat is due.
"""

import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from dumbbell.engines.remote.agent_connection import AgentConnection
from dumbbell.engines.remote.clock_offset import Reading
from dumbbell.engines.remote.frames import Frame, order
from dumbbell.errors import DumbbellError, HostError, HostLost
from dumbbell.plan.planning import RemoteHost

__all__ = ["HostGroup", "connect_hosts"]

BEAT_S = 1.0
SILENCE_S = 10.0
CONNECT_S = 60.0
"""Time limit for the shell's greeting and the transfer of the agent (two megabytes)."""
ANSWER_S = 30.0


class HostGroup:
    """The connections to all hosts."""

    def __init__(self, connections: Mapping[str, AgentConnection], tick: Callable[[], None]) -> None:
        """`connections` by role; `tick` is called at least once a second and may raise."""
        self.connections = connections
        self.tick = tick
        self.readings: dict[str, list[Reading]] = {role: [] for role in connections}
        self.samples_clocks = False
        """Does every heartbeat also read the clock?"""
        self._beat_s = 0.0
        self._requested_ns: dict[str, int] = {}
        self.changed = False
        """May a host have been changed already?"""

    def expect(self, role: str, kind: str, within_s: float = ANSWER_S) -> Frame:
        """The next frame of a host, which must be of this kind.

        Raises `HostError` or, if a host may have been changed, `HostLost`.
        """
        frame = self.next(role, within_s)
        if frame.kind == "restored" != kind:
            # The host's setup failed: its agent restores it first and sends the reason next, which `next` raises.
            frame = self.next(role, within_s)
        if frame.kind != kind:
            raise self._lost(self.connections[role], f"it sent '{frame.kind}' instead of '{kind}'")
        return frame

    def next(self, role: str, within_s: float) -> Frame:
        """The next frame of a host; raises like `expect`."""
        until_s = time.monotonic() + within_s
        connection = self.connections[role]
        while not connection.frames:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise self._lost(connection, f"no answer within {within_s:g} s")
            self.listen(left_s)
        return connection.frames.popleft()

    def read_clock(self, role: str) -> None:
        """Request a host's time and store the reading."""
        known = len(self.readings[role])
        self._request_clock(role)
        until_s = time.monotonic() + ANSWER_S
        while len(self.readings[role]) == known:
            if time.monotonic() > until_s:
                raise self._lost(self.connections[role], "it did not report its time")
            self.listen(1.0)

    def listen(self, most_s: float) -> None:
        """Exchange data once; raises if a host failed, disconnected, or has been silent for too long."""
        self.exchange(most_s)
        for connection in self.connections.values():
            for frame in connection.frames:
                if frame.kind == "failed":
                    raise self._failed(connection, str(frame.head.get("reason", "")))
            if connection.done:
                continue
            if connection.closed and not connection.frames:
                raise self._lost(connection, connection.why())
            if (
                connection.agent_ready
                and not connection.frames
                and time.monotonic() - connection.last_data_s > SILENCE_S
            ):
                raise self._lost(connection, f"no data for {SILENCE_S:g} s: the connection is lost")

    def exchange(self, most_s: float) -> None:
        """Read and write what is possible; sleep until then, at most until the next heartbeat."""
        now_s = time.monotonic()
        if now_s >= self._beat_s + BEAT_S:
            self._beat_s = now_s
            self._beat()
        self.tick()
        open_connections = [connection for connection in self.connections.values() if not connection.closed]
        readers = {connection.reads_from: connection for connection in open_connections}
        writers = {connection.writes_to: connection for connection in open_connections if connection.outbox}
        sleep_s = max(0.0, min(most_s, self._beat_s + BEAT_S - now_s))
        readable, writable, _ = select.select(list(readers), list(writers), [], sleep_s)
        answered_ns = time.monotonic_ns()
        for descriptor in readable:
            readers[descriptor].last_data_s = answered_ns / 1e9
            readers[descriptor].read()
        for descriptor in writable:
            writers[descriptor].write()
        self._keep_readings(answered_ns)

    def _beat(self) -> None:
        for role, connection in self.connections.items():
            if connection.agent_ready and not connection.closed:
                if self.samples_clocks and role not in self._requested_ns and not connection.frames:
                    self._request_clock(role)
                elif not connection.outbox:
                    connection.send(order("beat"))

    def _request_clock(self, role: str) -> None:
        connection = self.connections[role]
        connection.send(order("time"))
        self._requested_ns[role] = time.monotonic_ns()
        connection.write()

    def _keep_readings(self, answered_ns: int) -> None:
        for role, connection in self.connections.items():
            for frame in [frame for frame in connection.frames if frame.kind == "time"]:
                connection.frames.remove(frame)
                remote_ns, requested_ns = frame.head.get("now_ns"), self._requested_ns.pop(role, None)
                if isinstance(remote_ns, int) and requested_ns is not None:
                    self.readings[role].append(Reading(requested_ns, remote_ns, answered_ns))

    def _lost(self, connection: AgentConnection, why: str) -> DumbbellError:
        if self.changed:
            return HostLost(
                f"{connection.name}: {why}; the run is over, and every host restores its settings within "
                f"{SILENCE_S + 5:g} s"
            )
        return HostError(f"{connection.name}: {why}")

    def _failed(self, connection: AgentConnection, reason: str) -> DumbbellError:
        kind = HostLost if self.changed else HostError
        return kind(f"{connection.name}: {_with_help(reason)}")


@contextmanager
def connect_hosts(machines: Sequence[RemoteHost], agent: bytes, tick: Callable[[], None]) -> Iterator[HostGroup]:
    """Connect to all hosts and start an agent on each; closes the connections at the end of the block."""
    connections: dict[str, AgentConnection] = {}
    try:
        for machine in machines:
            connections[machine.role] = AgentConnection(machine, agent)
            connections[machine.role].last_data_s = time.monotonic()
        yield HostGroup(connections, tick)
    finally:
        for connection in connections.values():
            connection.disconnect()
        for connection in connections.values():
            connection.wait_closed()


_KIND_UNKNOWN = "Specified qdisc kind is unknown"


def _with_help(reason: str) -> str:
    """An agent's error with advice, if known."""
    if _KIND_UNKNOWN in reason:
        words = reason.split()
        kind = next(
            (word for word in words if word in ("netem", "htb", "fq", "fq_codel", "codel", "red", "cake")), "it"
        )
        return (
            f"{reason}; this kernel has no {kind} (CONFIG_NET_SCH_{kind.upper()}, modprobe sch_{kind}); "
            "--engine kernel has it"
        )
    return reason
