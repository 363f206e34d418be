"""The kernel engine: Linux's TCP stack and qdiscs in virtual time.

It writes the plan into a private folder, runs a guest on it, decodes the agent's records, checks validity and writes
the result folder. `guest` runs the guest; `dumbbell.plan` generates the plan.
"""

import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dumbbell import limits
from dumbbell.engines.agent_engine import (
    agent_entries,
    check_recordings,
    flow_memory_mib,
    missed_datagrams,
    missed_warnings,
    move_capture,
    read_run_folder,
    refuse_packet_fates,
    refuse_simulator_only_options,
    run_of,
    seconds_done,
)
from dumbbell.engines.base import Progress, Request, check_controllers
from dumbbell.engines.guest import Guest, run_guest
from dumbbell.engines.guest_failures import kernel_warnings
from dumbbell.engines.kernel_choice import Choice, check_disciplines, choose
from dumbbell.engines.named_streams import stream_arguments
from dumbbell.engines.program_qlogs import read_qlogs
from dumbbell.engines.programs import (
    OutputTail,
    Typed,
    built_stacks,
    output_tails,
    program_entries,
    program_problems,
    program_settings,
    typed_programs,
    unlinked,
)
from dumbbell.engines.run_manifest import Verdict, closed_windows, judge, manifest_of, memory_ran_out
from dumbbell.engines.shell_session import Session, serve_shell
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.host.agent import agent
from dumbbell.kernels import Kernel, find
from dumbbell.kernels.features import controllers
from dumbbell.kernels.named_streams import STREAMS_EDIT
from dumbbell.kernels.store import requested_name
from dumbbell.kernels.versions import numbers
from dumbbell.plan import Plan, plan_case
from dumbbell.plan.recordings import Recordings
from dumbbell.publish import captured, staged
from dumbbell.results.result import Run, write_tables
from dumbbell.spec import Case

__all__ = [
    "KernelEngine",
]


BASE_MEMORY_MIB = 512
PROGRAM_MEMORY_MIB = 128
WALL_PER_VIRTUAL_S = 30.0
LEAST_WALL_S = 300.0
RARE_READS_UNTIL = (6, 12)
"""Newer autotuning gives a receiver that reads rarely a smaller window, without the 16 segments that 6.12 adds: slow
start then ends early (`tcp_rcvbuf_grow`). There every segment is read, as by a program that waits for data."""
FREE_COMPUTING = (
    "computing takes no virtual time: where a real machine's CPU limits a QUIC stack, this result shows no limit"
)


class KernelEngine:
    """Runs experiments in guests with one kernel."""

    name = "kernel"
    real_time = False

    def __init__(self, kernel: str | None = None, *, wall_limit_s: float | None = None) -> None:
        """Find the kernel now, so that a missing one is reported first.

        `wall_limit_s`: time limit of a guest; by default enough for the slowest experiment.
        """
        self.wall_limit_s = wall_limit_s
        self.kernel = find(kernel)
        """The kernel that the user names, else the default one."""
        self.is_named = bool(requested_name(kernel))
        """Otherwise each run may take another kernel."""
        self.agent = agent()

    def settle(self, cases: Sequence[Case]) -> str:
        """Use one kernel for all these cases; returns why it isn't the default one. Raises as `choose` does."""
        if self.is_named:
            return ""
        choice = choose([(case, plan_case(case, 1)) for case in cases], self.kernel)
        self.kernel, self.is_named = choice.kernel, True
        return choice.reason

    def check(self, request: Request) -> None:
        """See `Engine.check`."""
        self._planned(request)

    def run(self, request: Request, progress: Progress) -> Path:
        """Run one experiment; see `Engine.run`."""
        return self.run_and_keep(request, progress).folder

    def run_and_keep(self, request: Request, progress: Progress) -> Run:
        """See `Engine.run_and_keep`."""
        began = time.perf_counter()
        plan, choice = self._planned(request)
        progress(0.0)
        kernel = choice.kernel
        if choice.reason:
            request.notice(choice.reason)
        recordings = check_recordings(plan, request.recordings, kernel, capture=request.capture is not None)
        with staged(request.out) as folder, captured(request.capture) as packets:
            run_folder = folder / "guest"
            run_folder.mkdir()
            guest = Guest(
                kernel,
                self.agent,
                run_folder,
                request.seed,
                _memory_mib(plan),
                self.wall_limit_s or _wall_limit_s(plan),
                stream_arguments(plan, request.seed) if STREAMS_EDIT in kernel.edits else (),
            )
            try:
                agent_plan = _for_agent(plan, kernel, recordings, request.typed, request.session)
                (run_folder / "plan.json").write_text(agent_plan, encoding="utf-8")
                if request.session is not None:
                    (run_folder / "terminal").mkdir()
                planned = time.perf_counter()
                tail = output_tails(plan, request.typed, run_folder)

                watch = partial(_watch, progress, run_folder / "queues.bin", plan, tail)
                try:
                    peak_bytes = run_guest(guest, watch, _shell_server(request, plan, guest), notice=request.notice)
                finally:
                    _pass_on(tail)
            except ExperimentError as error:
                raise error.within(str(request.case.file)) from None
            finished = time.perf_counter()
            progress(plan.duration_ns / 1e9)
            plan, tables, end, named = read_run_folder(run_folder, plan)
            progress(plan.duration_ns / 1e9)
            programs = program_entries(run_folder, folder, plan, end.programs)
            qlogs = read_qlogs(tables["flows"], folder, plan, end, programs)
            console = (run_folder / "console.txt").read_text(errors="replace")
            verdict = judge(plan, end, named, tables["queues"].native())
            verdict = verdict.combined(program_problems(plan, programs, folder))
            warnings = [
                *closed_windows(tables["flows"]),
                *kernel_warnings(kernel, console),
                *end.warnings(plan),
                *unlinked(request.typed),
                *qlogs.warnings,
                *([FREE_COMPUTING] if any(flow.stack for flow in plan.flows) else []),
                *missed_warnings(plan, request.recordings, end),
            ]
            verdict = verdict.combined(Verdict([*memory_ran_out(console), *missed_datagrams(end)], warnings))
            move_capture(run_folder, packets)
            shutil.rmtree(run_folder)
            now = time.perf_counter()
            own = {
                **agent_entries(self.agent, plan, end),
                "kernel": _kernel_entry(kernel),
                **({"programs": programs} if programs else {}),
                **({"session": request.session.manifest_entry()} if request.session else {}),
                "guest_peak_bytes": peak_bytes,
                "phases_s": {"plan": planned - began, "guest": finished - planned, "decode": now - finished},
                "wall_s": now - began,
            }
            manifest = manifest_of(self.name, request, plan, end, named, tables, verdict, own)
            manifest, tables = qlogs.stated(manifest), {**tables, "flows": qlogs.flows}
            progress(plan.duration_ns / 1e9)
            write_tables(folder, manifest, tables)
        return run_of(request, manifest, tables)

    def _planned(self, request: Request) -> tuple[Plan, Choice]:
        plan = plan_case(request.case, request.seed)
        choice = Choice(self.kernel) if self.is_named else choose([(request.case, plan)], self.kernel)
        kernel = choice.kernel
        if (known := controllers(kernel)) is not None:
            check_controllers(request, known, f"kernel '{kernel.name}'")
        check_disciplines(request.case, plan, kernel)
        _refuse_unknown_parameters(request, kernel)
        refuse_simulator_only_options(request, plan)
        if kernel.unseeded:
            problem = f"netem of kernel '{kernel.name}' takes no seed, so it can't be made to hit single packets"
            refuse_packet_fates(request, problem, "a kernel from Linux 6.6 on, or --engine sim")
        _refuse_large(plan)
        built_stacks(plan, str(request.case.file))
        return plan, choice


