"""The files that an experiment names: a tc script, a trace. They lie below its folder, and nothing else is read.

How a file is opened so that no link leads elsewhere is `beneath`'s affair.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell import limits
from dumbbell.errors import ExperimentError
from dumbbell.spec.beneath import read_below
from dumbbell.spec.document import Case
from dumbbell.spec.script import Script, read_script
from dumbbell.spec.trace import read_trace, trace_rates
from dumbbell.spec.units import Wrong, time_text

__all__ = ["PLACES", "Attachments", "named_in", "read_attachments", "read_named", "text_named"]

PLACES = (("path", "bottleneck", "trace"), ("path", "tc", "script"))
"""The keys of an experiment that name a file."""
TRACE = "path.bottleneck.trace"
"""The only one of them whose file may be larger than an experiment's."""


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
        times = read_trace(read_named(folder, name, key, str(case.file)), str(folder / name))
        step_ms = max(path.bottleneck.trace_step // 10**6, 1)
        try:
            trace = tuple(trace_rates(times, step_ms, case.experiment.duration))
        except Wrong as wrong:
            key, value = "path.bottleneck.trace_step", time_text(path.bottleneck.trace_step)
            raise ExperimentError(wrong.problem, file=str(case.file), key=key, value=value, right=wrong.right) from None
    return Attachments(script, trace)


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
