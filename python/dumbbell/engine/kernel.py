"""The kernel engine: the real Linux TCP stack and disciplines, in virtual time.

It writes the plan into a private folder, lets a guest live there, decodes what the agent left, judges
it, and hands over a result folder. What the guest is, `guest` knows; what to run, `dumbbell.plan`.
"""

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from dumbbell import limits, result
from dumbbell.engine import inside
from dumbbell.engine.agent import (
    agents_certificate,
    held_mib,
    read_room,
    refuse_what_only_the_simulator_sees,
    refuse_without_tools,
    seconds_done,
)
from dumbbell.engine.base import Progress, Request, check_controllers
from dumbbell.engine.certificate import totals
from dumbbell.engine.guest import Guest, live
from dumbbell.engine.lastwords import complaints
from dumbbell.engine.overheard import Overheard
from dumbbell.engine.programs import judge_programs, keep_programs, overheard, tell_programs, unlinked
from dumbbell.engine.session import converse, tell_session
from dumbbell.engine.validity import closed_windows, judge, memory_ran_out
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.kernel import Kernel, find
from dumbbell.kernel.offers import controllers
from dumbbell.machine.agent import agent
from dumbbell.plan import Plan, plan_case
from dumbbell.plan.layout import Command
from dumbbell.publish import captured, staged

__all__ = ["KernelEngine"]

BASE_MEMORY_MIB = 512
PROGRAM_MEMORY_MIB = 128
WALL_PER_VIRTUAL_S = 30.0
LEAST_WALL_S = 300.0
LOUDER = ("sysctl", "-w", "kernel.printk=7")
"""The whole machine's, whichever host sets it."""


class KernelEngine:
    """Runs experiments in guests of one kernel."""

    name = "kernel"
    real_time = False

    def __init__(self, kernel: str | None = None, *, wall_limit_s: float | None = None) -> None:
        """Find the kernel now, so that its absence is told before anything else happens.

        `wall_limit_s`: when a guest is given up; by default what the slowest experiment would take.
        """
        self.wall_limit_s = wall_limit_s
        self.kernel = find(kernel)
        self.agent = agent()
        refuse_without_tools("inside the guest, which uses the machine's own")

    def check(self, request: Request) -> None:
        """See `Engine.check`."""
        self._planned(request)

    def run(self, request: Request, progress: Progress) -> Path:
        """Run one experiment; see `Engine.run`."""
        began = time.perf_counter()
        plan = self._planned(request)
        wishes = inside.check(plan, request.inside, self.kernel, capture=request.capture is not None)
        with staged(request.out) as folder, captured(request.capture) as packets:
            room = folder / "guest"
            room.mkdir()
            guest = Guest(
                self.kernel, self.agent, room, request.seed, _memory_mib(plan), self.wall_limit_s or _wall_limit_s(plan)
            )
            try:
                told = tell_programs(_for_agent(plan, self.kernel), request.typed) | {"inside": wishes}
                told = tell_session(told, request.session, room)
                (room / "plan.json").write_text(json.dumps(told), encoding="utf-8")
                planned = time.perf_counter()
                said = overheard(plan, request.typed, room)

                watch = partial(_watch, progress, room / "queues.bin", plan, said)
                try:
                    peak_bytes = live(guest, watch, _talk(request, plan, guest), notice=request.notice)
                finally:
                    _pass_on(said)
            except ExperimentError as error:
                raise error.within(str(request.case.file)) from None
            lived = time.perf_counter()
            progress(plan.duration_ns / 1e9)
            plan, tables, end, named = read_room(room, plan)
            programs = keep_programs(room, folder, plan, end["programs"])
            console = (room / "console.txt").read_text(errors="replace")
            verdict = judge(plan, end, named, totals(tables["queues"], "drops_packets"))
            verdict = verdict.beside(judge_programs(plan, programs, folder))
            verdict.invalid.extend(memory_ran_out(console))
            verdict.warnings.extend([*closed_windows(tables["flows"]), *complaints(self.kernel, console)])
            verdict.warnings.extend(
                [*inside.odd_settings(plan, end), *unlinked(request.typed), *inside.remarks(plan, request.inside, end)]
            )
            birth = agents_certificate(self.name, self.agent, request, plan, end, named, tables, verdict)
            birth["kernel"] = self._born_in()
            birth |= {"programs": programs} if programs else {}
            birth |= {"session": request.session.told()} if request.session else {}
            inside.handed_over(room, packets)
            birth["guest_peak_bytes"] = peak_bytes
            birth["phases_s"] = {
                "plan": planned - began,
                "guest": lived - planned,
                "decode": time.perf_counter() - lived,
            }
            birth["wall_s"] = time.perf_counter() - began
            shutil.rmtree(room)
            result.write(folder, birth, tables)
        return request.out

    def _planned(self, request: Request) -> Plan:
        if (known := controllers(self.kernel)) is not None:
            check_controllers(request, known, f"kernel '{self.kernel.name}'")
        _refuse_unknown_parameters(request, self.kernel)
        plan = plan_case(request.case, request.seed)
        refuse_what_only_the_simulator_sees(request, plan)
        _refuse_large(plan)
        return plan

    def _born_in(self) -> dict[str, Any]:
        """What a birth certificate says of the kernel."""
        keys = ("name", "release", "version", "config_sha256", "binary_sha256")
        told = {key: getattr(self.kernel, key) for key in keys}
        return told | ({"unseeded": True} if self.kernel.unseeded else {}) | _added(self.kernel)


