"""What docs/results/identify/index.md shows, from the answers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from studies.study import rendered, table

__all__ = ["page"]

Paths = Mapping[str, Mapping[str, tuple[float, float, float, str | None, Mapping[str, Any] | None, float]]]
UNKNOWN = "unknown"


def page(tables: Mapping[str, pl.DataFrame], paths: Paths, seed: int) -> str:
    """The page."""
    test = tables["test"]
    return rendered(
        Path(__file__).with_name("page.md"),
        seed=seed,
        test=test,
        develop=tables["develop"],
        shares=shares,
        strict=strict(test),
        nearest=_percent(nearest(test)),
        answers=_parts(test, [name for name, (*_, other, _share) in paths["test"].items() if other is not None]),
        confusion=_confusion(test),
        withheld=_withheld(test),
        by_path=_by_path(tables, paths),
    )


def nearest(answers: pl.DataFrame) -> float:
    """The share in which the nearest candidate is right."""
    return len(answers.filter(pl.col("nearest") == pl.col("controller"))) / max(len(answers), 1)


def strict(answers: pl.DataFrame) -> str:
    own, known = pl.col("verdict") == pl.col("controller"), pl.col("verdict") != UNKNOWN
    right, named = len(answers.filter(own)), len(answers.filter(known))
    return f"{right} of {len(answers)} right, {named - right} wrong"


def shares(answers: pl.DataFrame) -> str:
    right, wrong, unknown = (100 * part for part in outcome(answers))
    return f"{right:.0f} % named rightly, {wrong:.0f} % wrongly, {unknown:.0f} % unknown."


def named_rightly() -> pl.Expr:
    """Named, alone or together with those that behave alike on the path."""
    together = pl.col("alike").fill_null("").str.split(" ").list.contains(pl.col("controller"))
    return (pl.col("verdict") != UNKNOWN) & ((pl.col("verdict") == pl.col("controller")) | together)


def outcome(answers: pl.DataFrame) -> tuple[float, float, float]:
    count = max(len(answers), 1)
    right = len(answers.filter(named_rightly())) / count
    unknown = len(answers.filter(pl.col("verdict") == UNKNOWN)) / count
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
        mine = test.filter(condition)
        unknown = len(mine.filter(pl.col("withheld_verdict") == UNKNOWN)) / max(len(mine), 1)
        rows.append((name, str(len(mine)), *map(_percent, (*outcome(mine), nearest(mine), unknown))))
    return table("captures | number | right | wrong | unknown | nearest is right | unknown if withheld", rows)


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
    return table(" | ".join(("true", *named, UNKNOWN)), rows)


def _withheld(test: pl.DataFrame) -> str:
    rows = []
    for controller in sorted(test["controller"].unique()):
        mine = test.filter(pl.col("controller") == controller)
        named = mine.filter(pl.col("withheld_verdict") != UNKNOWN)
        counts = named.group_by("withheld_verdict").len().sort("len", "withheld_verdict", descending=[True, False])
        others = ", ".join(f"{name} {count}" for name, count in counts.iter_rows())
        rows.append((f"`{controller}`", str(len(mine)), str(len(mine) - len(named)), others))
    return table("true | captures | unknown | named instead", rows)


def _by_path(tables: Mapping[str, pl.DataFrame], paths: Paths) -> str:
    rows = []
    for kind, answers in tables.items():
        for name, (rate, rtt, buffer, loss, other, share) in paths[kind].items():
            mine = answers.filter(pl.col("path") == name)
            setup = f"{rate:g} Mbit/s, {rtt:g} ms, {buffer:g} BDP" + (f", {loss} loss" if loss else "")
            right, wrong, unknown = outcome(mine)
            numbers = (_percent(part) for part in (right, wrong, unknown))
            rows.append((f"`{name}`", setup, _other(other, share), str(len(mine)), *numbers))
    return table("path | set-up | other traffic | captures | right | wrong | unknown", rows)


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
