"""Experiments with every key: each is planned or refused, and random numbers come from where the caller says."""

import json
from pathlib import Path
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from dumbbell import _sim
from dumbbell.errors import DumbbellError
from dumbbell.plan import as_script, as_world, make, simulator_plan
from dumbbell.plan.draws import Draws
from dumbbell.plan.native_json import attachments_json, limits_json
from dumbbell.plan.remote import as_remote_script, plan_remote
from dumbbell.spec import parse
from dumbbell.spec.attachments import Attachments, read_script
from dumbbell.spec.document import read
from plan.drawn import documents, documents_for_hosts, traces

RANDOM = """
duration = "2s"
[path]
rtt = "20ms"
loss = "1%"
[path.bottleneck]
rate = "10mbit"
[[flows]]
cc = "cubic"
bytes = "1kB"
arrivals = "20/s"
[[flows]]
cc = "bbr"
count = 3
start_jitter = "100ms"
"""


class Recorded(Draws):
    """Keeps every number by its stream."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.table: dict[str, list[int]] = {}

    def uniform(self, stream: str, most: int) -> int:
        return self._kept(stream, super().uniform(stream, most))

    def interval_ns(self, stream: str, per_second: float) -> int:
        return self._kept(stream, super().interval_ns(stream, per_second))

    def bits(self, stream: str) -> int:
        return self._kept(stream, super().bits(stream))

    def _kept(self, stream: str, number: int) -> int:
        self.table.setdefault(stream, []).append(number)
        return number


def planned(draws: object) -> dict[str, Any]:
    experiment = parse(RANDOM, Path("mine.toml"))[0].experiment
    native = _sim.Plan(experiment, attachments_json(Attachments()), draws, limits_json())
    made: dict[str, Any] = json.loads(native.json())
    return made


def test_a_table_of_draws_gives_the_same_plan() -> None:
    recorded = Recorded(7)
    plan = planned(recorded)
    assert {stream.partition("/")[0] for stream in recorded.table} == {"arrivals", "start", "netem"}
    assert planned(json.dumps(recorded.table)) == plan
    assert planned(json.dumps(recorded.table | {"start/bbr": [0, 1, 2]})) != plan


def test_a_seed_draws_from_the_streams_of_the_simulator() -> None:
    first, again, other = planned(7), planned(7), planned(8)
    assert first == again
    for drawn in ("flows", "netem_seeds"):
        assert first[drawn] != other[drawn]
    assert len(first["flows"]) > 20


@given(documents(), traces(), st.integers(0, 2**63 - 1))
def test_an_experiment_is_planned_for_every_reader_or_refused(
    document: dict[str, Any], trace: tuple[tuple[int, int], ...], seed: int
) -> None:
    bottleneck = document["path"].get("bottleneck")
    if trace and bottleneck:
        bottleneck.pop("rate")
        bottleneck["trace"] = "rates"
    try:
        experiment = read(document, Path("any.toml"))[0].experiment
        commands = experiment.path.tc.commands if experiment.path.tc else ()
        script = read_script(list(commands), "eth0") if commands else None
        plan = make(experiment, Attachments(script, trace if bottleneck else ()), seed)
        names = {queue.name for queue in plan.queues}
        assert len(names) == len(plan.queues)
        assert {flow["name"] for flow in plan.for_agent()["flows"]} == {flow.name for flow in plan.flows}
        assert as_script(plan, "title").startswith("#!/bin/sh\n# title\n")
        assert {queue["name"] for queue in as_world(plan, seed)["queues"]} == names
        simulator_plan(plan, seed)
    except DumbbellError:
        event("refused")
    else:
        event("planned")


@given(documents_for_hosts())
def test_real_hosts_share_the_commands_of_a_plan(document: dict[str, Any]) -> None:
    try:
        remote = plan_remote(read(document, Path("any.toml"))[0], 1)
        parts = [remote.host_plan(machine.role) for machine in remote.hosts]
    except DumbbellError:
        event("refused")
        return
    event("planned")
    for key, planned in (("setup", remote.plan.setup), ("changes", remote.plan.changes)):
        assert sum(len(part[key]) for part in parts) == len(planned)
    ports = [flow.port for flow in remote.plan.flows]
    assert len(set(ports)) == len(ports)
    assert as_remote_script(remote, "title").startswith("#!/bin/sh\n# title\n")
