"""A value or a filter of a sweep's table, as people write it, read by hand and never evaluated.

```text
groups.bbr.share
groups.bbr.throughput_mbps / groups.cubic.throughput_mbps
queue.delay_ms.mean > 50 and engine = 'sim'
```

SQL's own expressions over the columns of a row; a column's dots need no quotes. Sweep files come from strangers, and
SQL can read files: only what `WORDS` and `FUNCTIONS` name passes, and no query. Whole queries of the one who types
them are `dumbbell.sweeps.query`'s.
"""

import re
from collections.abc import Iterator, Sequence

import polars as pl

from dumbbell.errors import ResultError
from dumbbell.spec.qdisc import suggest

__all__ = ["condition", "quoted", "value"]

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
    """A number of each run. Raises `ResultError` that names what there is."""
    made = _expression(text, table, "a value")
    kind = _kind(made, text, table)
    if not kind.is_numeric():
        raise ResultError(f"'{text}' is no number of a run, but {kind}; {_RIGHT}")
    number = made.cast(pl.Float64)
    # A share of nothing is not known; neither is what a division by zero gives.
    return pl.when(number.is_finite()).then(number)


def condition(text: str, table: pl.DataFrame) -> pl.Expr:
    """Which runs are meant, such as `seed <= 3`. Raises `ResultError` that names what there is."""
    made = _expression(text, table, "a condition")
    if (kind := _kind(made, text, table)) != pl.Boolean:
        raise ResultError(f"'{text}' is no condition, but {kind}; write one such as seed <= 3, or engine = 'sim'")
    return made


def quoted(text: str, columns: Sequence[str]) -> str:
    """The same SQL, with quotes around columns whose names hold dots or other signs; literals stay as they are."""
    return "".join(part for _, part in _parts(text, columns))


def _parts(text: str, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Tokens with their kinds; a column that stands there unquoted is one token, quoted."""
    named = sorted((name for name in columns if not _PLAIN.fullmatch(name)), key=len, reverse=True)
    known = re.compile(rf"(?:{'|'.join(map(re.escape, named))})(?![\w.])") if named else None
    place = 0
    while place < len(text):
        whole = known.match(text, place) if known and not re.match(r"\w", text[max(place - 1, 0) : place]) else None
        if whole is not None:
            yield "quoted", '"' + whole[0].replace('"', '""') + '"'
            place = whole.end()
            continue
        token = _TOKEN.match(text, place)
        assert token is not None
        yield str(token.lastgroup), token[0]
        place = token.end()


def _expression(text: str, table: pl.DataFrame, what: str) -> pl.Expr:
    if not text.strip() or len(text) > MOST_CHARACTERS or text.count("(") > MOST_DEPTH:
        raise ResultError(f"'{text[:80]}' is no {what.removeprefix('a ')}; {_RIGHT}")
    parts = [(kind, part) for kind, part in _parts(text, table.columns) if kind != "space"]
    for (kind, part), (_, following) in zip(parts, [*parts[1:], ("", "")], strict=True):
        _refuse(kind, part, following, text, table)
    try:
        return pl.sql_expr(" ".join(part for _, part in parts))
    except pl.exceptions.PolarsError as error:
        raise ResultError(f"'{text}' can't be read as {what}: {_first_line(error)}; {_RIGHT}") from None


def _refuse(kind: str, part: str, following: str, text: str, table: pl.DataFrame) -> None:
    """Only columns, literals, signs, and the words and functions that are named above. Raises `ResultError`."""
    if kind in ("comment", "other"):
        raise ResultError(f"'{part}' has no meaning in '{text}'; {_RIGHT}")
    if _names(kind, part) and _names("quoted" if following.startswith('"') else "word", following):
        raise ResultError(f"nothing stands between {part} and {following} in '{text}'; {_RIGHT}")
    if kind == "quoted":
        name = part[1:-1].replace('""', '"')
        if name not in table.columns:
            raise _unknown(name, text, table)
    if kind == "word" and not _known(part, following, table):
        if following == "(":
            raise ResultError(f"'{part}' is no function in '{text}'; there is: {', '.join(sorted(FUNCTIONS))}")
        raise _unknown(_dotted(part, text), text, table)


def _names(kind: str, part: str) -> bool:
    """Is it a name, and no word of SQL's own?"""
    return kind == "quoted" or (kind == "word" and bool(_PLAIN.fullmatch(part)) and part.lower() not in WORDS)


def _known(word: str, following: str, table: pl.DataFrame) -> bool:
    if following == "(" and word.lower() not in WORDS:
        return word.lower() in FUNCTIONS
    return word.lower() in WORDS or word in table.columns


def _dotted(word: str, text: str) -> str:
    """All of a name that begins with this word: what its writer meant as one."""
    found = re.search(rf"\b{re.escape(word)}(?:[.\w-]*\w)?", text)
    return found[0] if found else word


def _unknown(name: str, text: str, table: pl.DataFrame) -> ResultError:
    where = "" if name == text.strip() else f" in '{text}'"
    return ResultError(f"no column is called '{name}'{where}; {suggest(name, table.columns)}")


def _kind(made: pl.Expr, text: str, table: pl.DataFrame) -> pl.DataType:
    try:
        return table.clear().select(made.alias("it")).schema["it"]
    except pl.exceptions.PolarsError as error:
        raise ResultError(f"'{text}' can't be worked out: {_first_line(error)}; {_RIGHT}") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["?"])[0]


_RIGHT = "write a metric, or SQL's + - * / of some, as in groups.bbr.throughput_mbps / groups.cubic.throughput_mbps"
