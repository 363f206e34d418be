"""The host engine: an experiment in network namespaces of this host, in real time.

Plan, agent, decoding and validity checks are those of the kernel engine. The differences: it refuses what the host's
kernel lacks before it starts (`capability_probe`), it checks whether the host was too slow (`host_load`), and it
refuses system-wide settings, since it changes nothing outside its namespaces. Experiments that name real hosts go to
`remote`.
"""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

from dumbbell import _sim
from dumbbell.engines.agent_engine import (
    agent_entries,
    flow_memory_mib,
    missed_datagrams,
    missed_warnings,
    move_capture,
    read_run_folder,
    refuse_packet_fates,
    refuse_simulator_only_options,
    run_of,
)
from dumbbell.engines.base import Permissions, Progress, Request, check_controllers
from dumbbell.engines.capability_probe import ProbeResult, Worker, missing, probe_capabilities, start_worker
from dumbbell.engines.host_load import (
    HELP,
    LOAD_SAMPLE_NS,
    available_bytes,
    facts,
    judge_host,
    load_statistics,
    read_load_samples,
    shaper_shares,
)
from dumbbell.engines.program_qlogs import read_qlogs
from dumbbell.engines.programs import built_stacks, program_entries, program_problems, program_settings
from dumbbell.engines.remote import RemoteEngine
from dumbbell.engines.run_manifest import Verdict, closed_windows, judge, manifest_of
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.host.agent import agent
from dumbbell.plan import Plan, plan_case, plan_remote
from dumbbell.plan.recordings import recordings
from dumbbell.publish import captured, staged
from dumbbell.results.result import Run, write_tables

__all__ = [
    "HostEngine",
]


SETUP_S, PER_FLOW_S = 60.0, 0.05
MOST_TIMES_LONGER, END_S = 2, 2.0
"""A run that takes longer than that after its start has no valid numbers: the host was the limit."""
"""Time limit of the agent beyond the experiment's duration: setup, connecting, cleanup."""
CLOCK = "real (CLOCK_MONOTONIC): the same seed gives the same experiment, not the same bytes"


class HostEngine:
    """Runs experiments on this host's own kernel."""

    name = "host"
    real_time = True

    def __init__(self, allowed: Permissions, *, wall_limit_s: float | None = None, key: str = "engine") -> None:
        """Find the programs now, so that a missing one is reported first.

        `allowed`: what the user permits; `key`: the option that selected this engine. `wall_limit_s`: time limit of the
        agent, by default a minute more than the experiment takes. Raises `ExperimentError` if it is not permitted.
        """
        allowed.check_engine(self.name, key)
        self.allowed = allowed
        self.wall_limit_s = wall_limit_s
        self.agent = agent()

    def check(self, request: Request) -> None:
        """See `Engine.check`; includes the capability probe."""
        self.allowed.check_hosts(request.case)
        if request.case.experiment.hosts is not None:
            plan_remote(request.case, request.seed)
        else:
            self._planned(request)

    def run(self, request: Request, progress: Progress) -> Path:
        """Run one experiment; see `Engine.run`."""
        return self.run_and_keep(request, progress).folder

    def run_and_keep(self, request: Request, progress: Progress) -> Run:
        """See `Engine.run_and_keep`."""
        if request.case.experiment.hosts is not None:
            return RemoteEngine(self.allowed).run_and_keep(request, progress)
        self.allowed.check_hosts(request.case)
        began = time.perf_counter()
        plan = self._planned(request)
        progress(0.0)
        recorded = recordings(plan, request.recordings, capture=request.capture is not None)
        with staged(request.out) as folder, captured(request.capture) as packets:
            run_folder = folder / "host"
            run_folder.mkdir()
            agent_plan = plan.for_agent(
                recordings=recorded,
                machine_ns=max(LOAD_SAMPLE_NS, plan.sample_ns),
                programs=program_settings(plan) if plan.programs else None,
            )
            (run_folder / "plan.json").write_text(agent_plan, encoding="utf-8")
            before = facts()
            planned = time.perf_counter()
            try:
                limit_s = MOST_TIMES_LONGER * plan.duration_ns / 1e9 + END_S + PER_FLOW_S * len(plan.flows)
                worker = Worker(self.agent, "worker", run_folder, self._wall_limit_s(plan), limit_s, HELP)
                start_worker(worker, progress)
            except ExperimentError as error:
                raise error.within(str(request.case.file)) from None
            finished = time.perf_counter()
            progress(plan.duration_ns / 1e9)
            plan, tables, end, named = read_run_folder(run_folder, plan)
            programs = program_entries(run_folder, folder, plan, end.programs)
            qlogs = read_qlogs(tables["flows"], folder, plan, end, programs)
            measured = load_statistics(
                read_load_samples(run_folder / "machine.jsonl"), end, shaper_shares(named, tables["queues"].frame())
            )
            verdict = judge(plan, end, named, tables["queues"].native(), remedy=HELP)
            verdict = verdict.combined(judge_host(plan, measured, tables["flows"].frame(), end.duration_ns))
            verdict = verdict.combined(program_problems(plan, programs, folder))
            verdict = verdict.combined(Verdict(missed_datagrams(end)))
            own_warnings = [*end.warnings(plan), *missed_warnings(plan, request.recordings, end), *qlogs.warnings]
            verdict = verdict.combined(Verdict(warnings=[*closed_windows(tables["flows"]), *own_warnings]))
            machine = before | json.loads((run_folder / "spaces.json").read_text()) | measured
            move_capture(run_folder, packets)
            shutil.rmtree(run_folder)
            now = time.perf_counter()
            own = {
                **agent_entries(self.agent, plan, end),
                **_host_entries(),
                **({"programs": programs} if programs else {}),
                "machine": machine,
                "phases_s": {"plan": planned - began, "host": finished - planned, "decode": now - finished},
                "wall_s": now - began,
            }
            manifest = manifest_of(self.name, request, plan, end, named, tables, verdict, own)
            manifest, tables = qlogs.stated(manifest), {**tables, "flows": qlogs.flows}
            write_tables(folder, manifest, tables)
        return run_of(request, manifest, tables)

    def _planned(self, request: Request) -> Plan:
        # Sysctls of the machine are for guests: memory limits, buffers for bursts of infinitely fast CPUs.
        plan = plan_case(request.case, request.seed).without_machine_settings()
        refuse_simulator_only_options(request, plan)
        problem = "netem of this host may take no seed, and then can't be made to hit single packets"
        refuse_packet_fates(request, problem, "--engine kernel, or --engine sim")
        _refuse_unsafe_on_host(request, plan)
        _refuse_too_much(plan)
        built_stacks(plan, str(request.case.file))
        probed = probe_capabilities(self.agent, plan)
        _refuse_missing_features(request, plan, probed)
        return plan

    def _wall_limit_s(self, plan: Plan) -> float:
        return self.wall_limit_s or plan.duration_ns / 1e9 + SETUP_S + PER_FLOW_S * len(plan.flows)


