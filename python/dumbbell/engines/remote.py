"""A run on real hosts, from the plan to the result folder.

```text
connect   start an agent on every host; each restores what a crashed one left
check     read the hosts' properties, before anything is changed
plan      send each host its plan: it starts a watchdog, configures qdiscs and settings, and listens
clocks    read the clocks until one round trip is short
begin     start at the same time, by each host's own clock
wait      heartbeat and clock reading every second
collect   the hosts are restored, then send their records
```

Whatever ends the run, including errors, Ctrl-C and SIGKILL, closes the connections, and every host restores itself.
"""

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dumbbell.engines.agent_connection import order
from dumbbell.engines.agent_engine import agent_entries, read_run_folder, refuse_simulator_only_options, run_of
from dumbbell.engines.base import Permissions, Progress, Request
from dumbbell.engines.host_group import CONNECT_S, HostGroup, check, connect_hosts, facts_request, host_entry
from dumbbell.engines.host_load import LOAD_SAMPLE_NS
from dumbbell.engines.remote_records import Comparison, Reading, compare, join, judge_remote_run, load_by_role
from dumbbell.engines.run_manifest import Verdict, manifest_of
from dumbbell.errors import ExperimentError, HostError, HostLost
from dumbbell.host.agent import agent
from dumbbell.plan import RemotePlan, plan_remote
from dumbbell.publish import staged
from dumbbell.results.result import Run, write_tables

__all__ = [
    "RemoteEngine",
]


READINGS = 20
"""Readings of each clock before the start."""
LAST_READINGS = 5
"""Readings of each clock in the last seconds, for the drift."""
LEAST_HEAD_START_S = 0.5
"""Minimum time between the order to start and the start; or ten times the longest round trip."""
SETTING_UP_S = 60.0
MARGIN_S = 90.0
"""Time beyond the experiment's duration after which watchdogs restore their hosts."""
COLLECTING_S = 600.0
ENDS = ("sender", "receiver")
RECORDS = ("flows.bin", "queues.bin", "probes.bin", "machine.jsonl", "end.json")
CLOCK = "real (CLOCK_MONOTONIC of every host): the same seed gives the same experiment, not the same bytes"


class RemoteEngine:
    """Runs experiments on the hosts they name."""

    name = "host"
    real_time = True

    def __init__(self, allowed: Permissions) -> None:
        """Find the agent now, so that a missing one is reported first."""
        self.allowed = allowed
        self.agent = agent()

    def run(self, request: Request, progress: Progress) -> Path:
        """Run one experiment; see `Engine.run`."""
        return self.run_and_keep(request, progress).folder

    def run_and_keep(self, request: Request, progress: Progress) -> Run:
        """See `Engine.run_and_keep`."""
        began = time.perf_counter()
        self.allowed.check_hosts(request.case)
        plan = plan_remote(request.case, request.seed)
        refuse_simulator_only_options(request, plan.plan)
        _refuse_recordings(request)
        with staged(request.out) as folder:
            host_folders = {machine.role: folder / "hosts" / machine.role for machine in plan.hosts}
            for host_folder in host_folders.values():
                host_folder.mkdir(parents=True)
            state = _RunState(plan, host_folders, progress)
            with connect_hosts(plan.hosts, self.agent.read_bytes(), state.tick) as host_group:
                state.run_steps(host_group)
            progress(plan.plan.duration_ns / 1e9)
            finished = time.perf_counter()
            joined = join(host_folders, folder / "hosts", state.clocks)
            _, tables, end, named = read_run_folder(folder / "hosts", plan.plan)
            measured = load_by_role(plan, host_folders, named, tables)
            verdict = judge_remote_run(plan, end, named, tables, measured, joined)
            verdict = verdict.combined(state.verdict)
            own = {
                **agent_entries(self.agent, plan.plan, end),
                "kernel": {"release": state.facts["sender"]["release"], "version": state.facts["sender"]["version"],
                           "unseeded": True},
                "clock": CLOCK,
                "machines": {
                    machine.role: {"ssh": machine.ssh, "devices": list(machine.devices), "address": machine.address}
                    | host_entry(state.facts[machine.role])
                    | {"clock": state.clocks[machine.role].as_json()} | measured[machine.role]
                    for machine in plan.hosts
                },
                "clock_error_s": joined.clock_error_ns / 1e9,
                "phases_s": {"host": finished - began, "decode": time.perf_counter() - finished},
                "wall_s": time.perf_counter() - began,
            }  # fmt: skip
            manifest = manifest_of(self.name, request, plan.plan, end, named, tables, verdict, own)
            shutil.rmtree(folder / "hosts")
            write_tables(folder, manifest, tables)
        return run_of(request, manifest, tables)


