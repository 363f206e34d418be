"""The host engine: an experiment in network namespaces of this machine, in real time.

The same plan and agent as the kernel engine's, and what the agent leaves is decoded and judged alike. What differs: the
machine's own kernel runs it, so what that hasn't got is refused before anything starts (`host_trial`); its clock is the
real one, so it watches the machine and says when that was the limit (`host_watch`); and nothing may be changed outside
namespaces of its own, so settings of the whole machine are refused by name. How the agent lives is `host_worker`'s.
An experiment that names real hosts goes to `remote`.
"""

import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from dumbbell import result
from dumbbell.engine import inside
from dumbbell.engine.agent import (
    agents_certificate,
    held_mib,
    read_room,
    refuse_what_only_the_simulator_sees,
    refuse_without_tools,
)
from dumbbell.engine.base import Progress, Request, check_controllers
from dumbbell.engine.certificate import totals
from dumbbell.engine.host_machine import available_bytes, facts
from dumbbell.engine.host_trial import Tried, missing, try_out
from dumbbell.engine.host_watch import LOOK_NS, figures, judge_machine, looks, shaper_shares
from dumbbell.engine.host_worker import Worker, employ
from dumbbell.engine.permissions import Permissions
from dumbbell.engine.remote import RemoteEngine
from dumbbell.engine.validity import closed_windows, judge
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.machine.agent import agent
from dumbbell.plan import Plan, plan_case
from dumbbell.plan.inside import for_agent
from dumbbell.plan.remote import plan_remote
from dumbbell.plan.settings import split
from dumbbell.publish import captured, staged

__all__ = ["HostEngine"]

SETUP_S, PER_FLOW_S = 60.0, 0.05
"""Beyond the experiment's own time, until the agent is given up: sets up, connects, takes down."""
CLOCK = "real (CLOCK_MONOTONIC): the same seed gives the same experiment, not the same bytes"


class HostEngine:
    """Runs experiments on this machine's own kernel."""

    name = "host"
    real_time = True

    def __init__(self, allowed: Permissions, *, wall_limit_s: float | None = None, key: str = "engine") -> None:
        """Find the programs now, so that their absence is told before anything else happens.

        `allowed`: what the user named; `key`: what named this engine. `wall_limit_s`: when the agent is given up; by
        default a minute after the experiment should have ended. Raises `ExperimentError` where it may not run.
        """
        allowed.check_engine(self.name, key)
        self.allowed = allowed
        self.wall_limit_s = wall_limit_s
        self.agent = agent()
        refuse_without_tools("to make hosts and wires")

    def check(self, request: Request) -> None:
        """See `Engine.check`; what a kernel has is tried out."""
        self.allowed.check_hosts(request.case)
        if request.case.experiment.hosts is not None:
            plan_remote(request.case, request.seed)
        else:
            self._planned(request)

    def run(self, request: Request, progress: Progress) -> Path:
        """Run one experiment; see `Engine.run`."""
        if request.case.experiment.hosts is not None:
            return RemoteEngine(self.allowed).run(request, progress)
        self.allowed.check_hosts(request.case)
        began = time.perf_counter()
        plan = self._planned(request)
        wishes = for_agent(plan, request.inside, capture=request.capture is not None)
        with staged(request.out) as folder, captured(request.capture) as packets:
            room = folder / "host"
            room.mkdir()
            told = plan.for_agent() | {"inside": wishes, "machine_ns": max(LOOK_NS, plan.sample_ns)}
            (room / "plan.json").write_text(json.dumps(told), encoding="utf-8")
            before = facts()
            planned = time.perf_counter()
            try:
                employ(Worker(self.agent, "worker", room, self._wall_limit_s(plan)), progress)
            except ExperimentError as error:
                raise error.within(str(request.case.file)) from None
            lived = time.perf_counter()
            progress(plan.duration_ns / 1e9)
            plan, tables, end, named = read_room(room, plan)
            drops = totals(tables["queues"], "drops_packets")
            measured = figures(looks(room / "machine.jsonl"), end, shaper_shares(named, tables["queues"]))
            verdict = judge(plan, end, named, drops)
            verdict = verdict.beside(judge_machine(plan, measured, tables["flows"], end["duration_ns"]))
            verdict.warnings.extend([*closed_windows(tables["flows"]), *inside.odd_settings(plan, end)])
            verdict.warnings.extend(inside.remarks(plan, request.inside, end))
            birth = agents_certificate(self.name, self.agent, request, plan, end, named, tables, verdict) | _born_on()
            birth["machine"] = before | json.loads((room / "spaces.json").read_text()) | measured
            inside.handed_over(room, packets)
            birth["phases_s"] = {
                "plan": planned - began,
                "host": lived - planned,
                "decode": time.perf_counter() - lived,
            }
            birth["wall_s"] = time.perf_counter() - began
            shutil.rmtree(room)
            result.write(folder, birth, tables)
        return request.out

    def _planned(self, request: Request) -> Plan:
        plan = _without_settings_of_the_machine(plan_case(request.case, request.seed))
        refuse_what_only_the_simulator_sees(request, plan)
        _refuse_what_a_machine_may_not(request, plan)
        _refuse_too_much(plan)
        tried = try_out(self.agent, plan)
        _refuse_what_is_missing(request, plan, tried)
        return plan

    def _wall_limit_s(self, plan: Plan) -> float:
        return self.wall_limit_s or plan.duration_ns / 1e9 + SETUP_S + PER_FLOW_S * len(plan.flows)


