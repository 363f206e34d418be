"""What this host's kernel lacks for a plan, tried by a worker of the agent: qdiscs, filters and controllers.

A worker is a process of this host in a separate network namespace (`crates/agent/src/worker.rs`); it exits when the
pipe to its standard input closes, so it ends with this process. Its task is described in its folder. It tries
everything before a run. All functions of the probe but `probe_capabilities` are pure: the probes come from the plan's
commands, and errors name the experiment's keys. `host` runs experiments in a worker.
"""

import errno
import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.errors import EngineError, ExperimentError, PlanError
from dumbbell.plan import Plan, Queue
from dumbbell.publish import explained
from dumbbell.spec.document import Case
from dumbbell.spec.units import POLICE, time_text

if TYPE_CHECKING:
    from dumbbell.spec import keys

__all__ = [
    "ProbeResult",
    "Worker",
    "missing",
    "probe_capabilities",
    "start_worker",
]


STEP_S = 0.25
"""Interval between progress reports. The process sleeps in between: in a guest each wake-up costs wall time."""
GRACE_S = 5.0
"""Time for the kernel to remove the worker's namespaces."""
LEAST_FREE_BYTES = 64 << 10
NO_NAMESPACES = "no namespaces"
"""How the agent's error message begins."""


STARTED = "machine.jsonl"
"""The worker creates it when the experiment starts."""


@dataclass(frozen=True)
class Worker:
    """A worker to start."""

    agent: Path
    verb: str
    """`worker` runs `plan.json`, `try` runs the probes of `trial.json`."""
    folder: Path
    wall_limit_s: float
    run_limit_s: float | None = None
    """Time limit from the experiment's start, for runs in real time."""
    remedy: str = ""


