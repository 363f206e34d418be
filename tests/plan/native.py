"""Compares the plan in Rust with the plan in Python."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from dumbbell import _sim
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.plan import as_script, as_world, make
from dumbbell.plan.draws import Draws
from dumbbell.plan.experiment_json import attachments_json, experiment_json, limits_json
from dumbbell.plan.remote import plan_remote
from dumbbell.plan.remote_shell import as_remote_script
from dumbbell.spec.attachments import Attachments, read_attachments
from dumbbell.spec.document import Case
from dumbbell.spec.model import Experiment

MIN_TSO_SEGMENTS = 2
"""Linux's default."""
TITLE, NOTES = "a title", ["a note", "another\nnote"]


def outcome(make: Callable[[], Any]) -> Any:
    """What a function returns in terms of JSON, or its error."""
    try:
        made = make()
    except PlanError as error:
        # Rust names the path where Python named None.
        return {"plan": str(error).replace("'None' has no delay", "'path' has no delay")}
    except ExperimentError as error:
        return {"problem": error.problem, "key": error.key, "value": error.value, "right": error.right}
    except _sim.PlanRefused as refused:
        return json.loads(refused.args[0])
    return json.loads(made) if isinstance(made, str) and made[:1] in "{[" else json.loads(json.dumps(made))


def compare(experiment: Experiment, attachments: Attachments, seed: int) -> str:
    """Every output of both plans is equal, and so is every error. Returns `planned` or `refused`."""
    handed = experiment_json(experiment), attachments_json(attachments)
    native: list[_sim.Plan] = []
    mine: list[Any] = []

    def of_python() -> Any:
        mine.append(make(experiment, attachments, seed))
        return asdict(mine[0])

    def of_rust() -> Any:
        native.append(_sim.Plan(*handed, Draws(seed), limits_json()))
        return native[0].json()

    assert outcome(of_rust) == outcome(of_python)
    if not native:
        return "refused"
    plan, (rust,) = mine[0], native
    assert outcome(rust.for_agent) == outcome(plan.for_agent)
    assert outcome(lambda: rust.script(TITLE, NOTES)) == outcome(lambda: as_script(plan, TITLE, NOTES))
    assert_same_world(outcome(lambda: rust.commands_for_simulator(seed)), outcome(lambda: as_world(plan, seed)))
    return "planned"


def assert_same_world(rust: Any, python: Any) -> None:
    """Equal, but for a key that is more exact, and a default that Python writes when the experiment does."""
    if python.get("key") == "path":
        assert rust["key"].startswith(("path", "flows.", "changes."))
        rust = rust | {"key": "path"}
    for flow in python.get("flows", ()):
        for end in ("sender", "receiver"):
            settings = flow["traffic"].get("tcp", {}).get(end, {})
            if settings.get("min_tso_segments") == MIN_TSO_SEGMENTS:
                del settings["min_tso_segments"]
    assert rust == python


def compare_remote(case: Case, seed: int) -> str:
    """The same for real hosts."""
    handed = experiment_json(case.experiment), attachments_json(read_attachments(case))
    native: list[_sim.RemotePlan] = []
    mine: list[Any] = []

    def of_python() -> Any:
        mine.append(plan_remote(case, seed))
        return {"plan": asdict(mine[0].plan), "machines": [asdict(machine) for machine in mine[0].machines]}

    def of_rust() -> Any:
        native.append(_sim.RemotePlan(*handed, Draws(seed), limits_json()))
        return native[0].json()

    assert outcome(of_rust) == outcome(of_python)
    if not native:
        return "refused"
    plan, rust = mine[0], native[0]
    for machine in plan.machines:
        assert outcome(lambda role=machine.role: rust.part(role)) == outcome(lambda role=machine.role: plan.part(role))
    assert rust.script(TITLE, NOTES) == as_remote_script(plan, TITLE, NOTES)
    return "planned"
