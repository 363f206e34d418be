"""All errors, as one class tree; and the signals that end a command.

```text
DumbbellError                 2  the request is wrong, or this host can't meet it
├── ExperimentError           2  an experiment file is invalid
├── PlanError                 2  the engine can't run a valid experiment
├── KernelError               2  a kernel can't be found, built or used
│   ├── ToolMissing           2  a program that the build or the run needs is missing
│   └── BuildFailed           2  Linux's make failed
├── StackError                2  a QUIC stack can't be found, built or used
├── HostError                 2  a remote host can't be reached or used
├── OutputError               2  the result can't be written
├── ResultError               2  a result folder can't be read
├── ImportProblem             2  a log of another program can't be parsed
├── LocalHostError            2  this host can't be inspected, or can't be changed as requested
├── FilterError               2  a connection filter is invalid
├── ClusterError              2  a cluster can't be reached, or has no usable worker
│   └── ClusterLost           4  the connection to a cluster was lost during a sweep
├── MissingExtra              2  an optional package is not installed
├── TransferError             4  a download failed
│   └── UrlError              2  a URL is invalid
└── EngineError               4  a run started and gave no result
    ├── HostLost              4  the connection to a remote host was lost during a run
    ├── GuestPanic            4  the guest kernel panicked
    ├── GuestHang             4  the guest exceeded its wall-clock limit
    └── GuestOutOfMemory      4  the guest ran out of memory
```

The number is the command's exit status (`ExitStatus`). A run that ends with an
invalid result raises nothing: `run.json` gives the reason, and the status is 3.
A command that a signal ends stops, cleans up and exits with status 130.
"""

import signal
from enum import IntEnum
from typing import ClassVar

__all__ = [
    "BuildFailed",
    "ClusterError",
    "ClusterLost",
    "DumbbellError",
    "EngineError",
    "ExperimentError",
    "FilterError",
    "GuestHang",
    "GuestOutOfMemory",
    "GuestPanic",
    "HostError",
    "HostLost",
    "ImportProblem",
    "KernelError",
    "LocalHostError",
    "MissingExtra",
    "OutputError",
    "PlanError",
    "ResultError",
    "StackError",
    "ToolMissing",
    "TransferError",
    "UrlError",
    "Wrong",
]

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Ctrl-C, `kill`, a closed terminal, and Ctrl-backslash."""


class ExitStatus(IntEnum):
    """The exit statuses of every command; `exec` and `shell` pass a program's own through."""

    about: str

    def __new__(cls, number: int, about: str) -> "ExitStatus":
        """A status and its meaning."""
        status = int.__new__(cls, number)
        status._value_ = number
        status.about = about
        return status

    DONE = 0, "done"
    JUDGED_NEGATIVE = 1, "judged negative: a failed expectation, a difference, a failed criterion or test"
    WRONG_REQUEST = 2, "wrong request, or this host can't meet it"
    INVALID_RUN = 3, "a run is invalid: its numbers must not be used"
    FAILED = 4, "the engine, a host or a transfer failed: there is no result"
    UNDECIDED = 5, "undecided: the answer is not known"
    INTERRUPTED = 130, "interrupted"

    @classmethod
    def of(cls, *, valid: bool, positive: bool) -> "ExitStatus":
        """Of a judgement over runs: an invalid run weighs more than what was judged."""
        if not valid:
            return cls.INVALID_RUN
        return cls.DONE if positive else cls.JUDGED_NEGATIVE


class DumbbellError(Exception):
    """Base class. The message is shown to the user."""

    exit_status: ClassVar[ExitStatus] = ExitStatus.WRONG_REQUEST


class ExperimentError(DumbbellError):
    """An experiment file is invalid.

    The message has the file, the key, the problem, the value, and what to write instead.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str = "",
        key: str = "",
        value: object = None,
        right: str = "",
        line: int | None = None,
        report: str = "",
    ) -> None:
        self.problem = problem
        self.file = file
        self.line = line
        """Line of the file, from 1."""
        self.report = report
        """All mistakes of the file with excerpts, for a terminal; empty if there is nothing to show."""
        self.key = key
        self.value = value
        self.right = right
        super().__init__(_message((file, key), problem, value, right))

    def within(self, file: str) -> "ExperimentError":
        """The same error, with the file name added if it has none."""
        if self.file:
            return self
        return ExperimentError(
            self.problem, file=file, key=self.key, value=self.value, right=self.right, line=self.line,
            report=self.report,
        )  # fmt: skip


class Wrong(ValueError):
    """A value that can't be: what is wrong with it, and what would be right."""

    def __init__(self, problem: str, right: str = "", is_lacking: bool = False) -> None:
        self.problem = problem
        self.right = right
        self.is_lacking = is_lacking
        """Does Linux accept it, and only the simulator lacks it?"""
        super().__init__(f"{problem}; {right}" if right else problem)


