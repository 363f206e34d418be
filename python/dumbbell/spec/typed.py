"""An experiment with programs of the command line: built by `dumbbell exec` and `dumbbell shell`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import ValidationError

from dumbbell.errors import ExperimentError
from dumbbell.spec.document import Case
from dumbbell.spec.model import Experiment
from dumbbell.spec.names import free_name
from dumbbell.spec.programs import Program, check_programs, command_words
from dumbbell.spec.units import Wrong, duration_ns, size_bytes

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
        _program(f"the {typed.name}", name=name, on=typed.on, run=tuple(typed.command), cc=typed.cc, files=files,
                 start=typed.start or "0s", ends=True, env=typed.env)
    )  # fmt: skip
    changed: dict[str, Any] = {"programs": (*experiment.programs, *made)}
    if not typed.flows:
        changed["flows"] = tuple(group.model_copy(update={"count": 0}) for group in experiment.flows)
    if typed.timeout is not None:
        changed["duration"] = quantity("--timeout", typed.timeout, duration_ns)
    return (
        replace(case, experiment=_checked(experiment, changed)),
        name,
        frozenset(program.name for program in made),
    )


def _server(command: str, name: str, typed: TypedCommand, files: dict[str, Any]) -> Program:
    try:
        words = command_words(command)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key="--server", value=command, right="such as 'nginx -c x'") from None
    on = OTHER_END.get(typed.on, "receiver" if typed.on == "sender" else "sender")
    return _program("--server", name=name, on=on, run=words, cc=typed.cc, files=files, serves="any")


def _program(key: str, **values: Any) -> Program:
    try:
        return Program.model_validate(values)
    except ValidationError as error:
        raise _experiment_error(error, key) from None


def _checked(experiment: Experiment, changed: dict[str, Any]) -> Experiment:
    """The same experiment with some values changed; the rules for programs are checked again."""
    made = experiment.model_copy(update=changed)
    try:
        check_programs(made.programs, made.duration, made.group_names, sum(group.count for group in made.flows))
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key="exec", right=wrong.right) from None
    return made


def _experiment_error(error: ValidationError, key: str) -> ExperimentError:
    first = error.errors()[0]
    wrong = first.get("ctx", {}).get("error")
    if isinstance(wrong, Wrong):
        return ExperimentError(wrong.problem, key=key, right=wrong.right)
    return ExperimentError(first["msg"], key=key, value=first["input"])


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
