"""The files that an experiment names: a tc script, a trace. They lie beside it, and nothing else is read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.errors import ExperimentError
from dumbbell.spec.document import Case
from dumbbell.spec.script import Script, read_script
from dumbbell.spec.trace import read_trace, trace_rates
from dumbbell.spec.units import Wrong

__all__ = ["PLACES", "Attachments", "beside", "named_in", "read_attachments"]

PLACES = (("path", "bottleneck", "trace"), ("path", "tc", "script"))
"""The keys of an experiment that name a file."""


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
            lines = _lines(case, path.tc.script)
        try:
            script = read_script(lines, path.tc.interface)
        except Wrong as wrong:
            raise ExperimentError(wrong.problem, file=str(case.file), key="path.tc", right=wrong.right) from None
    if path.bottleneck is not None and path.bottleneck.trace is not None:
        times = read_trace(beside(case.file, path.bottleneck.trace, "path.bottleneck.trace"))
        step_ms = max(path.bottleneck.trace_step // 10**6, 1)
        trace = tuple(trace_rates(times, step_ms, case.experiment.duration))
    return Attachments(script, trace)


def beside(file: Path, name: str, key: str) -> Path:
    """The named file, when it really lies in the folder of the experiment `file`. Raises `ExperimentError`."""
    folder = file.resolve().parent
    try:
        path = (folder / name).resolve()
        exists = path.is_file()
    except (OSError, ValueError, RuntimeError) as error:  # A name too long, with a NUL, or a circle of links.
        raise ExperimentError(f"not a file's name: {error}", file=str(file), key=key, value=name) from None
    if not path.is_relative_to(folder):
        raise ExperimentError(
            "a file outside the experiment's folder",
            file=str(file),
            key=key,
            value=name,
            right="put it beside the experiment",
        )
    if not exists:
        raise ExperimentError("no such file", file=str(file), key=key, value=name, right=f"it should lie in {folder}")
    return path


def named_in(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The names of files in an experiment's document, with their dotted keys; are they there? `beside` says."""
    for place in PLACES:
        held: Any = document
        for part in place:
            held = held.get(part) if isinstance(held, Mapping) else None
        if isinstance(held, str):
            yield ".".join(place), held


def _lines(case: Case, name: str) -> list[str]:
    path = beside(case.file, name, "path.tc.script")
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(
            f"can't be read: {error}", file=str(case.file), key="path.tc.script", value=name
        ) from None