class PlanError(DumbbellError):
    """A valid experiment that the engine can't run."""


class KernelError(DumbbellError):
    """A kernel can't be found, built or used."""


class ToolMissing(KernelError):
    """A program that the build or the run needs is not installed."""

    def __init__(self, tool: str, needed_for: str, package: str) -> None:
        self.tool = tool
        super().__init__(
            f"'{tool}' is needed {needed_for} and is not installed; install it with: sudo apt-get install -y {package}"
        )


class BuildFailed(KernelError):
    """Linux's make failed; most likely the source is at fault, not this host."""


class StackError(DumbbellError):
    """A QUIC stack can't be found, built or used."""


class HostError(DumbbellError):
    """A remote host can't be reached, or lacks what the experiment needs. Nothing on it was changed."""


class MissingExtra(DumbbellError):
    """An optional package is not installed; the message has the command that installs it."""


class OutputError(DumbbellError):
    """The result can't be written."""


class ResultError(DumbbellError):
    """A result folder can't be read."""


class ImportProblem(DumbbellError):
    """A log of another program can't be parsed.

    The message has the file, the line (or, in a file without lines, the position), the value, and what is expected.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str = "",
        line: int | None = None,
        place: str = "",
        value: object = None,
        right: str = "",
    ) -> None:
        self.problem = problem
        self.file = file
        self.line = line
        self.place = place
        self.value = value
        self.right = right
        super().__init__(_message((file, "" if line is None else f"line {line}", place), problem, value, right))

    def within(self, file: str) -> "ImportProblem":
        """The same error, with the file name added if it has none."""
        if self.file:
            return self
        return ImportProblem(
            self.problem, file=file, line=self.line, place=self.place, value=self.value, right=self.right
        )


class LocalHostError(DumbbellError):
    """The local host can't be inspected, or can't be changed as requested."""


class TransferError(DumbbellError):
    """A download failed: refused, interrupted, timed out, or an untrusted certificate."""

    exit_status = ExitStatus.FAILED


class UrlError(TransferError):
    """A URL is invalid."""

    exit_status = ExitStatus.WRONG_REQUEST


class FilterError(DumbbellError):
    """A connection filter is invalid.

    The message has the position in the text, the problem, and what to write instead. `place` counts from 0.
    """

    def __init__(self, problem: str, text: str, place: int, right: str = "") -> None:
        self.problem = problem
        self.text = text
        self.place = place
        self.right = right
        where = f"filter, at character {place + 1}" if place < len(text) else "filter, at its end"
        super().__init__(_message((where,), problem, text, right))


class ClusterError(DumbbellError):
    """A cluster can't be reached, or has no usable worker. Nothing ran."""


class ClusterLost(ClusterError):
    """The connection to a cluster was lost during a sweep. Rows received before are kept."""

    exit_status = ExitStatus.FAILED


class EngineError(DumbbellError):
    """A run started and gave no result."""

    exit_status = ExitStatus.FAILED


class HostLost(EngineError):
    """The connection to a remote host was lost during a run, or the host aborted it. Its watchdog restores the host."""


class GuestPanic(EngineError):
    """The guest kernel panicked."""


class GuestHang(EngineError):
    """The guest exceeded its wall-clock limit."""


class GuestOutOfMemory(EngineError):
    """The guest ran out of memory."""


def _message(where: tuple[str, ...], problem: str, value: object, right: str) -> str:
    """`WHERE: PROBLEM, got VALUE; RIGHT`."""
    text = ": ".join([*(part for part in where if part), problem])
    if value is not None:
        text += f", got {_quoted(value)}"
    return f"{text}; {right}" if right else text


def _quoted(value: object) -> str:
    """The `repr` of a value, cut to 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
