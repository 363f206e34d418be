"""The files that an experiment names: a tc script, a trace. They lie below its folder, and nothing else is read.

How a file is opened so that no link leads elsewhere is `beneath`'s affair.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell import _sim, limits
from dumbbell.errors import ExperimentError
from dumbbell.spec.beneath import read_below
from dumbbell.spec.document import Case, mistakes_in, process_limits
from dumbbell.spec.units import Wrong, refused, time_text

__all__ = [
    "PLACES", "Attachments", "Script", "named_in", "read_attachments", "read_named", "read_script",
    "text_named", "trace_rates",
]  # fmt: skip

PLACES = (("path", "bottleneck", "trace"), ("path", "tc", "script"))
"""The keys of an experiment that name a file."""
TRACE = "path.bottleneck.trace"
"""The only one of them whose file may be larger than an experiment's."""


@dataclass(frozen=True)
class Script:
    """What is left of a tc script after checking."""

    lines: tuple[tuple[str, ...], ...]
    """`tc` commands, words apart, with `{device}` for the interface."""
    marks: tuple[tuple[int, int], ...]
    """Destination port and mark."""
    left_out: tuple[str, ...]
    """Lines that only show or delete."""


@dataclass(frozen=True)
class Attachments:
    """What was read, as values."""

    script: Script | None = None
    trace: tuple[tuple[int, int], ...] = ()
    """(time in ns, bits per second)."""


def read_attachments(case: Case) -> Attachments:
    """Read what the experiment names.

    Raises `ExperimentError` for a file that is missing, malformed, or outside the experiment's folder.
    """
    path = case.experiment.path
    script: Script | None = None
    trace: tuple[tuple[int, int], ...] = ()
    if path.tc is not None:
        lines = list(path.tc.commands)
        if path.tc.script is not None:
            name, key = path.tc.script, "path.tc.script"
            lines = text_named(_folder(case, key, name), name, key, str(case.file)).splitlines()
        try:
            script = read_script(lines, path.tc.interface)
        except Wrong as wrong:
            raise ExperimentError(wrong.problem, file=str(case.file), key="path.tc", right=wrong.right) from None
    if path.bottleneck is not None and path.bottleneck.trace is not None:
        name, key = path.bottleneck.trace, TRACE
        folder = _folder(case, key, name)
        content = read_named(folder, name, key, str(case.file))
        try:
            with mistakes_in(folder / name):
                trace = trace_rates(content, path.bottleneck.trace_step, case.experiment.duration)
        except Wrong as wrong:
            key, value = "path.bottleneck.trace_step", time_text(path.bottleneck.trace_step)
            raise ExperimentError(wrong.problem, file=str(case.file), key=key, value=value, right=wrong.right) from None
    return Attachments(script, trace)


def read_script(lines: Sequence[str], interface: str) -> Script:
    """Check tc commands; raises `Wrong` naming the line."""
    with refused():
        commands, marks, left_out = _sim.read_script(list(lines), interface)
    return Script(tuple(map(tuple, commands)), tuple(marks), tuple(left_out))


def trace_rates(content: bytes, step_ns: int, duration_ns: int) -> tuple[tuple[int, int], ...]:
    """A Mahimahi trace as (time in ns, rate in bits per second), only where the rate changes.

    Raises `_sim.Mistakes` for another format, `Wrong` for too many steps.
    """
    with refused():
        return tuple(_sim.trace_rates(content, step_ns, duration_ns, process_limits()))


def read_named(folder: Path, name: str, key: str, file: str = "") -> bytes:
    """The content of the file that `key` of `file` names, where it lies below `folder`. Raises `ExperimentError`."""
    try:
        limit = "trace" if key == TRACE else "text"
        most = limits.most(limit)
        return read_below(folder, name, most, limits.raised(limit, 2 * most))
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, file=file, key=key, value=name, right=wrong.right) from None


def text_named(folder: Path, name: str, key: str = "", file: str = "") -> str:
    """The same as a text. Raises `ExperimentError`."""
    try:
        return read_named(folder, name, key, file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ExperimentError(f"can't be read: {error}", file=file, key=key, value=name) from None


def named_in(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The names of files in an experiment's document, with their dotted keys; are they there? `read_named` says."""
    for place in PLACES:
        held: Any = document
        for part in place:
            held = held.get(part) if isinstance(held, Mapping) else None
        if isinstance(held, str):
            yield ".".join(place), held


def _folder(case: Case, key: str, name: str) -> Path:
    if case.folder is None:
        raise ExperimentError("the file was next to the experiment's file, which is missing", key=key, value=name)
    return case.folder
