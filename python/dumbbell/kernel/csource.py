"""What a C file says of the congestion controls in it, read without compiling.

A tokeniser and one search: `struct tcp_congestion_ops NAME = { … .name = "mine" … }` (include/net/tcp.h), and which
of them are handed to `tcp_register_congestion_control`. Comments and preprocessor lines say nothing. Whether the file
compiles, the compiler says; whether it registers what it declares, a boot does (`boot`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dumbbell.errors import KernelError

__all__ = ["Token", "controllers_in", "tokens"]

OPS, REGISTER = "tcp_congestion_ops", "tcp_register_congestion_control"
NAME = re.compile(r"[a-z][a-z0-9_-]{0,14}\Z")
"""At most 15 characters (TCP_CA_NAME_MAX less the end), and what an experiment's `cc` and a symbol of C can hold."""


@dataclass(frozen=True)
class Token:
    """A word, a literal or a sign, and the line that it stands in."""

    text: str
    line: int


def controllers_in(text: str, file: str) -> tuple[str, ...]:
    """The names that the file registers, in its order; of one that calls nothing by name, all that it declares.

    `file` is for the errors. Raises KernelError when there is none, or when a name can't be seen or can't be one.
    """
    found = list(tokens(text))
    declared = _declared(found)
    if not declared:
        raise KernelError(
            f"{file}: declares no congestion control; right: a 'struct {OPS} NAME = {{ … .name = \"mine\" … }}' "
            f"that an init function hands to {REGISTER}, as examples/tcp_target.c does"
        )
    registered = _registered(found)
    wanted = [each for each in declared if each in registered] or list(declared)
    names = [_name(each, declared[each], file) for each in wanted]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise KernelError(f"{file}: two congestion controls are called '{twice}'; right: a name for each")
    return tuple(names)


def tokens(text: str) -> Iterator[Token]:
    """Of any text; comments, white space and preprocessor lines are left out."""
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
    """By its variable, what stands between the braces of each structure's initialiser."""
    declared = {}
    for start, token in enumerate(found):
        if token.text != OPS or start + 1 == len(found) or not found[start + 1].text.isidentifier():
            continue
        opening = start + 2
        # An attribute such as __read_mostly or __aligned(8) may stand before the sign.
        while opening < len(found) and found[opening].text not in ("=", ";", "{", "}", ","):
            opening += 1
        if [each.text for each in found[opening : opening + 2]] == ["=", "{"]:
            declared[found[start + 1].text] = found[start + 1 : _closing(found, opening + 1)]
    return declared


def _closing(found: list[Token], opening: int) -> int:
    """Where the brace that opens there closes; the end of the file if it doesn't."""
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
    """The value of `.name`, from the literals that it is made of."""
    texts = [token.text for token in body]
    starts = [at for at in range(len(texts)) if texts[at : at + 3] == [".", "name", "="]]
    if not starts:
        raise KernelError(f"{file}:{body[0].line}: '{variable}' has no name; right: .name = \"mine\"")
    start = starts[0] + 3
    end = next((at for at in range(start, len(texts)) if texts[at] == ","), len(texts))
    parts = texts[start:end]
    if not parts or not all(part.startswith('"') for part in parts):
        shown = " ".join(parts) or "empty"
        raise KernelError(
            f"{file}:{body[start - 1].line}: the name of '{variable}' is {shown}, which only the preprocessor knows; "
            'right: the name itself, as in .name = "mine"'
        )
    name = "".join(part[1:-1] for part in parts)
    if not NAME.match(name):
        raise KernelError(
            f'{file}:{body[start].line}: "{name}" can\'t name a congestion control here; '
            "right: at most 15 small letters, digits, _ and -, the first a letter"
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
