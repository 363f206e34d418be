"""Writes docs/results/identify/index.md from the answers of scripts/identification.py."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

__all__ = ["page"]

Paths = Mapping[str, Mapping[str, tuple[float, float, float, str | None, Mapping[str, Any] | None, float]]]
UNKNOWN = "unknown"


BEFORE = "35 % named rightly, 2 % wrongly, 63 % unknown; nearest right in 70 %; with other traffic 5 % named rightly"
"""The first version, with an absolute limit of the distance: 340 captures of the kernel engine on ten other paths."""


def page(tables: Mapping[str, pl.DataFrame], paths: Paths, seed: int) -> str:
    """The page."""
    test, develop = tables["test"], tables["develop"]
    parts = [
        "# Identifications\n",
        f"**{_shares(test)}** Without a rule the nearest candidate is right in "
        f"{_percent(len(test.filter(pl.col('nearest') == pl.col('controller'))) / len(test))}.\n",
        f"[`dumbbell identify`](../../identify.md) on {len(test)} captures of 15 s: {test['controller'].n_unique()} "
        f"controllers, {test['path'].n_unique()} paths drawn from seed {seed}, which was chosen after the code was "
        "frozen; half of them have other traffic. The kernel engine (Linux 6.12) made them, at the sender and at the "
        "receiver in turn (of paths with other traffic always at the receiver, so that the rows of capture points say "
        "the same as those of other traffic); those of bbr2, bbr3 and copa, which it lacks, are the simulator's and so "
        "nearer to their candidates. `make page NAME=identifications` repeats it; [every answer](test.csv).\n",
        f"Counting only a name of its own as right: {_strict(test)}.\n",
        f"Before, on other paths and counted in that strict way: {BEFORE}.\n",
        "Candidates were run on the simulator, which agrees with Linux packet by packet on many of these paths, "
        "and the emulated paths are what the estimate assumes: one drop-tail queue. Captures of real hosts are "
        "harder; they are not measured.\n",
        _parts(test, [name for name, (*_, other, _share) in paths["test"].items() if other is not None]),
        _confusion(test),
        _withheld(test),
        _by_path(tables, paths),
        "## Development\n",
        f"The rule was fixed on {len(develop)} captures of the eight paths `d1` to `d8` "
        f"([answers](develop.csv)). There: {_shares(develop)} The scales are those of the first version, from 272 "
        "captures.\n",
    ]
    return "\n".join(parts)


def _strict(table: pl.DataFrame) -> str:
    own, known = pl.col("verdict") == pl.col("controller"), pl.col("verdict") != UNKNOWN
    right, named = len(table.filter(own)), len(table.filter(known))
    return f"{right} of {len(table)} right, {named - right} wrong"


def _shares(table: pl.DataFrame) -> str:
    right, wrong, unknown = (100 * part for part in _outcome(table))
    return f"{right:.0f} % named rightly, {wrong:.0f} % wrongly, {unknown:.0f} % unknown."


def _right() -> pl.Expr:
    """Named, alone or together with those that behave alike on the path."""
    together = pl.col("alike").fill_null("").str.split(" ").list.contains(pl.col("controller"))
    return (pl.col("verdict") != UNKNOWN) & ((pl.col("verdict") == pl.col("controller")) | together)


def _outcome(table: pl.DataFrame) -> tuple[float, float, float]:
    count = max(len(table), 1)
    right = len(table.filter(_right())) / count
    unknown = len(table.filter(pl.col("verdict") == UNKNOWN)) / count
    return right, max(1 - right - unknown, 0.0), unknown


def _parts(test: pl.DataFrame, beside: Sequence[str]) -> str:
    other = pl.col("path").is_in(beside)
    parts = {
        "all": pl.lit(value=True),
        "captured at the sender": pl.col("point") == "sender",
        "captured at the receiver": pl.col("point") == "receiver",
        "without other traffic": ~other,
        "with other traffic": other,
        "captured on the kernel engine": ~pl.col("controller").is_in(["bbr2", "bbr3", "copa"]),
    }
    rows = []
    for name, condition in parts.items():
        table = test.filter(condition)
        nearest = len(table.filter(pl.col("nearest") == pl.col("controller"))) / max(len(table), 1)
        unknown = len(table.filter(pl.col("withheld_verdict") == UNKNOWN)) / max(len(table), 1)
        rows.append((name, str(len(table)), *(_percent(part) for part in (*_outcome(table), nearest, unknown))))
    head = ("captures", "number", "right", "wrong", "unknown", "nearest is right", "unknown if withheld")
    note = (
        "`right`: named, alone or with others that behave alike on the path (such as lp and reno). `nearest is right`: "
        "without a rule. `unknown if withheld`: the true controller is no "
        "candidate, so that any name is wrong."
    )
    return _table("Answers", head, rows, note)


def _confusion(test: pl.DataFrame) -> str:
    true = sorted(test["controller"].unique())
    named = [
        name for name in (*true, *sorted(set(test["verdict"]) - set(true) - {UNKNOWN})) if name in set(test["verdict"])
    ]
    counts = {(a, b): n for a, b, n in test.group_by("controller", "verdict").len().iter_rows()}
    rows = [
        (
            f"`{controller}`",
            *(_count(counts.get((controller, name), 0), controller == name) for name in [*named, UNKNOWN]),
        )
        for controller in true
    ]
    note = "A row for each true controller; columns are the verdicts; right ones are bold."
    return _table("Confusion matrix", ("true", *named, UNKNOWN), rows, note)


def _withheld(test: pl.DataFrame) -> str:
    rows = []
    for controller in sorted(test["controller"].unique()):
        mine = test.filter(pl.col("controller") == controller)
        named = mine.filter(pl.col("withheld_verdict") != UNKNOWN)
        counts = named.group_by("withheld_verdict").len().sort("len", "withheld_verdict", descending=[True, False])
        others = ", ".join(f"{name} {count}" for name, count in counts.iter_rows())
        rows.append((f"`{controller}`", str(len(mine)), str(len(mine) - len(named)), others))
    note = "Each controller in turn is no candidate: `unknown` is right, as for a controller that the simulator lacks."
    return _table("Withheld controllers", ("true", "captures", "unknown", "named instead"), rows, note)


def _by_path(tables: Mapping[str, pl.DataFrame], paths: Paths) -> str:
    rows = []
    for kind, table in tables.items():
        for name, (rate, rtt, buffer, loss, other, share) in paths[kind].items():
            mine = table.filter(pl.col("path") == name)
            setup = f"{rate:g} Mbit/s, {rtt:g} ms, {buffer:g} BDP" + (f", {loss} loss" if loss else "")
            right, wrong, unknown = _outcome(mine)
            numbers = (_percent(part) for part in (right, wrong, unknown))
            rows.append((f"`{name}`", setup, _other(other, share), str(len(mine)), *numbers))
    note = "Each seed draws rate, round trip time and buffer up to 10 % from these."
    return _table("Paths", ("path", "set-up", "other traffic", "captures", "right", "wrong", "unknown"), rows, note)


def _other(other: Mapping[str, Any] | None, share: float) -> str:
    if other is None:
        return ""
    if other.get("kind") == "udp":
        return f"UDP, {100 * share:g} % of the link"
    if "bytes" in other:
        return f"CUBIC flows of 60 kB, Poisson, {100 * share:g} % of the link"
    return f"one {other['cc'].upper()} flow" if other["cc"] != "reno" else "one Reno flow"


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def _count(number: int, right: bool) -> str:
    return f"**{number}**" if right else str(number) if number else ""


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], note: str) -> str:
    lines = [f"## {title}\n", f"{note}\n", f"| {' | '.join(head)} |", f"| {' | '.join(['---'] * len(head))} |"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows), ""])
