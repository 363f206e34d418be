"""`[[programs]]`: programs of the machine that run in an experiment's hosts.

`docs/experiment.md` is the same list for people. What a program sees of the machine is the agent's affair
(`crates/agent/src/programs/sandbox.rs`); which host it gets is `crates/experiment/src/plan/programs.rs`'.
"""

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from dumbbell.spec.fields import Controller, Name, Size, Time
from dumbbell.spec.strict import Strict
from dumbbell.spec.units import Wrong

__all__ = ["Program", "Zeros", "check_programs", "command_words"]

MOST_TEXT = 1 << 20
"""Bytes of all texts that a program brings with it, and of its command."""
MOST_FILES = 10_000
PLACE = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
LOWEST_PORT, HIGHEST_PORT = 0, 65535


def command_words(value: object) -> tuple[str, ...]:
    """A command as words, split as a shell splits them; no shell runs. Raises `Wrong`."""
    right = 'such as run = "curl -s http://sender/" or run = ["curl", "-s", "http://sender/"]'
    words: object = value
    if isinstance(value, str):
        try:
            words = shlex.split(value)
        except ValueError as error:
            raise Wrong(f"not a command: {str(error).lower()}", right) from None
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise Wrong("not a command", right)
    if not words or not words[0]:
        raise Wrong("an empty command", right)
    if any("\0" in word for word in words) or sum(map(len, words)) > MOST_TEXT:
        raise Wrong("the command is too long or has a NUL", "no NUL in it, and shorter than 1 MiB")
    return tuple(words)


def _files(value: object) -> dict[str, Any]:
    right = 'a table such as { "nginx.conf" = "…", "big" = { bytes = "61MB" } }'
    if not isinstance(value, dict) or len(value) > MOST_FILES:
        raise Wrong("not a table of files", right)
    for name in value:
        path = PurePosixPath(name)
        if not name or "\0" in name or path.is_absolute() or ".." in path.parts or path.parts == ():
            raise Wrong(
                f"'{name}' is not a file of the working folder", "a plain path below it, such as www/index.html"
            )
    if sum(len(text.encode()) for text in value.values() if isinstance(text, str)) > MOST_TEXT:
        raise Wrong("the texts exceed 1 MiB in total", 'a file of zero bytes is { bytes = "61MB" }')
    return value


def _env(value: object) -> dict[str, str]:
    right = 'a table of texts, such as { SSLKEYLOGFILE = "keys" }'
    if not isinstance(value, dict):
        raise Wrong("not an environment", right)
    for key, text in value.items():
        if not VARIABLE.match(str(key)) or not isinstance(text, str) or "\0" in text or len(text) > MOST_TEXT:
            raise Wrong(f"'{key}' is not a variable with a text", right)
    return value


def _serves(value: object) -> int:
    if value == "any":
        return 0
    # 0 means "any" in a manifest.
    if isinstance(value, bool) or not isinstance(value, int) or not LOWEST_PORT <= value <= HIGHEST_PORT:
        raise Wrong("not a TCP port", 'such as serves = 80, or "any"')
    return value


def _folder(value: object) -> str:
    path = PurePosixPath(value) if isinstance(value, str) and "\0" not in value else None
    if path is None or not path.is_absolute() or ".." in path.parts or path.parts[:2] in _KEPT:
        raise Wrong("not a folder that can be made writable", "an absolute path, such as /var/lib/nginx")
    return str(path)


def _place(value: object) -> str:
    if not isinstance(value, str) or not PLACE.match(value):
        raise Wrong("not a host", "sender, receiver, or another host as `dumbbell plan` names them")
    return value


_KEPT = (("/",), ("/", "proc"), ("/", "sys"), ("/", "dev"), ("/", "run"))
"""Folders of the system itself."""


class Zeros(Strict):
    """A file of so many zero bytes; it takes no memory."""

    bytes: Size


class Program(Strict):
    """One program in one host."""

    name: Name
    on: Annotated[str, BeforeValidator(_place)]
    group: Name | None = None
    """Whose sender or receiver `on` means; none: the first group's."""
    run: Annotated[tuple[str, ...], BeforeValidator(command_words)]
    start: Time = 0
    stop: Literal["end"] | Time | None = None
    serves: Annotated[int, BeforeValidator(_serves)] | None = None
    """The TCP port at which it listens; 0: any."""
    ends: bool = False
    files: Annotated[dict[str, str | Zeros], BeforeValidator(_files)] = Field(default_factory=dict)
    env: Annotated[dict[str, str], BeforeValidator(_env)] = Field(default_factory=dict)
    writable: tuple[Annotated[str, BeforeValidator(_folder)], ...] = ()
    cc: Controller | None = None
    expect_status: Annotated[int, Field(ge=0, le=255)] = 0

    @property
    def stays(self) -> bool:
        """Does it run until it is stopped?"""
        return self.serves is not None or self.stop == "end"

    @model_validator(mode="after")
    def _sound(self) -> "Program":
        if self.serves is not None and self.start:
            raise Wrong(
                "a program that serves can't have a start", "it starts before the experiment; leave 'start' out"
            )
        if isinstance(self.stop, int) and self.stop <= self.start:
            raise Wrong("stop is before start", "stop must be after start")
        if self.ends and self.stays:
            raise Wrong("'ends' needs a program that ends by itself", "leave 'ends' out")
        return self


def check_programs(programs: Sequence[Program], duration_ns: int, groups: Sequence[str], flows: int) -> None:
    """Do they fit each other and the experiment? Raises `Wrong`."""
    if not programs and not flows:
        raise Wrong("neither flows nor programs", "add [[flows]] or [[programs]]")
    names = [program.name for program in programs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise Wrong(f"two programs called '{twice}'", "name each differently")
    outputs = {f"{name}.{stream}": name for name in names for stream in ("out", "err")}
    if taken := next((name for name in names if name in outputs), None):
        # What `taken` writes is kept in a folder of that name.
        raise Wrong(f"program '{taken}' is called like the output of program '{outputs[taken]}'", "name it differently")
    for program in programs:
        if program.start >= duration_ns:
            raise Wrong(f"program '{program.name}' starts after the end", "start it before the duration is over")
        if program.group is not None and program.group not in groups:
            raise Wrong(f"no group of flows is called '{program.group}'", f"there is: {', '.join(groups)}")
        if program.name in groups:
            right = (
                "its connections become a group of that name too: give one of them another name, "
                f"such as name = '{program.name}-program'"
            )
            raise Wrong(f"program '{program.name}' is called like a group of flows", right)
