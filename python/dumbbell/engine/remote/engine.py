"""A run on real hosts, from the plan to the result folder.

```text
connect   an agent on every machine; each puts back what a crash before it left
check     what is there, before anything is changed
plan      each machine's part: a warden first, then disciplines and settings, then it listens
clocks    read until a short round trip was among them
begin     at one moment, by every machine's own clock
wait      each second a beat and a look at every clock
collect   everything is put back before the first record is sent
```

Whatever ends this, an error, Ctrl-C or SIGKILL, closes the lines, and then every machine puts back what was changed.
"""

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dumbbell import result
from dumbbell.engine.agent import agents_certificate, read_room, refuse_what_only_the_simulator_sees
from dumbbell.engine.base import Progress, Request
from dumbbell.engine.host_watch import LOOK_NS
from dumbbell.engine.permissions import Permissions
from dumbbell.engine.remote.check import asked, check, described
from dumbbell.engine.remote.clock import Comparison, Reading, compare
from dumbbell.engine.remote.frames import order
from dumbbell.engine.remote.join import join
from dumbbell.engine.remote.party import CONNECT_S, Party, gathered
from dumbbell.engine.remote.verdict import judged, watched
from dumbbell.engine.validity import Verdict
from dumbbell.errors import ExperimentError, HostError, HostLost
from dumbbell.machine.agent import agent
from dumbbell.plan.remote import RemotePlan, plan_remote
from dumbbell.publish import staged

__all__ = ["RemoteEngine"]

READINGS = 20
"""Of each clock before the beginning."""
LAST_READINGS = 5
"""Of each clock in the last seconds: the end's part of the drift."""
LEAST_HEAD_START_S = 0.5
"""Between the order to begin and the beginning; or ten of the longest round trips."""
SETTING_UP_S = 60.0
MARGIN_S = 90.0
"""Beyond the experiment's own time, until a warden puts everything back in any case."""
COLLECTING_S = 600.0
ENDS = ("sender", "receiver")
RECORDS = ("flows.bin", "queues.bin", "probes.bin", "machine.jsonl", "end.json")
CLOCK = "real (CLOCK_MONOTONIC of every machine): the same seed gives the same experiment, not the same bytes"


class RemoteEngine:
    """Runs experiments on the hosts that they name."""

    name = "host"
    real_time = True

    def __init__(self, allowed: Permissions) -> None:
        """Find the agent now, so that its absence is told before anything else happens."""
        self.allowed = allowed
        self.agent = agent()

    def run(self, request: Request, progress: Progress) -> Path:
        """Run one experiment; see `Engine.run`."""
        began = time.perf_counter()
        self.allowed.check_hosts(request.case)
        plan = plan_remote(request.case, request.seed)
        refuse_what_only_the_simulator_sees(request, plan.plan)
        _refuse_wishes(request)
        with staged(request.out) as folder:
            rooms = {machine.role: folder / "hosts" / machine.role for machine in plan.machines}
            for room in rooms.values():
                room.mkdir(parents=True)
            told = _Told(plan, rooms, progress)
            with gathered(plan.machines, self.agent.read_bytes(), told.tick) as party:
                told.live(party)
            progress(plan.plan.duration_ns / 1e9)
            lived = time.perf_counter()
            joined = join(rooms, folder / "hosts", told.clocks)
            _, tables, end, named = read_room(folder / "hosts", plan.plan)
            measured = watched(plan, rooms, named, tables)
            verdict = judged(plan, end, named, tables, measured, joined)
            verdict = verdict.beside(told.verdict)
            birth = agents_certificate(self.name, self.agent, request, plan.plan, end, named, tables, verdict)
            birth |= {
                "kernel": {"release": told.facts["sender"]["release"], "version": told.facts["sender"]["version"],
                           "unseeded": True},
                "clock": CLOCK,
                "machines": {
                    machine.role: {"ssh": machine.ssh, "devices": list(machine.devices), "address": machine.address}
                    | described(told.facts[machine.role])
                    | {"clock": told.clocks[machine.role].as_json()} | measured[machine.role]
                    for machine in plan.machines
                },
                "clock_error_s": joined.clock_error_ns / 1e9,
                "phases_s": {"host": lived - began, "decode": time.perf_counter() - lived},
                "wall_s": time.perf_counter() - began,
            }  # fmt: skip
            shutil.rmtree(folder / "hosts")
            result.write(folder, birth, tables)
        return request.out