def _host_entries() -> dict[str, Any]:
    """Manifest entries of the kernel and its clock."""
    system = os.uname()
    return {"kernel": {"release": system.release, "version": system.version, "unseeded": True}, "clock": CLOCK}


def _refuse_unsafe_on_host(request: Request, plan: Plan) -> None:
    """Refuse what would change the host outside the experiment's namespaces, or needs a guest."""
    experiment, recordings_requested = request.case.experiment, request.recordings
    system_wide = {key: value for key, value in experiment.tcp.sysctl.items() if _sim.is_of_the_machine(key)}
    wrong: list[tuple[str, str, object]] = [
        ("this sysctl is system-wide, and the host engine changes nothing outside the experiment's hosts",
         f"tcp.sysctl.{key}", value) for key, value in system_wide.items()
    ]  # fmt: skip
    wrong += [
        ("controller parameters are system-wide, and the host engine changes nothing outside the experiment's hosts",
         f"flows.{number}.cc_parameters", dict(group.cc_parameters))
        for number, group in enumerate(experiment.flows) if group.cc_parameters
    ]  # fmt: skip
    wrong += [
        ("the host engine runs no programs but QUIC stacks, since they could harm the host", f"programs.{number}.run",
         program.argv[0])
        for number, program in enumerate(plan.programs) if program.flow is None
    ]  # fmt: skip
    if recordings_requested.trace:
        wrong.append(("trace events are system-wide", "--trace-event", ", ".join(recordings_requested.trace)))
    for problem, key, value in wrong:
        file = "" if key.startswith("--") else str(request.case.file)
        raise ExperimentError(problem, file=file, key=key, value=value, right="leave it out, or --engine kernel")


def _refuse_too_much(plan: Plan) -> None:
    needed_mib, available = flow_memory_mib(plan), available_bytes()
    if available is not None and needed_mib > available >> 20:
        raise PlanError(
            f"{len(plan.flows)} flows and their queues may need {needed_mib:,} MiB of memory, but only "
            f"{available >> 20:,} MiB are available; use fewer flows or a lower rate"
        )


def _refuse_missing_features(request: Request, plan: Plan, probed: ProbeResult) -> None:
    release = os.uname().release
    lacking = missing(probed, plan, request.case, release)
    if lacking is not None:
        raise lacking
    elsewhere = "dumbbell list controllers shows which engine has it"
    check_controllers(request, sorted({*probed.available, *probed.controllers}), f"this kernel ({release})", elsewhere)
    for number, group in enumerate(request.case.experiment.flows):
        buffers = [key for key in ("sndbuf", "rcvbuf") if getattr(group, key)]
        if buffers and not probed.large_buffers:
            raise ExperimentError(
                "a fixed socket buffer needs root on the host", file=str(request.case.file),
                key=f"flows.{number}.{buffers[0]}", value=getattr(group, buffers[0]),
                right="run as root, leave it out, or use --engine kernel",
            )  # fmt: skip