class _RunState:
    """State of one run: the hosts' reports."""

    def __init__(self, plan: RemotePlan, host_folders: Mapping[str, Path], progress: Progress) -> None:
        self.plan = plan
        self.host_folders = host_folders
        self.progress = progress
        self.facts: dict[str, Mapping[str, Any]] = {}
        """By role."""
        self.clocks: dict[str, Comparison] = {}
        self.verdict = Verdict()
        """Problems that the hosts reported."""
        self.begins_ns: int | None = None

    def tick(self) -> None:
        """Report progress. May raise when the user presses Ctrl-C."""
        seconds = 0.0 if self.begins_ns is None else (time.monotonic_ns() - self.begins_ns) / 1e9
        self.progress(min(max(seconds, 0.0), self.plan.plan.duration_ns / 1e9))

    def run_steps(self, host_group: HostGroup) -> None:
        """Run the steps of the module's table, in order."""
        self._connect(host_group)
        self._check(host_group)
        self._set_up(host_group)
        for role in host_group.connections:
            for _ in range(READINGS):
                host_group.read_clock(role)
        before = {role: list(readings) for role, readings in host_group.readings.items()}
        self._begin(host_group, before)
        self._wait(host_group)
        for role in host_group.connections:
            self._collect(host_group, role)
        for role, readings in before.items():
            self.clocks[role] = compare(readings, host_group.readings[role][len(readings) :][-LAST_READINGS:])

    def _connect(self, host_group: HostGroup) -> None:
        for role, connection in host_group.connections.items():
            for sentence in host_group.expect(role, "hello", CONNECT_S).head.get("put_back", []):
                left = f"{connection.name}: restored what an earlier run had left: {sentence}"
                self.verdict = self.verdict.combined(Verdict(warnings=[left]))

    def _check(self, host_group: HostGroup) -> None:
        for machine in self.plan.hosts:
            host_group.connections[machine.role].send(order("look", **facts_request(self.plan, machine)))
        for machine in self.plan.hosts:
            self.facts[machine.role] = host_group.expect(machine.role, "facts").head
            try:
                found = check(self.plan, machine, self.facts[machine.role])
                self.verdict = self.verdict.combined(Verdict(warnings=found))
            except (KeyError, TypeError, ValueError) as error:
                raise HostError(f"{host_group.connections[machine.role].name}: invalid facts: {error!r}") from None

    def _set_up(self, host_group: HostGroup) -> None:
        """Set up all hosts before anything starts."""
        host_group.changed = True
        within_ms = round(self.plan.plan.duration_ns / 1e6 + MARGIN_S * 1e3)
        for machine in self.plan.hosts:
            machine_ns = max(LOAD_SAMPLE_NS, self.plan.plan.sample_ns)
            body = self.plan.for_agent(machine.role, machine_ns=machine_ns).encode()
            host_group.connections[machine.role].send(order("plan", body, bytes=len(body), within_ms=within_ms))
        for machine in self.plan.hosts:
            host_group.expect(machine.role, "ready", SETTING_UP_S)

    def _begin(self, host_group: HostGroup, readings: Mapping[str, Sequence[Reading]]) -> None:
        slowest_ns = max(reading.round_trip_ns for each in readings.values() for reading in each)
        self.begins_ns = time.monotonic_ns() + max(round(LEAST_HEAD_START_S * 1e9), 10 * slowest_ns)
        for role, each in readings.items():
            host_group.connections[role].send(order("begin", at_ns=self.begins_ns + compare(each).offset_ns))
        host_group.samples_clocks = True

    def _wait(self, host_group: HostGroup) -> None:
        """Wait until both ends have ended, then end the router, which has no flows."""
        until_s = time.monotonic() + self.plan.plan.duration_ns / 1e9 + SETTING_UP_S
        while not all(host_group.connections[role].frames for role in ENDS):
            if time.monotonic() > until_s:
                raise HostLost("the experiment exceeded its time limit; every host restores its settings")
            host_group.listen(1.0)
        host_group.samples_clocks = False
        for role, connection in host_group.connections.items():
            if role not in ENDS:
                connection.send(order("end"))

    def _collect(self, host_group: HostGroup, role: str) -> None:
        for difference in host_group.expect(role, "restored", SETTING_UP_S).head.get("differences", []):
            changed = f"{host_group.connections[role].name}: not restored: {difference}"
            self.verdict = self.verdict.combined(Verdict([changed]))
        while (frame := host_group.next(role, COLLECTING_S)).kind != "done":
            if frame.kind != "file" or frame.head.get("name") not in RECORDS:
                raise HostLost(f"{host_group.connections[role].name}: it sent an unexpected file")
            (self.host_folders[role] / str(frame.head["name"])).write_bytes(frame.body)


def _refuse_recordings(request: Request) -> None:
    """Refuse recordings that are possible in namespaces but not on real hosts."""
    recording_plan = [
        (request.capture is not None, "--pcap", request.capture),
        (request.recordings.sockets_ns is not None, "--sockets", None),
        (request.recordings.counters_ns is not None, "--counters", None),
        (bool(request.recordings.trace), "--trace-event", ", ".join(request.recordings.trace)),
        (request.typed is not None or request.session is not None, "exec", None),
    ]
    for requested, key, value in recording_plan:
        if requested:
            raise ExperimentError(
                "this recording would include other users' data on a real host",
                key=key, value=None if value is None else str(value), right="leave it out, or --engine kernel",
            )  # fmt: skip
