"""An experiment with programs of the command line: built by `dumbbell exec` and `dumbbell shell`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from dumbbell.errors import ExperimentError
from dumbbell.spec.document import Case, Experiment, free_name, read
from dumbbell.spec.units import Wrong, duration_ns, size_bytes, value_of

__all__ = ["COMMAND", "TypedCommand", "quantity", "with_typed"]

N = TypeVar("N", int, float)
COMMAND = "command"
SERVER = "server"
OTHER_END = {"receiver": "sender"}


@dataclass(frozen=True)
class TypedCommand:
    """The command of `dumbbell exec` or `dumbbell shell`, and its options."""

    command: Sequence[str]
    on: str = "receiver"
    servers: Sequence[str] = ()
    """Commands, each as one text; they run on the opposite host and must listen before `command` starts."""
    files: Sequence[str] = ()
    """NAME=SIZE: a file of zero bytes in the working directory of every typed program."""
    cc: str | None = None
    start: str | None = None
    timeout: str | None = None
    flows: bool = True
    """Also run the experiment's own flows?"""
    env: dict[str, str] = field(default_factory=dict)
    name: str = COMMAND


def with_typed(case: Case, typed: TypedCommand) -> tuple[Case, str, frozenset[str]]:
    """The case with the typed programs; the command's name among them, and the names of all.

    Raises `ExperimentError`.
    """
    experiment = case.experiment
    taken = {program.name for program in experiment.programs} | set(experiment.group_names)
    files = dict(_file(each) for each in typed.files)
    name = _free(typed.name, taken)
    made = [_server(command, _free(SERVER, taken), typed, files) for command in typed.servers]
    made.append(
        {"name": name, "host": typed.on, "run": list(typed.command), "cc": typed.cc, "files": files,
         "start": typed.start or "0s", "ends": True, "env": typed.env}
    )  # fmt: skip
    document = experiment.document(complete=True)
    document["programs"] = [*document["programs"], *made]
    if not typed.flows:
        document["flows"] = [group | {"count": 0} for group in document["flows"]]
    if typed.timeout is not None:
        document["duration"] = f"{quantity('--timeout', typed.timeout, duration_ns)}ns"
    labels = ["--server"] * len(typed.servers) + [f"the {typed.name}"]
    checked = _checked(document, case.file, len(experiment.programs), labels)
    return replace(case, experiment=checked), name, frozenset(program["name"] for program in made)


def _server(command: str, name: str, typed: TypedCommand, files: dict[str, Any]) -> dict[str, Any]:
    try:
        words = value_of("command", command)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key="--server", value=command, right="such as 'nginx -c x'") from None
    host = OTHER_END.get(typed.on, "receiver" if typed.on == "sender" else "sender")
    return {"name": name, "host": host, "run": list(words), "cc": typed.cc, "files": files, "serves": "any"}


def _checked(document: dict[str, Any], file: Path, first: int, labels: Sequence[str]) -> Experiment:
    """The experiment of a document whose programs from number `first` on are those with these labels."""
    try:
        return read(document, file)[0].experiment
    except ExperimentError as error:
        parts = error.key.split(".")
        number = int(parts[1]) - first if parts[0] == "programs" and parts[1:] else -1
        key = labels[number] if number >= 0 else "exec"
        raise ExperimentError(error.problem, key=key, value=error.value, right=error.right) from None


def quantity(key: str, text: str, reads: Callable[[object], N], least: str = "") -> N:
    """The value of an option such as `--timeout`. Raises `ExperimentError` if it is invalid or below `least`."""
    try:
        value = reads(text)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key=key, value=text, right=wrong.right) from None
    if least and value < reads(least):
        raise ExperimentError("too little", key=key, value=text, right=f"at least {least}")
    return value


def _file(text: str) -> tuple[str, dict[str, int]]:
    name, equals, size = text.partition("=")
    try:
        if equals and name:
            return name, {"bytes": size_bytes(size)}
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key="--file", value=text, right=wrong.right) from None
    raise ExperimentError("not a file", key="--file", value=text, right="NAME=SIZE, such as --file big=61MB")


def _free(name: str, taken: set[str]) -> str:
    free = free_name(name, taken.__contains__)
    taken.add(free)
    return free
