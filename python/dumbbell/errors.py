"""Everything that can go wrong, as one tree.

```text
DumbbellError                 2  the request was wrong, or can't be met here
├── ExperimentError           2  an experiment file says something it can't
├── PlanError                 2  a sound experiment that this engine can't run
├── KernelError               2  a kernel can't be found, built or used
│   ├── ToolMissing           2  a program that the build or the run needs
│   └── BuildFailed           2  Linux's own make said no
├── HostError                 2  a real host can't be reached or used
├── OutputError               2  the result can't be put where it was asked
├── ResultError               2  a result folder can't be read
├── ImportProblem             2  a log of another program can't be read as what it looks like
├── MachineError              2  this machine can't be asked, or can't do what was asked
├── FilterError               2  a filter of connections says something it can't
├── ClusterError              2  a cluster can't be reached, or none of its workers can be used
│   └── ClusterLost           1  a cluster went away in the middle of a sweep
├── TransferError             1  a server, or the way to it, didn't do what was asked
└── EngineError               1  a run started and gave no result
    ├── HostLost              1  a real host went away in the middle of a run
    ├── GuestPanic            1  the guest kernel died
    ├── GuestHang             1  the guest outlived its limit in wall time
    └── GuestOutOfMemory      1  the guest had too little memory
```

The number is the command's exit status. A run that ends with a result, but an
invalid one, raises nothing: `run.json` says why.
"""

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
    "MachineError",
    "OutputError",
    "PlanError",
    "ResultError",
    "ToolMissing",
    "TransferError",
]


class DumbbellError(Exception):
    """Root of the tree; its text is written for the person who asked."""

    exit_status: ClassVar[int] = 2


class ExperimentError(DumbbellError):
    """An experiment file says something it can't.

    Names the file, the key, the value, what is wrong, and what would be right.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str = "",
        key: str = "",
        value: object = None,
        right: str = "",
    ) -> None:
        self.problem = problem
        self.file = file
        self.key = key
        self.value = value
        self.right = right
        super().__init__(_told((file, key), problem, value, right))

    def within(self, file: str) -> "ExperimentError":
        """The same error, with the file's name where it had none."""
        if self.file:
            return self
        return ExperimentError(self.problem, file=file, key=self.key, value=self.value, right=self.right)


class PlanError(DumbbellError):
    """A sound experiment that this engine can't run."""


class KernelError(DumbbellError):
    """A kernel can't be found, built or used."""


class ToolMissing(KernelError):
    """A program that the build or the run needs is not on this machine."""

    def __init__(self, tool: str, needed_for: str, package: str) -> None:
        self.tool = tool
        super().__init__(
            f"'{tool}' is needed {needed_for} and is not on this machine; "
            f"install it with: sudo apt-get install -y {package}"
        )


class BuildFailed(KernelError):
    """Linux's own make said no: the source, not the machine, is at fault, as far as one can tell."""


class HostError(DumbbellError):
    """A real host can't be reached, or isn't as an experiment needs it; nothing on it was changed."""


class OutputError(DumbbellError):
    """The result can't be put where it was asked."""


class ResultError(DumbbellError):
    """A result folder can't be read."""


class ImportProblem(DumbbellError):
    """A log of another program can't be read as what it looks like.

    Names the file, the line (or, in a file without lines, the place), what stands there, and what would be right.
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
        super().__init__(_told((file, "" if line is None else f"line {line}", place), problem, value, right))

    def within(self, file: str) -> "ImportProblem":
        """The same error, with the file's name where it had none."""
        if self.file:
            return self
        return ImportProblem(
            self.problem, file=file, line=self.line, place=self.place, value=self.value, right=self.right
        )


class MachineError(DumbbellError):
    """The machine that we are on can't be asked, or can't do what was asked."""


class TransferError(DumbbellError):
    """A server, or the way to it, didn't do what was asked: refused, cut off, too slow, not what it says it is."""

    exit_status = 1


class FilterError(DumbbellError):
    """A filter of connections says something it can't.

    Names the place in the text, from 0, what is wrong, and what would be right.
    """

    def __init__(self, problem: str, text: str, place: int, right: str = "") -> None:
        self.problem = problem
        self.text = text
        self.place = place
        self.right = right
        where = f"filter, at character {place + 1}" if place < len(text) else "filter, at its end"
        super().__init__(_told((where,), problem, text, right))


class ClusterError(DumbbellError):
    """A cluster can't be reached, or none of its workers can be used; nothing ran."""


class ClusterLost(ClusterError):
    """A cluster went away in the middle of a sweep; the rows that came before are kept."""

    exit_status = 1


class EngineError(DumbbellError):
    """A run started and gave no result."""

    exit_status = 1


class HostLost(EngineError):
    """A real host went away in the middle of a run, or broke it off; its warden puts everything back."""


class GuestPanic(EngineError):
    """The guest kernel died."""


class GuestHang(EngineError):
    """The guest outlived its limit in wall time."""


class GuestOutOfMemory(EngineError):
    """The guest had too little memory."""


def _told(where: tuple[str, ...], problem: str, value: object, right: str) -> str:
    """Where: what is wrong, what stands there; what would be right."""
    text = ": ".join([*(part for part in where if part), problem])
    if value is not None:
        text += f", got {_shown(value)}"
    return f"{text}; {right}" if right else text


def _shown(value: object) -> str:
    """A value as its writer would know it again, cut when long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
