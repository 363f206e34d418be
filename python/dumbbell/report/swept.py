"""A sweep as one HTML page: what was asked, what came of it, maps, and behind each cell its runs.

Which maps there are is `choice`'s, the command of a run `again`'s, its kept result `kept`'s, what happens on a click
swept.js; the frame is `frame`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import polars as pl

from dumbbell.analysis import formula
from dumbbell.errors import ExperimentError
from dumbbell.plot import script_json
from dumbbell.plot.swept import draw_map, mapped_cells, told
from dumbbell.report.again import again
from dumbbell.report.choice import maps_of
from dumbbell.report.frame import Figures, framed, written
from dumbbell.report.kept import KeptFor, kept_at, write_kept
from dumbbell.report.markup import Markup, details, element, join, table, tagged
from dumbbell.report.words import number
from dumbbell.spec.attachments import text_named
from dumbbell.spec.sweep import Map
from dumbbell.spec.tomlout import inline
from dumbbell.sweeps.folder import ASKED, Sweep
from dumbbell.sweeps.ranges import summary

__all__ = ["sweep_page", "write_sweep"]

CELLS_MAX = 400
"""Rows of a map's table; a page of more is slow on a phone, and `dumbbell sql` has all."""
_SCRIPT = Path(__file__).with_name("swept.js")


def write_sweep(sweep: Sweep, path: Path, values: Sequence[str] = (), *, runs: bool = False) -> Path | None:
    """Write the page; `values` are what its maps show, instead of those that were asked.

    With `runs` every kept run gets a page of its own, linked from its cell: the folder of these pages, None where there
    are none. Raises `ResultError` for a map that can't be drawn or a result that can't be read, `OutputError` when a
    file can't be written.
    """
    pages = write_kept(sweep, path) if runs else None
    written(sweep_page(sweep, values, kept_at(sweep, path, pages)), path)
    return pages


def sweep_page(
    sweep: Sweep, values: Sequence[str] = (), kept: KeptFor = lambda _point, _seed: None, *, opens: bool = False
) -> str:
    """The page itself; `kept` tells what it links to; `opens`: who frames it is told which run somebody would open."""
    looks, note = maps_of(sweep, values)
    figures = Figures()
    numbers = summary(sweep)
    maps = [_map(sweep, look, figures, alone=len(looks) == 1) for look in looks]
    sections = [
        element("section", element("h2", "What was asked"), _asked(sweep, numbers)),
        element("section", element("h2", "Maps"), element("p", f"{note}{HOW}", css="quiet screen"), *maps),
        element("section", element("h2", "All numbers"), _ranges(numbers)),
        _dialog(),
    ]
    points = _points(sweep, looks, kept) | {"opens": opens}
    script = Template(_SCRIPT.read_text(encoding="utf-8")).substitute(points=script_json(points))
    return framed(sweep.title, _banner(numbers), sections, figures, script)


HOW = "A click on a cell shows its runs, and what to type to run one again; so do the buttons of the tables."


def _banner(numbers: Mapping[str, Any]) -> Markup:
    counts = numbers["counts"]
    bad = counts["invalid"] + counts["failed"]
    said = f"{counts['ok']} of {counts['wanted']} runs at {numbers['points']} points are valid"
    if not bad:
        return element("div", element("strong", f"{said}."), css="banner")
    rows = [
        element("li", f"{entry['runs']} {entry['status']}: {entry['reason']} ", _button(entry["point"], "show one"))
        for entry in numbers["reasons"]
    ]
    head = element("strong", f"{said}; {counts['invalid']} are invalid, {counts['failed']} failed.")
    return element("div", head, element("ul", *rows), css="banner warning")


def _asked(sweep: Sweep, numbers: Mapping[str, Any]) -> Markup:
    axes = [(axis["key"], _listed(axis["values"]), axis["scale"]) for axis in numbers["axes"]]
    birth = sweep.birth
    engines = dict(birth.get("engines") or {})
    rows = [
        ("seeds", _listed(numbers["seeds"])),
        ("engines", "; ".join(_engine(name, known) for name, known in engines.items())),
        ("metrics", ", ".join(birth.get("metrics") or [])),
        ("measured", _window(birth.get("window"))),
        ("kept", {"runs": "every run's result folder"}.get(str(birth.get("keep")), "the numbers of each run")),
        ("command", birth.get("command")),
        ("Dumbbell", birth.get("dumbbell")),
    ]
    source = birth.get("source") or {}
    where = " · ".join(str(source[key]) for key in ("title", "url", "note") if source.get(key))
    return join([
        element("p", where, css="quiet") if where else "",
        table(("axis", "values", "scale"), axes, css="text") if axes else "",
        table(("", ""), [(name, text) for name, text in rows if text], css="text"),
        *_files(sweep),
        *_hashes(engines),
    ])  # fmt: skip


def _files(sweep: Sweep) -> list[Markup]:
    try:
        text = text_named(sweep.folder, ASKED)
    except ExperimentError:
        return []
    return [details("The sweep file", element("pre", text))]