def _born_on() -> dict[str, Any]:
    """What a birth certificate says of the kernel and its clock."""
    system = os.uname()
    return {"kernel": {"release": system.release, "version": system.version, "unseeded": True}, "clock": CLOCK}


def _without_settings_of_the_machine(plan: Plan) -> Plan:
    """The plan's own measures against what guests lack (memory, and room for bursts of infinitely fast processors)."""
    setup = tuple(command for command in plan.setup if command.host or command.argv[0] != "sysctl")
    return replace(plan, setup=setup)


def _refuse_what_a_machine_may_not(request: Request, plan: Plan) -> None:
    """Whatever would reach beyond the experiment's own namespaces, or needs a guest."""
    experiment, inside_ = request.case.experiment, request.inside
    of_machine, _ = split(experiment.tcp.sysctl)
    wrong: list[tuple[str, str, object]] = [
        ("this machine has one setting of that name for all its programs, and an experiment changes nothing outside "
         "its own hosts", f"tcp.sysctl.{key}", value) for key, value in of_machine.items()
    ]  # fmt: skip
    wrong += [
        ("a parameter of a controller is the whole machine's, and an experiment changes nothing outside its own hosts",
         f"flows.{number}.cc_parameters", dict(group.cc_parameters))
        for number, group in enumerate(experiment.flows) if group.cc_parameters
    ]  # fmt: skip
    if plan.programs:
        wrong.append(("this engine runs no programs: only in a guest can they do no harm", "programs.0.run",
                      plan.programs[0].argv[0]))  # fmt: skip
    if inside_.trace:
        wrong.append(("trace events are the whole machine's", "--trace", ", ".join(inside_.trace)))
    for problem, key, value in wrong:
        file = "" if key.startswith("--") else str(request.case.file)
        raise ExperimentError(problem, file=file, key=key, value=value, right="leave it out, or --engine kernel")


def _refuse_too_much(plan: Plan) -> None:
    needed_mib, available = held_mib(plan), available_bytes()
    if available is not None and needed_mib > available >> 20:
        raise PlanError(
            f"{len(plan.flows)} flows and their queues may hold {needed_mib:,} MiB, and this machine has "
            f"{available >> 20:,} MiB left; fewer flows or a lower rate would do"
        )


def _refuse_what_is_missing(request: Request, plan: Plan, tried: Tried) -> None:
    release = os.uname().release
    lacking = missing(tried, plan, request.case, release)
    if lacking is not None:
        raise lacking
    elsewhere = "dumbbell list controllers says which engine has it"
    check_controllers(request, sorted({*tried.available, *tried.controllers}), f"this kernel ({release})", elsewhere)
    for number, group in enumerate(request.case.experiment.flows):
        asked = [key for key in ("sndbuf", "rcvbuf") if getattr(group, key)]
        if asked and not tried.large_buffers:
            raise ExperimentError(
                "only root of the whole machine may fix a socket's buffer", file=str(request.case.file),
                key=f"flows.{number}.{asked[0]}", value=getattr(group, asked[0]),
                right="be root, leave it out, or --engine kernel",
            )  # fmt: skip
