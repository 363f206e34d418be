"""Writes docs/results/identify/index.md from the answers of scripts/identification.py."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

__all__ = ["page"]

Paths = Mapping[str, Mapping[str, tuple[float, float, float, str | None, Mapping[str, Any] | None, float]]]
UNKNOWN = "unknown"


def page(tables: Mapping[str, pl.DataFrame], paths: Paths) -> str:
    """The page."""
    test, develop = tables["test"], tables["develop"]
    seeds = test["seed"].n_unique()
    parts = [
        "# Identifications\n",
        f"**{_shares(test)}** Without a limit of the distance the nearest candidate is right in "
        f"{_percent(len(test.filter(pl.col('nearest') == pl.col('controller'))) / len(test))}.\n",
        f"[`dumbbell identify`](../../identify.md) on {len(test)} captures of the kernel engine (Linux 6.12): "
        f"{test['controller'].n_unique()} controllers, {test['path'].n_unique()} paths that were not used while "
        f"building it, {seeds} {'seed' if seeds == 1 else 'seeds'} each, 15 s, captured at the sender and at the "
        "receiver; half of the paths have other traffic. `make page NAME=identifications` repeats it; "
        "[every answer](test.csv).\n",
        "Candidates were run on the simulator, which agrees with Linux packet by packet on many of these paths, "
        "and the emulated paths are what the estimate assumes: one drop-tail queue. Captures of real hosts are "
        "harder; they are not measured.\n",
        _parts(test),
        _confusion(test),
        _withheld(test),
        _by_path(tables, paths),
        "## Development\n",
        f"Scales and limits were fixed on {len(develop)} captures of the eight paths `d1` to `d8` "
        f"([answers](develop.csv)). There: {_shares(develop)}\n",
    ]
    return "\n".join(parts)


def _shares(table: pl.DataFrame) -> str:
    right, wrong, unknown = (100 * part for part in _outcome(table))
    return f"{right:.0f} % named rightly, {wrong:.0f} % wrongly, {unknown:.0f} % unknown."


def _outcome(table: pl.DataFrame) -> tuple[float, float, float]:
    count = max(len(table), 1)
    right = len(table.filter(pl.col("verdict") == pl.col("controller"))) / count
    unknown = len(table.filter(pl.col("verdict") == UNKNOWN)) / count
    return right, 1 - right - unknown, unknown


def _parts(test: pl.DataFrame) -> str:
    other = pl.col("path").is_in(["t6", "t7", "t8", "t9", "t10"])
    parts = {
        "all": pl.lit(value=True),
        "captured at the sender": pl.col("point") == "sender",
        "captured at the receiver": pl.col("point") == "receiver",
        "without other traffic": ~other,
        "with other traffic": other,
    }
    rows = []
    for name, condition in parts.items():
        table = test.filter(condition)
        nearest = len(table.filter(pl.col("nearest") == pl.col("controller"))) / max(len(table), 1)
        unknown = len(table.filter(pl.col("withheld_verdict") == UNKNOWN)) / max(len(table), 1)
        rows.append((name, str(len(table)), *(_percent(part) for part in (*_outcome(table), nearest, unknown))))
    head = ("captures", "number", "right", "wrong", "unknown", "nearest is right", "unknown if withheld")
    note = (
        "`nearest is right`: without a limit of the distance. `unknown if withheld`: the true controller is no "
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