class _Told:
    """One run as it goes on: what the machines told."""

    def __init__(self, plan: RemotePlan, rooms: Mapping[str, Path], progress: Progress) -> None:
        self.plan = plan
        self.rooms = rooms
        self.progress = progress
        self.facts: dict[str, Mapping[str, Any]] = {}
        self.clocks: dict[str, Comparison] = {}
        self.verdict = Verdict([], [])
        """What the machines said of themselves."""
        self.begins_ns: int | None = None

    def tick(self) -> None:
        """How far is it? May raise, when somebody has pressed Ctrl-C."""
        seconds = 0.0 if self.begins_ns is None else (time.monotonic_ns() - self.begins_ns) / 1e9
        self.progress(min(max(seconds, 0.0), self.plan.plan.duration_ns / 1e9))

    def live(self, party: Party) -> None:
        """All of it."""
        self._connect(party)
        self._check(party)
        self._set_up(party)
        for role in party.lines:
            for _ in range(READINGS):
                party.read_clock(role)
        before = {role: list(readings) for role, readings in party.readings.items()}
        self._begin(party, before)
        self._wait(party)
        for role in party.lines:
            self._collect(party, role)
        for role, readings in before.items():
            self.clocks[role] = compare(readings, party.readings[role][len(readings) :][-LAST_READINGS:])

    def _connect(self, party: Party) -> None:
        for role, line in party.lines.items():
            for sentence in party.expect(role, "hello", CONNECT_S).head.get("put_back", []):
                self.verdict.warnings.append(f"{line.name}: put back what a run before had left: {sentence}")

    def _check(self, party: Party) -> None:
        for machine in self.plan.machines:
            party.lines[machine.role].send(order("look", **asked(self.plan, machine)))
        for machine in self.plan.machines:
            self.facts[machine.role] = party.expect(machine.role, "facts").head
            try:
                self.verdict.warnings.extend(check(self.plan, machine, self.facts[machine.role]))
            except (KeyError, TypeError, ValueError) as error:
                raise HostError(f"{party.lines[machine.role].name}: its facts can't be read: {error!r}") from None

    def _set_up(self, party: Party) -> None:
        """Everybody listens before anything begins."""
        party.changed = True
        within_ms = round(self.plan.plan.duration_ns / 1e6 + MARGIN_S * 1e3)
        for machine in self.plan.machines:
            part = self.plan.part(machine.role) | {"machine_ns": max(LOOK_NS, self.plan.plan.sample_ns)}
            body = json.dumps(part).encode()
            party.lines[machine.role].send(order("plan", body, bytes=len(body), within_ms=within_ms))
        for machine in self.plan.machines:
            party.expect(machine.role, "ready", SETTING_UP_S)

    def _begin(self, party: Party, readings: Mapping[str, Sequence[Reading]]) -> None:
        slowest_ns = max(reading.round_trip_ns for each in readings.values() for reading in each)
        self.begins_ns = time.monotonic_ns() + max(round(LEAST_HEAD_START_S * 1e9), 10 * slowest_ns)
        for role, each in readings.items():
            party.lines[role].send(order("begin", at_ns=self.begins_ns + compare(each).offset_ns))
        party.reads_clocks = True

    def _wait(self, party: Party) -> None:
        """Until both ends have ended; a router, which knows of no flow, is told then."""
        until_s = time.monotonic() + self.plan.plan.duration_ns / 1e9 + SETTING_UP_S
        while not all(party.lines[role].frames for role in ENDS):
            if time.monotonic() > until_s:
                raise HostLost(
                    "the experiment has not ended in its time; every machine puts back what was changed on it"
                )
            party.listen(1.0)
        party.reads_clocks = False
        for role, line in party.lines.items():
            if role not in ENDS:
                line.send(order("end"))

    def _collect(self, party: Party, role: str) -> None:
        for difference in party.expect(role, "restored", SETTING_UP_S).head.get("differences", []):
            self.verdict.invalid.append(f"{party.lines[role].name}: it is not as it was: {difference}")
        while (frame := party.next(role, COLLECTING_S)).kind != "done":
            if frame.kind != "file" or frame.head.get("name") not in RECORDS:
                raise HostLost(f"{party.lines[role].name}: it sent what nobody had asked for")
            (self.rooms[role] / str(frame.head["name"])).write_bytes(frame.body)


def _refuse_wishes(request: Request) -> None:
    """What can be looked at on namespaces of our own, but not on somebody's machines."""
    wishes = [
        (request.capture is not None, "--pcap", request.capture),
        (request.inside.sockets_ns is not None, "--sockets", None),
        (request.inside.counters_ns is not None, "--counters", None),
        (bool(request.inside.trace), "--trace", ", ".join(request.inside.trace)),
        (request.typed is not None or request.session is not None, "exec", None),
    ]
    for wished, key, value in wishes:
        if wished:
            raise ExperimentError(
                "real hosts hold other people's connections too, which nobody looks into from here",
                key=key, value=None if value is None else str(value), right="leave it out, or --engine kernel",
            )  # fmt: skip
