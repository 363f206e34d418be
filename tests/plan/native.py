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
from dumbbell.spec.attachments import Attachments
from dumbbell.spec.model import Experiment

TITLE, NOTES = "a title", ["a note", "another\nnote"]


def outcome(make: Callable[[], Any]) -> Any:
    """What a function returns in terms of JSON, or its error."""
    try:
        made = make()
    except PlanError as error:
        return {"plan": str(error)}
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
    assert_same_world(outcome(lambda: rust.for_simulator(seed)), outcome(lambda: as_world(plan, seed)))
    return "planned"


def assert_same_world(rust: Any, python: Any) -> None:
    """Equal, but for a key that names the place more exactly."""
    if python.get("key") == "path":
        assert rust["key"].startswith(("path", "flows.", "changes."))
        rust = rust | {"key": "path"}
    assert rust == python
