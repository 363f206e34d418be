"""Runs packetdrill scripts on the simulator's endpoint and judges each; one that needs more is skipped by name."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dumbbell.errors import EngineError, ExperimentError
from dumbbell.testing.drill.run import TOLERANCE_NS, Outcome, run_script
from dumbbell.testing.drill.statements import ScriptError, Unsupported
from dumbbell.testing.results import Result, Status
from dumbbell.testing.scripts import Script
from dumbbell.testing.selftests import Options

__all__ = ["GROUP", "Limits", "distinct", "limits_of", "run_all"]

GROUP = "sim"
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Limits:
    """How to run scripts."""

    tolerance_ns: int = TOLERANCE_NS
    repeat: int = 1
    limit_ns: int = 300_000_000_000
    """Virtual time of a script."""
    wall_limit_s: float = 120.0


def limits_of(options: Options) -> Limits:
    """Of the options of guests."""
    tolerance_ns = TOLERANCE_NS if options.tolerance_us is None else options.tolerance_us * 1000
    return Limits(tolerance_ns, options.repeat, options.limit_ns, options.wall_limit_s)


def run_all(scripts: Sequence[Script], limits: Limits, on_result: Callable[[Result], None]) -> list[Result]:
    """Run every script; `on_result` is called with each result, in order."""
    results = []
    for script in distinct(scripts):
        result = _repeated(script, limits)
        results.append(result)
        on_result(result)
    return results


def distinct(scripts: Sequence[Script]) -> list[Script]:
    """Each file once, without a version of IP."""
    files: dict[Path, Script] = {}
    for script in scripts:
        name = script.name.removesuffix(f" {script.ip_version}") if script.ip_version else script.name
        files.setdefault(script.file, replace(script, name=name, ip_version=""))
    return list(files.values())


def _repeated(script: Script, limits: Limits) -> Result:
    if not script.is_packetdrill:
        return Result(script.name, Status.SKIPPED, "a shell selftest needs a kernel", group=GROUP)
    try:
        with script.file.open("rb") as opened:
            text = opened.read(MOST_BYTES + 1).decode(errors="replace")
    except OSError as error:
        raise ExperimentError(f"can't be read: {error.strerror}", file=str(script.file)) from None
    if len(text) > MOST_BYTES:
        return Result(script.name, Status.SKIPPED, f"the script exceeds {MOST_BYTES:,} bytes", group=GROUP)
    began = time.monotonic()
    first = _once(script, text, limits)
    for number in range(2, limits.repeat + 1):
        if time.monotonic() - began > limits.wall_limit_s:
            reason = f"{number - 1} of {limits.repeat} runs in {limits.wall_limit_s:g} s of real time"
            return replace(first, status=Status.TIMEOUT, reason=reason)
        if (other := _once(script, text, limits)) != first:
            return replace(first, status=Status.FAILED, reason=f"run {number} differs from run 1: {other.reason}")
    if limits.repeat > 1 and first.status is Status.PASSED:
        return replace(first, reason=f"identical in {limits.repeat} runs")
    return first


def _once(script: Script, text: str, limits: Limits) -> Result:
    try:
        outcome: Outcome = run_script(
            text, script.file.parent, tolerance_ns=limits.tolerance_ns, limit_ns=limits.limit_ns
        )
    except Unsupported as unsupported:
        return Result(script.name, Status.SKIPPED, str(unsupported), group=GROUP)
    except ScriptError as error:
        return Result(script.name, Status.FAILED, f"{script.file.name}:{error.line}: {error.problem}", group=GROUP)
    except EngineError as fault:
        return Result(script.name, Status.ERROR, str(fault), group=GROUP)
    return Result(script.name, Status.PASSED, "", outcome.trace, outcome.virtual_ns / 1e9, GROUP)