def _refuse_unknown_parameters(request: Request, kernel: Kernel) -> None:
    """Of a controller that somebody added, the kernel said what can be set; of Linux's own, it says so in the guest."""
    for number, group in enumerate(request.case.experiment.flows):
        known = next((added.parameters for added in kernel.added if group.cc in added.names), None)
        if known is None:
            continue
        for name in group.cc_parameters:
            if name not in known:
                raise ExperimentError(
                    f"'{group.cc}' has no such parameter",
                    file=str(request.case.file), key=f"flows.{number}.cc_parameters", value=name,
                    right=f"there is: {', '.join(known) or 'none'}",
                )  # fmt: skip


def _for_agent(plan: Plan, kernel: Kernel) -> dict[str, Any]:
    """A kernel with somebody's own code in it says more on its console: where it was when it died, what it warns of."""
    told = plan.for_agent()
    if kernel.added:
        told["setup"].append(asdict(Command(plan.hosts[0], LOUDER)))
    return told


def _added(kernel: Kernel) -> dict[str, Any]:
    """What a person put into the kernel, and into which one."""
    if not kernel.added:
        return {}
    files = [{"names": each.names, "file": each.file, "sha256": each.sha256} for each in kernel.added]
    return {"base": kernel.base, "base_sha256": kernel.base_sha256, "added": files}


def _memory_mib(plan: Plan) -> int:
    """Memory for the guest: what a fast path holds in flight and in queues, and a little a flow."""
    wanted = BASE_MEMORY_MIB + PROGRAM_MEMORY_MIB * len(plan.programs) + held_mib(plan)
    return -(-wanted // 256) * 256


def _refuse_large(plan: Plan) -> None:
    needed = _memory_mib(plan) << 20
    if needed > limits.most("memory"):
        raise PlanError(
            f"{len(plan.flows):,} flows and their queues need a guest with {needed / 1e9:.3g} GB of memory, more than "
            f"{limits.shown('memory')}; ask for fewer flows or a lower rate, {limits.raised('memory', needed)}"
        )


def _wall_limit_s(plan: Plan) -> float:
    return LEAST_WALL_S + WALL_PER_VIRTUAL_S * plan.duration_ns / 1e9


def _talk(request: Request, plan: Plan, guest: Guest) -> Callable[[subprocess.Popen[bytes]], int] | None:
    if request.session is None:
        return None
    number = next(n for n, program in enumerate(plan.programs) if program.name == request.session.program)
    return partial(converse, request.session, number, guest)


def _watch(progress: Progress, records: Path, plan: Plan, said: Overheard | None) -> float:
    seconds = seconds_done(records, plan)
    progress(seconds)
    _pass_on(said)
    return seconds


def _pass_on(said: Overheard | None) -> None:
    if said is not None:
        said.pass_on()