def _kernel_entry(kernel: Kernel) -> dict[str, Any]:
    """Manifest entry of the kernel."""
    keys = ("name", "release", "version", "config_sha256", "binary_sha256")
    entry = {key: getattr(kernel, key) for key in keys}
    return entry | ({"unseeded": True} if kernel.unseeded else {}) | _added(kernel)


def _refuse_unknown_parameters(request: Request, kernel: Kernel) -> None:
    """The kernel's manifest lists the parameters of added controllers; Linux's own are checked in the guest."""
    for number, group in enumerate(request.case.experiment.flows):
        known = next((added.parameters for added in kernel.added if group.cc in added.names), None)
        if known is None:
            continue
        for name in group.cc_parameters:
            if name not in known:
                raise ExperimentError(
                    f"'{group.cc}' has no such parameter",
                    file=str(request.case.file), key=f"flows.{number}.cc_parameters", value=name,
                    right=f"available: {', '.join(known) or 'none'}",
                )  # fmt: skip


def _for_agent(
    plan: Plan, kernel: Kernel, recordings: Recordings | None, typed: Typed | None, session: Session | None
) -> str:
    """The agent's plan; a kernel with added code logs more on its console, for crash reports and warnings."""
    return plan.for_agent(
        recordings=recordings,
        prompt_reads=numbers(kernel.release)[:2] > RARE_READS_UNTIL,
        logs_all=bool(kernel.added),
        programs=program_settings(plan) if plan.programs else None,
        typed=typed and typed_programs(typed),
        terminal=None if session is None else session.terminal,
    )


def _added(kernel: Kernel) -> dict[str, Any]:
    """Manifest entries of the code added to the kernel."""
    if not kernel.added:
        return {}
    files = [{"names": each.names, "file": each.file, "sha256": each.sha256} for each in kernel.added]
    return {"base": kernel.base, "base_sha256": kernel.base_sha256, "added": files}


def _memory_mib(plan: Plan) -> int:
    """Memory of the guest: packets of a fast path in flight and in queues, and some for each flow."""
    needed = BASE_MEMORY_MIB + PROGRAM_MEMORY_MIB * len(plan.programs) + flow_memory_mib(plan)
    return -(-needed // 256) * 256


def _refuse_large(plan: Plan) -> None:
    needed = _memory_mib(plan) << 20
    if needed > limits.most("memory"):
        raise PlanError(
            f"{len(plan.flows):,} flows and their queues need a guest with {needed / 1e9:.3g} GB of memory, more than "
            f"{limits.shown('memory')}; use fewer flows or a lower rate, {limits.raised('memory', needed)}"
        )


def _wall_limit_s(plan: Plan) -> float:
    return LEAST_WALL_S + WALL_PER_VIRTUAL_S * plan.duration_ns / 1e9


def _shell_server(request: Request, plan: Plan, guest: Guest) -> Callable[[subprocess.Popen[bytes]], int] | None:
    if request.session is None:
        return None
    number = next(n for n, program in enumerate(plan.programs) if program.name == request.session.program)
    return partial(serve_shell, request.session, number, guest)


def _watch(progress: Progress, records: Path, plan: Plan, tail: OutputTail | None) -> float:
    seconds = seconds_done(records, plan)
    progress(seconds)
    _pass_on(tail)
    return seconds


def _pass_on(tail: OutputTail | None) -> None:
    if tail is not None:
        tail.pass_on()
