"""An experiment on real hosts (`crates/experiment/src/plan/remote.rs`): which host runs which commands.

`dumbbell.engines.remote` reaches the hosts, and restores them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dumbbell import _sim
from dumbbell.errors import ExperimentError
from dumbbell.plan.model import Plan, plan_of
from dumbbell.plan.native_json import attachments_json, limits_json
from dumbbell.plan.refusals import refusals
from dumbbell.spec.attachments import Attachments, read_attachments
from dumbbell.spec.document import Case

__all__ = ["RemoteHost", "RemotePlan", "as_remote_script", "plan_remote"]


@dataclass(frozen=True)
class RemoteHost:
    """One real host."""

    role: str
    ssh: str
    devices: tuple[str, ...]
    """The only devices that tc changes."""
    address: str | None
    """Address of the device under test; None for a router."""


@dataclass(frozen=True)
class RemotePlan:
    """A plan whose hosts are real."""

    plan: Plan
    hosts: tuple[RemoteHost, ...]
    native: _sim.RemotePlan = field(repr=False, compare=False)

    def host(self, role: str) -> RemoteHost:
        """The host with this role."""
        return next(host for host in self.hosts if host.role == role)

    def host_plan(self, role: str) -> dict[str, Any]:
        """`plan.json` for the agent of one host, which knows no host's name."""
        with refusals():
            made: dict[str, Any] = json.loads(self.native.host_plan(role))
        return made


def plan_remote(case: Case, seed: int) -> RemotePlan:
    """The plan of a case on its hosts. Raises `ExperimentError` for what these hosts can't do."""
    experiment = case.experiment
    try:
        # Real hosts take no script, so it is not read.
        attachments = Attachments() if experiment.path.tc else read_attachments(case)
        files = attachments_json(attachments)
        with refusals():
            native = _sim.RemotePlan(experiment, files, seed, limits_json())
    except ExperimentError as error:
        raise error.within(str(case.file)) from None
    hosts = json.loads(native.json())["hosts"]
    return RemotePlan(
        plan_of(native.plan()),
        tuple(RemoteHost(**host | {"devices": tuple(host["devices"])}) for host in hosts),
        native,
    )


def as_remote_script(remote: RemotePlan, title: str, notes: Sequence[str] = ()) -> str:
    """A shell script for the user's own host; title and notes become comments at its top."""
    return remote.native.script(title, list(notes))
