"""Plans of experiments, made in Rust (`crates/experiment/src/plan`), for engines and as scripts."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json

from dumbbell import _sim
from dumbbell.errors import ExperimentError
from dumbbell.plan.model import Plan, plan_of
from dumbbell.plan.native_json import attachments_json, limits_json
from dumbbell.plan.refusals import refusals
from dumbbell.spec.attachments import Attachments, read_attachments
from dumbbell.spec.document import Case
from dumbbell.spec.experiment import Experiment
from dumbbell.spec.model import Tcp

__all__ = ["as_script", "as_world", "buffers_note", "make", "plan_case", "simulator_plan"]


def make(experiment: Experiment, attachments: Attachments, seed: int) -> Plan:
    """The plan of one run.

    Raises `PlanError` for what can't be run in bounded memory, `ExperimentError` for sizes that can't be computed.
    """
    files = attachments_json(attachments)
    with refusals():
        return plan_of(_sim.Plan(experiment, files, seed, limits_json()))


def plan_case(case: Case, seed: int) -> Plan:
    """The plan of a case from a file: reads what the file names, and names the file in every error."""
    try:
        return make(case.experiment, read_attachments(case), seed)
    except ExperimentError as error:
        raise error.within(str(case.file)) from None


def simulator_plan(plan: Plan, seed: int, *, capture: tuple[str, str] | None = None) -> _sim.SimulatorPlan:
    """The simulator's plan; what passes the device `capture` (host and name) is captured.

    Raises `ExperimentError` for what the simulator lacks.
    """
    with refusals():
        return plan.native.for_simulator(seed, capture)


def as_world(plan: Plan, seed: int, *, capture: tuple[str, str] | None = None) -> dict[str, Any]:
    """The same as the values of JSON, with the tc commands instead of what they do."""
    with refusals():
        made: dict[str, Any] = from_json(plan.native.commands_for_simulator(seed, capture))
    return made


def as_script(plan: Plan, title: str, notes: Sequence[str] = ()) -> str:
    """A shell script with the commands that the engines run, and iperf3 and ping for the traffic.

    Title and notes become comments at its top, one line each.
    """
    with refusals():
        return plan.native.script(title, list(notes))


def buffers_note(tcp: Tcp) -> str:
    """Which defaults of TCP's buffers a run has, and what the experiment sets instead."""
    parts = []
    keys = (("rmem_max", "net.ipv4.tcp_rmem"), ("wmem_max", "net.ipv4.tcp_wmem"))
    for (key, name), default in zip(keys, _sim.TCP_BUFFERS[tcp.defaults], strict=True):
        if name in tcp.sysctl:
            parts.append(f"{name} = {tcp.sysctl[name]} by tcp.sysctl")
        else:
            own = "" if getattr(tcp, key) == default else f" by tcp.{key}"
            parts.append(f"{name} up to {getattr(tcp, key)} bytes{own}")
    return f'TCP buffers: tcp.defaults = "{tcp.defaults}": {", ".join(parts)}'
