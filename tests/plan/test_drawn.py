"""Experiments with every key: each is planned or refused, and a seed gives its random numbers."""

import json
from pathlib import Path
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from dumbbell.errors import DumbbellError
from dumbbell.plan import make, plan_remote
from dumbbell.spec import parse
from dumbbell.spec.attachments import Attachments
from dumbbell.spec.document import read
from dumbbell.spec.units import Wrong
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


def test_a_seed_draws_starts_and_netem_seeds() -> None:
    experiment = parse(RANDOM, Path("mine.toml"))[0].experiment
    first, again, other = (make(experiment, Attachments(), seed) for seed in (7, 7, 8))
    assert first == again
    starts = [{flow.group: flow.start_ns for flow in plan.flows} for plan in (first, other)]
    assert all(starts[0][group] != starts[1][group] for group in ("cubic", "bbr"))
    assert first.for_agent() != other.for_agent()
    assert len(first.flows) > 20


@given(documents(), traces(), st.integers(0, 2**63 - 1))
def test_an_experiment_is_planned_for_every_reader_or_refused(
    document: dict[str, Any], trace: bytes, seed: int
) -> None:
    bottleneck = document["path"].get("bottleneck")
    if trace and bottleneck:
        bottleneck.pop("rate")
        bottleneck["rate_trace"] = "rates"
    try:
        experiment = read(document, Path("any.toml"))[0].experiment
        plan = make(experiment, Attachments({"path.bottleneck.rate_trace": trace}), seed)
        names = {queue.name for queue in plan.queues}
        assert len(names) == len(plan.queues)
        assert {flow["name"] for flow in json.loads(plan.for_agent())["flows"]} == {flow.name for flow in plan.flows}
        assert plan.script("title").startswith("#!/bin/sh\n# title\n")
        world = plan.for_simulator(seed).values()
        assert {queue["name"] for queue in world["queues"]} == names
    except (DumbbellError, Wrong):
        event("refused")
    else:
        event("planned")


@given(documents_for_hosts())
def test_real_hosts_share_the_commands_of_a_plan(document: dict[str, Any]) -> None:
    try:
        remote = plan_remote(read(document, Path("any.toml"))[0], 1)
        parts = [json.loads(remote.for_agent(machine.role)) for machine in remote.hosts]
    except DumbbellError:
        event("refused")
        return
    event("planned")
    for key, planned in (("setup", remote.plan.setup), ("changes", remote.plan.changes)):
        assert sum(len(part[key]) for part in parts) == len(planned)
    ports = [flow.port for flow in remote.plan.flows]
    assert len(set(ports)) == len(ports)
    assert remote.script("title").startswith("#!/bin/sh\n# title\n")
