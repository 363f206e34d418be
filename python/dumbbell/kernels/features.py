"""What a kernel offers: its congestion controls and qdiscs; the congestion controls that a C file registers.

Those of a kernel come from its configuration and manifest. Those of a C file are found without compiling it: it is
tokenized and searched for `struct tcp_congestion_ops NAME = { … .name = "mine" … }` (include/net/tcp.h) and for calls
of `tcp_register_congestion_control`. Comments and preprocessor lines are ignored. The compiler and a boot check the
rest.
"""

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass

from dumbbell.errors import KernelError
from dumbbell.kernels.store import Kernel, kernels

__all__ = [
    "controllers",
    "controllers_in",
    "disciplines",
    "features",
    "holders",
    "tokens",
]


_CONTROLS = re.compile(r"^CONFIG_TCP_CONG_([A-Z0-9_]+)=y$", re.MULTILINE)
_NAMES = {"HSTCP": "highspeed"}
_NOT_ONE = {"ADVANCED"}
_ALWAYS = "reno"
_QUEUES = re.compile(r"^CONFIG_NET_SCH_([A-Z0-9_]+)=y$", re.MULTILINE)
_FIFOS = {"pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast"}
"""In every kernel with traffic control."""


def controllers(kernel: Kernel) -> tuple[str, ...] | None:
    """Sorted names; None if the kernel's configuration is unknown."""
    config = _config(kernel)
    if config is None:
        return None
    found = {_NAMES.get(symbol, symbol.lower()) for symbol in _CONTROLS.findall(config) if symbol not in _NOT_ONE}
    return tuple(sorted(found | {_ALWAYS} | {name for added in kernel.added for name in added.names}))


def disciplines(kernel: Kernel) -> tuple[str, ...] | None:
    """Sorted names, as in tc; None if the kernel's configuration is unknown."""
    config = _config(kernel)
    return None if config is None else tuple(sorted({name.lower() for name in _QUEUES.findall(config)} | _FIFOS))


def features(kernel: Kernel) -> frozenset[str]:
    """Its congestion controls and queue disciplines; empty if its configuration is unknown."""
    return frozenset((*(controllers(kernel) or ()), *(disciplines(kernel) or ())))


def holders(names: Set[str]) -> list[Kernel]:
    """The stored kernels that have all these congestion controls and queue disciplines.

    Raises KernelError for a damaged kernel.json.
    """
    return [kernel for kernel in kernels() if names <= features(kernel)]


def _config(kernel: Kernel) -> str | None:
    try:
        return (kernel.folder / "config").read_text(encoding="utf-8")
    except OSError:
        return None


OPS, REGISTER = "tcp_congestion_ops", "tcp_register_congestion_control"
NAME = re.compile(r"[a-z][a-z0-9_-]{0,14}\Z")
"""At most 15 characters (TCP_CA_NAME_MAX minus one), valid both as an experiment's `cc` and in a C symbol."""


@dataclass(frozen=True)
class Token:
    """A C token and its line."""

    text: str
    line: int


def controllers_in(text: str, file: str) -> tuple[str, ...]:
    """The names that the file registers, in order; all declared names if it registers none directly.

    `file` is for error messages. Raises KernelError if there is none, or for an invalid or computed name.
    """
    found = list(tokens(text))
    declared = _declared(found)
    if not declared:
        raise KernelError(
            f"{file}: declares no congestion control; define a 'struct {OPS} NAME = {{ … .name = \"mine\" … }}' "
            f"and pass it to {REGISTER} in an init function, as examples/tcp_target.c does"
        )
    registered = _registered(found)
    variables = [each for each in declared if each in registered] or list(declared)
    names = [_name(each, declared[each], file) for each in variables]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise KernelError(f"{file}: two congestion controls have the name '{twice}'; use different names")
    return tuple(names)


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a text, without comments, white space and preprocessor lines."""
    line, fresh = 1, True
    at = 0
    while at < len(text):
        match = (_DIRECTIVE.match(text, at) if fresh else None) or _TOKEN.match(text, at)
        assert match is not None
        kind, what = match.lastgroup, match.group()
        if kind == "token":
            yield Token(what, line)
        fresh = "\n" in what if kind == "space" else kind == "comment" and fresh
        line += what.count("\n")
        at = match.end()


def _declared(found: list[Token]) -> dict[str, list[Token]]:
    """The tokens of each structure's initializer, by variable name."""
    declared = {}
    for start, token in enumerate(found):
        if token.text != OPS or start + 1 == len(found) or not found[start + 1].text.isidentifier():
            continue
        opening = start + 2
        # Attributes such as __read_mostly or __aligned(8) may precede the equals sign.
        while opening < len(found) and found[opening].text not in ("=", ";", "{", "}", ","):
            opening += 1
        if [each.text for each in found[opening : opening + 2]] == ["=", "{"]:
            declared[found[start + 1].text] = found[start + 1 : _closing(found, opening + 1)]
    return declared


def _closing(found: list[Token], opening: int) -> int:
    """The index of the matching closing brace, or the end of the file."""
    depth = 0
    for at in range(opening, len(found)):
        depth += {"{": 1, "}": -1}.get(found[at].text, 0)
        if depth == 0:
            return at
    return len(found)


def _registered(found: list[Token]) -> set[str]:
    texts = [token.text for token in found]
    starts = [at for at, text in enumerate(texts) if text == REGISTER]
    return {texts[at + 3] for at in starts if texts[at + 1 : at + 3] == ["(", "&"] and len(texts) > at + 3}


def _name(variable: str, body: list[Token], file: str) -> str:
    """The value of `.name`, from its string literals."""
    texts = [token.text for token in body]
    starts = [at for at in range(len(texts)) if texts[at : at + 3] == [".", "name", "="]]
    if not starts:
        raise KernelError(f"{file}:{body[0].line}: '{variable}' has no name; add .name = \"mine\"")
    start = starts[0] + 3
    end = next((at for at in range(start, len(texts)) if texts[at] == ","), len(texts))
    parts = texts[start:end]
    if not parts or not all(part.startswith('"') for part in parts):
        shown = " ".join(parts) or "empty"
        raise KernelError(
            f"{file}:{body[start - 1].line}: the name of '{variable}' is {shown}, not a string literal; "
            'write it literally, as in .name = "mine"'
        )
    name = "".join(part[1:-1] for part in parts)
    if not NAME.match(name):
        raise KernelError(
            f'{file}:{body[start].line}: "{name}" is not a valid name of a congestion control; '
            "use at most 15 lower-case letters, digits, _ and -, starting with a letter"
        )
    return name


_DIRECTIVE = re.compile(r"(?P<directive>#(?:/\*[\s\S]*?\*/|\\[\s\S]|[^\\\n])*)")
_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<comment>//(?:\\[\s\S]|[^\\\n])*|/\*[\s\S]*?(?:\*/|\Z))"
    r'|(?P<token>"(?:\\[\s\S]|[^"\\\n])*"?'
    r"|'(?:\\[\s\S]|[^'\\\n])*'?"
    r"|\w+|[\s\S])"
)