def start_worker(worker: Worker, watch: Callable[[float], None] = lambda _seconds: None) -> None:
    """Run a worker to its end; `watch` is called periodically with the seconds that have passed.

    Raises `PlanError` if the host has no namespaces, `ExperimentError` if the kernel refused a command,
    `OSError` if the disk is full, `EngineError` if there is no result.
    """
    console = worker.folder / "console.txt"
    with console.open("wb") as output:
        process = subprocess.Popen(
            [worker.agent, worker.verb, worker.folder], stdin=subprocess.PIPE, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            _wait(process, worker, watch)
        finally:
            _stop(process)
    _judge(worker, process.returncode, console.read_text(errors="replace"))


def _wait(process: "subprocess.Popen[bytes]", worker: Worker, watch: Callable[[float], None]) -> None:
    began, started_s = time.monotonic(), None
    descriptor = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while not poll.poll(STEP_S * 1000):
            passed_s = time.monotonic() - began
            watch(passed_s)
            if started_s is None and (worker.folder / STARTED).exists():
                started_s = passed_s
            if worker.run_limit_s and started_s is not None and passed_s - started_s > worker.run_limit_s:
                raise EngineError(
                    f"this host is too slow for the experiment: it had not ended after {passed_s - started_s:.1f} s "
                    f"and was stopped, without a result; {worker.remedy}"
                )
            if passed_s > worker.wall_limit_s:
                raise EngineError(
                    f"the agent was still running after {worker.wall_limit_s:.0f} s of wall time and was stopped"
                )
    finally:
        os.close(descriptor)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Close the pipe: the keeper kills the worker and waits for it."""
    if process.stdin is not None:
        process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=GRACE_S)
        return
    # The worker dies with its keeper.
    process.kill()
    process.wait()


def _judge(worker: Worker, status: int, console: str) -> None:
    failure = worker.folder / "failure.txt"
    text = failure.read_text(encoding="utf-8") if failure.exists() else ""
    if text.startswith(NO_NAMESPACES):
        raise PlanError(
            f"the engine 'host' needs network namespaces, which this host does not allow "
            f"({text.removeprefix(NO_NAMESPACES).removeprefix(': ')}): run as root, or allow user namespaces "
            "(user.max_user_namespaces above 0, kernel.apparmor_restrict_unprivileged_userns = 0), or use "
            "--engine kernel, which needs neither"
        )
    if text.startswith("command refused: "):
        command, _, reason = text.removeprefix("command refused: ").partition("\n")
        raise ExperimentError(f"this host's kernel refused '{command}': {reason}")
    if "os error 28" in text or os.statvfs(worker.folder).f_bavail * 4096 < LEAST_FREE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if text:
        raise EngineError(f"the agent failed: {text}")
    if status != 0:
        console_text = "\n".join(console.strip().splitlines()[-5:])
        raise EngineError(
            "the agent was killed before the experiment ended (out of memory, or by another process); it left no result"
            + (f"; its last output:\n{console_text}" if console_text else "")
        )


WALL_LIMIT_S = 60.0
FIFOS = ("pfifo", "bfifo", "pfifo_head_drop")


@dataclass(frozen=True)
class ProbeResult:
    """What the host supports."""

    refused: Mapping[str, str | None]
    """By kind: the error of tc, or None."""
    controllers: Sequence[str]
    """Those of the plan that a socket accepted."""
    available: Sequence[str]
    large_buffers: bool
    """May socket buffers exceed the system's limit?"""


def probe_capabilities(agent: Path, plan: Plan) -> ProbeResult:
    """Probe what the plan needs. Raises `PlanError` without namespaces, `OutputError` on a full disk."""
    try:
        with tempfile.TemporaryDirectory(prefix="dumbbell-trial-") as name:
            folder = Path(name)
            (folder / "trial.json").write_text(plan.trial(), encoding="utf-8")
            start_worker(Worker(agent, "try", folder, WALL_LIMIT_S))
            return ProbeResult(**json.loads((folder / "tried.json").read_text(encoding="utf-8")))
    except OSError as error:
        raise explained(error, Path(tempfile.gettempdir())) from error


def missing(probed: ProbeResult, plan: Plan, case: Case, kernel: str) -> ExperimentError | None:
    """One error for everything that the host lacks, with the keys that need it; None if nothing is missing.

    `kernel` is its release.
    """
    lacking = {kind: reason for kind, reason in probed.refused.items() if reason is not None}
    # A filter that was tried on a missing qdisc gives no further information.
    lacking = {
        kind: reason for kind, reason in lacking.items()
        if not kind.startswith("filter ") or reason not in [lacking.get(other) for other in lacking if other != kind]
    }  # fmt: skip
    if not lacking:
        return None
    keys = {kind: probe_purposes(kind, plan, case) for kind in lacking}
    parts = [_describe(kind, reason, keys[kind]) for kind, reason in lacking.items()]
    symbols = " and ".join(dict.fromkeys(_symbol(kind) for kind in lacking))
    first = next((texts[0].partition(" = ")[0] for texts in keys.values() if texts), "")
    return ExperimentError(
        f"the kernel of this host ({kernel}) has {'; '.join(parts)}", file=str(case.file), key=first,
        right=f"use --engine kernel, which has them all, or a kernel with {symbols}",
    )  # fmt: skip


def probe_purposes(kind: str, plan: Plan, case: Case) -> list[str]:
    """The experiment's keys, with short values, that need a kind of qdisc or filter."""
    purposes = []
    for queue in plan.queues:
        if queue.name.partition("-netem")[0] != queue.name and kind == "netem":
            purposes += _netem_keys(case, queue.name.partition("-netem")[0])
        elif queue.name.endswith("-shaper") and kind == "htb":
            purposes += [
                f"{other.key.removesuffix('.qdisc')}.rate" for other in plan.queues if _is_leaf(queue.name, other)
            ]
        elif queue.key and _is_made_of(queue, kind):
            purposes.append(f'{queue.key} = "{queue.text}"')
    if not purposes and case.experiment.path.tc:
        purposes.append("path.tc")
    return list(dict.fromkeys(purposes))


def _is_leaf(shaper: str, other: Queue) -> bool:
    return bool(other.key) and f"{other.name}-shaper" == shaper


def _is_made_of(queue: Queue, kind: str) -> bool:
    """A policer is a `prio` with a filter (`crates/experiment/src/plan/shaping.rs`)."""
    return kind == queue.kind or (queue.kind == POLICE and (kind == "prio" or kind.startswith("filter ")))


def _netem_keys(case: Case, owner: str) -> list[str]:
    """The keys that need a netem of this owner (path, reverse, a link, access-GROUP)."""
    experiment, path = case.experiment, case.experiment.path
    if owner == "path":
        return _path_keys(path) + _change_keys(case, None)
    if owner.startswith("reverse"):
        keys = _impairment_keys(path.reverse, "path.reverse") if path.reverse else []
        return [f"path.rtt = {time_text(path.rtt)}", *keys] if path.rtt and not keys else keys
    if owner.startswith("access-"):
        number = experiment.group_names.index(owner.removeprefix("access-"))
        access = experiment.flows[number].access
        return _impairment_keys(access, f"flows.{number}.access") if access else []
    link = next((link for link in path.links if link.name == owner), None)
    return (_impairment_keys(link, f"path.links.{owner}") if link else []) + _change_keys(case, owner)


def _path_keys(path: "keys.Path") -> list[str]:
    delays = (("forward_delay", path.forward_delay), ("reverse_delay", path.reverse_delay))
    keys = [f"path.{key} = {time_text(delay)}" for key, delay in delays if delay]
    others = _impairment_keys(path, "path")
    if not keys and path.rtt and not others:
        return [f"path.rtt = {time_text(path.rtt)}"]
    return [*keys, *others]


def _impairment_keys(what: "keys.Impairment", location: str) -> list[str]:
    keys = []
    for option in ("delay", "jitter", "loss", "reorder", "duplicate", "corrupt", "slot"):
        if value := getattr(what, option):
            keys.append(f"{location}.{option} = {time_text(value) if isinstance(value, int) else value}")
    return keys


def _change_keys(case: Case, link: str | None) -> list[str]:
    changes = [change for change in case.experiment.changes if change.link == link]
    return ["changes"] if any(change.rtt or change.delay or change.jitter or change.loss for change in changes) else []


def _describe(kind: str, reason: str, keys: Sequence[str]) -> str:
    needed_by = f", needed by {' and '.join(keys)}" if keys else ""
    first = reason.splitlines()[0].removeprefix("Error: ").rstrip(".")
    known = "unknown" in first.lower() or "not found" in first.lower() or "failed to load" in first.lower()
    return f"no {kind}{needed_by}" + ("" if known else f" (tc: {first})")


def _symbol(kind: str) -> str:
    if kind in FIFOS:
        return "CONFIG_NET_SCH_FIFO"
    if kind.startswith("filter "):
        police = " and CONFIG_NET_ACT_POLICE" if "police" in kind else ""
        return f"CONFIG_NET_CLS_{kind.split()[1].upper()}{police}"
    return f"CONFIG_NET_SCH_{kind.upper()}"