def _engine(name: str, known: object) -> str:
    """An engine in a few words; hashes are in a fold of their own."""
    if not isinstance(known, Mapping):
        return f"{name}: {known}"
    told = [f"{key} {known[key]}" for key in ("version", "release") if known.get(key)]
    return f"{name} ({', '.join(told)})" if told else name


def _hashes(engines: Mapping[str, Any]) -> list[Markup]:
    """What exactly ran."""
    rows = [
        (name, key.removesuffix("sha256").rstrip("_") or "itself", value)
        for name, known in engines.items()
        if isinstance(known, Mapping)
        for key, value in known.items()
        if key.endswith("sha256")
    ]
    return (
        [details("What exactly ran: SHA-256 of the engines", table(("engine", "of", "SHA-256"), rows, css="text"))]
        if rows
        else []
    )


def _window(window: Sequence[int | None] | None) -> str:
    if not window:
        return "the whole of each run"
    start, end = ("" if each is None else f"{each / 1e9:g} s" for each in window)
    return f"from {start} to {end}" if end else f"from {start} on"


def _map(sweep: Sweep, look: Map, figures: Figures, *, alone: bool) -> Markup:
    found = mapped_cells(sweep, look)
    return element(
        "section",
        Markup() if alone and not look.title else element("h3", look.title or look.value),
        element("p", look.text) if look.text else "",
        element("p", f"{look.value}: {', '.join(told(sweep, look, found))}.", css="quiet"),
        figures.box(draw_map(sweep, look)),
        details("The cells as a table", _cells(sweep, look, found)),
    )


def _cells(sweep: Sweep, look: Map, found: pl.DataFrame) -> Markup:
    names = [name for name in sweep.axes if name in found.columns]
    names += ["seed"] if "seed" in found.columns else []
    sides = ["first", "second"] if look.difference else []
    head = [*names, *sides, "difference" if sides else "mean", "95 % interval", "valid", "others", ""]
    rows = []
    for row in found.head(CELLS_MAX).iter_rows(named=True):
        span = "" if row["low"] is None else f"{number(row['low'])} … {number(row['high'])}"
        others = row["invalid"] + row["failed"] + row["unknown"]
        rows.append([
            *("none" if row[name] is None else row[name] for name in names), *(number(row[name]) for name in sides),
            number(row["mean"]), span, row["n"], others or "", _button(row["point"], "runs"),
        ])  # fmt: skip
    more = found.height - CELLS_MAX
    left = element("p", f"{more} more cells are in runs.parquet; dumbbell sql reads them.", css="quiet")
    return join([table(head, rows), left if more > 0 else ""])


def _button(point: int, text: str) -> Markup:
    return tagged("button", {"type": "button", "data-point": point}, text)


def _dialog() -> Markup:
    close = tagged("button", {"type": "button", "class": "close"}, "Close")
    return tagged("dialog", {"id": "runs", "aria-label": "Runs of a point"}, close, element("div"))


def _ranges(numbers: Mapping[str, Any]) -> Markup:
    rows = [
        (name, span["n"], *(number(span[key]) for key in ("min", "mean", "max")))
        for name, span in numbers["metrics"].items()
    ]
    return details("Every metric's range over the valid runs", table(("metric", "runs", "least", "mean", "most"), rows))


def _points(sweep: Sweep, looks: Sequence[Map], kept: KeptFor) -> dict[str, Any]:
    """What the page knows of each point: where it is, its runs, and the command with a hole for the seed."""
    values = list(dict.fromkeys(look.value for look in looks))
    known = sweep.runs.with_columns(
        formula.value(value, sweep.runs).alias(f"value {place}") for place, value in enumerate(values)
    )
    found: dict[int, dict[str, Any]] = {}
    for row in known.iter_rows(named=True):
        point = found.setdefault(row["point"], {"at": _at(sweep, row), "command": _command(sweep, row), "runs": []})
        point["runs"].append({
            "seed": row["seed"], "status": row["status"], "reason": row["reason"],
            "values": [row[f"value {place}"] for place in range(len(values))],
            "kept": kept(row["point"], row["seed"]),
        })  # fmt: skip
    return {"values": values, "points": found}


def _at(sweep: Sweep, row: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {row[key]}" for key in sweep.axes if row[key] is not None)


def _command(sweep: Sweep, row: Mapping[str, Any]) -> str:
    """With `{seed}` where the seed stands: it is the only thing that differs between runs of a point."""
    return again(sweep, row).replace(f" --seed {row['seed']}", " --seed {seed}", 1)


def _listed(values: Sequence[Any]) -> str:
    whole = len(values) > 2 and all(isinstance(value, int) for value in values)
    if whole and list(values) == list(range(values[0], values[0] + len(values))):
        return f"{values[0]}..{values[-1]}"
    return ", ".join(value if isinstance(value, str) else inline(value) for value in values)
