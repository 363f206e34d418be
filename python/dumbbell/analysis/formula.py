"""Values and filters of a sweep's table: parsed, checked, and never evaluated as code.

```text
groups.bbr.share
groups.bbr.throughput_mbps / groups.cubic.throughput_mbps
queue.delay_ms.mean > 50 and engine = 'sim'
```

SQL expressions over the columns of a row; column names with dots need no quotes. Sweep files may be untrusted, and SQL
can read files: only the names in `WORDS` and `FUNCTIONS` are accepted, and no queries. `dumbbell.sweeps` runs the
user's own full queries.
"""

import re
from collections.abc import Iterator, Sequence

import polars as pl

from dumbbell.errors import ResultError
from dumbbell.spec.units import suggest

__all__ = ["check_names_a_metric", "condition", "quoted", "value"]

FUNCTIONS = frozenset("abs ceil coalesce exp floor greatest if least ln log10 log2 nullif pow round sign sqrt".split())
WORDS = frozenset("and or not is null true false in between like case when then else end".split())

_TOKEN = re.compile(
    r"""(?P<text>'(?:[^']|'')*')|(?P<quoted>"(?:[^"]|"")*")|(?P<comment>--[^\n]*|/\*.*?\*/)
    |(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<word>[^\W\d]\w*)
    |(?P<sign><=|>=|<>|!=|[-+*/%(),=<>])|(?P<space>\s+)|(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_PLAIN = re.compile(r"[^\W\d]\w*")
MOST_CHARACTERS = 2_000
MOST_DEPTH = 40


def value(text: str, table: pl.DataFrame) -> pl.Expr:
    """A number for each run. Raises `ResultError` with the valid names."""
    made = _expression(text, table, "a value")
    check_names_a_metric(text)
    kind = _kind(made, text, table)
    if not kind.is_numeric():
        raise ResultError(f"'{text}' is {kind}, not a number per run; {_RIGHT}")
    number = made.cast(pl.Float64)
    # A share of nothing, or a division by zero, is unknown.
    return pl.when(number.is_finite()).then(number)


def check_names_a_metric(text: str) -> None:
    """Raises `ResultError` for an expression of numbers alone, such as `1/0`, which is the same for every run."""
    words = ((kind, part) for kind, part in _parts(text, ()) if kind in ("word", "quoted"))
    if not any(_names(*each) and each[1].lower() not in FUNCTIONS for each in words):
        raise ResultError(f"'{text}' names no metric; {_RIGHT}")


def condition(text: str, table: pl.DataFrame) -> pl.Expr:
    """A condition that selects runs, such as `seed <= 3`. Raises `ResultError` with the valid names."""
    made = _expression(text, table, "a condition")
    if (kind := _kind(made, text, table)) != pl.Boolean:
        raise ResultError(f"'{text}' is {kind}, not a condition; write one such as seed <= 3, or engine = 'sim'")
    return made


def quoted(text: str, columns: Sequence[str]) -> str:
    """The same SQL with quotes around columns whose names contain dots or other signs; literals stay as they are."""
    return "".join(part for _, part in _parts(text, columns))


def _parts(text: str, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Tokens with their kinds; an unquoted column becomes one quoted token."""
    dotted_columns = sorted((name for name in columns if not _PLAIN.fullmatch(name)), key=len, reverse=True)
    known = re.compile(rf"(?:{'|'.join(map(re.escape, dotted_columns))})(?![\w.])") if dotted_columns else None
    place = 0
    while place < len(text):
        column_match = (
            known.match(text, place) if known and not re.match(r"\w", text[max(place - 1, 0) : place]) else None
        )
        if column_match is not None:
            yield "quoted", '"' + column_match[0].replace('"', '""') + '"'
            place = column_match.end()
            continue
        token = _TOKEN.match(text, place)
        assert token is not None
        yield str(token.lastgroup), token[0]
        place = token.end()


def _expression(text: str, table: pl.DataFrame, what: str) -> pl.Expr:
    if not text.strip() or len(text) > MOST_CHARACTERS or text.count("(") > MOST_DEPTH:
        raise ResultError(f"'{text[:80]}' is not {what}; {_RIGHT}")
    parts = [(kind, part) for kind, part in _parts(text, table.columns) if kind != "space"]
    for (kind, part), (_, following) in zip(parts, [*parts[1:], ("", "")], strict=True):
        _refuse(kind, part, following, text, table)
    try:
        return pl.sql_expr(" ".join(part for _, part in parts))
    except pl.exceptions.PolarsError as error:
        raise ResultError(f"'{text}' can't be parsed as {what}: {_first_line(error)}; {_RIGHT}") from None


def _refuse(kind: str, part: str, following: str, text: str, table: pl.DataFrame) -> None:
    """Accept only columns, literals, signs, and the words and functions above. Raises `ResultError`."""
    if kind in ("comment", "other"):
        raise ResultError(f"'{part}' is not allowed in '{text}'; {_RIGHT}")
    if _names(kind, part) and _names("quoted" if following.startswith('"') else "word", following):
        raise ResultError(f"missing operator between {part} and {following} in '{text}'; {_RIGHT}")
    if kind == "quoted":
        name = part[1:-1].replace('""', '"')
        if name not in table.columns:
            raise _unknown(name, text, table)
    if kind == "word" and not _known(part, following, table):
        if following == "(":
            raise ResultError(f"unknown function '{part}' in '{text}'; choose from: {', '.join(sorted(FUNCTIONS))}")
        raise _unknown(_dotted(part, text), text, table)


def _names(kind: str, part: str) -> bool:
    """Is it a name, and no SQL keyword?"""
    return kind == "quoted" or (kind == "word" and bool(_PLAIN.fullmatch(part)) and part.lower() not in WORDS)


def _known(word: str, following: str, table: pl.DataFrame) -> bool:
    if following == "(" and word.lower() not in WORDS:
        return word.lower() in FUNCTIONS
    return word.lower() in WORDS or word in table.columns


def _dotted(word: str, text: str) -> str:
    """The whole dotted name that begins with this word."""
    found = re.search(rf"\b{re.escape(word)}(?:[.\w-]*\w)?", text)
    return found[0] if found else word


def _unknown(name: str, text: str, table: pl.DataFrame) -> ResultError:
    where = "" if name == text.strip() else f" in '{text}'"
    return ResultError(f"unknown column '{name}'{where}; {suggest(name, table.columns)}")


def _kind(made: pl.Expr, text: str, table: pl.DataFrame) -> pl.DataType:
    try:
        return table.clear().select(made.alias("it")).schema["it"]
    except pl.exceptions.PolarsError as error:
        raise ResultError(f"'{text}' can't be evaluated: {_first_line(error)}; {_RIGHT}") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["?"])[0]


_RIGHT = "write a metric, or an arithmetic expression such as groups.bbr.throughput_mbps / groups.cubic.throughput_mbps"
