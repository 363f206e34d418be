"""The files that an experiment names: a tc script, a trace. They lie beside it, and nothing else is read."""

from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import ExperimentError
from dumbbell.spec.document import Case
from dumbbell.spec.script import Script, read_script
from dumbbell.spec.trace import read_trace, trace_rates
from dumbbell.spec.units import Wrong

__all__ = ["Attachments", "read_attachments"]


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
        times = read_trace(_beside(case, path.bottleneck.trace, "path.bottleneck.trace"))
        step_ms = max(path.bottleneck.trace_step // 10**6, 1)
        trace = tuple(trace_rates(times, step_ms, case.experiment.duration))
    return Attachments(script, trace)


def _lines(case: Case, name: str) -> list[str]:
    path = _beside(case, name, "path.tc.script")
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(
            f"can't be read: {error}", file=str(case.file), key="path.tc.script", value=name
        ) from None


def _beside(case: Case, name: str, key: str) -> Path:
    """The named file, when it really lies in the experiment's folder."""
    folder = case.file.resolve().parent
    try:
        path = (folder / name).resolve()
        exists = path.is_file()
    except (OSError, ValueError, RuntimeError) as error:  # A name too long, with a NUL, or a circle of links.
        raise ExperimentError(f"not a file's name: {error}", file=str(case.file), key=key, value=name) from None
    if not path.is_relative_to(folder):
        raise ExperimentError(
            "a file outside the experiment's folder",
            file=str(case.file),
            key=key,
            value=name,
            right="put it beside the experiment",
        )
    if not exists:
        raise ExperimentError(
            "no such file", file=str(case.file), key=key, value=name, right=f"it should lie in {folder}"
        )
    return path
