"""A sweep as one HTML page: its experiment, its results, the maps requested, and the runs of each cell.

`page` writes the command of a run and links its result.
sweep_page.js handles clicks; `markup` is the frame.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import polars as pl

from dumbbell.analysis import formula
from dumbbell.errors import ExperimentError, ResultError
from dumbbell.plots import script_json
from dumbbell.plots.sweep_map import PANELS_MAX, draw_map, map_notes, mapped_cells
from dumbbell.reports.markup import Markup, details, element, join, number, table, tagged
from dumbbell.reports.page import KeptFor, kept_at, write_kept
from dumbbell.reports.page_frame import Figures, framed, written
from dumbbell.spec.attachments import text_named
from dumbbell.spec.axes import Axis
from dumbbell.spec.document import inline_toml
from dumbbell.spec.sweep import read_map
from dumbbell.sweeps.folder import SWEEP_FILE, Sweep, summary
from dumbbell.sweeps.rows import reproduce_command

if TYPE_CHECKING:
    from dumbbell.spec.keys import Map

__all__ = ["default_map", "maps_of", "sweep_page", "write_sweep"]


VALUES_MAX = 3
USUAL = ("utilization", "queue.delay_ms.mean", "jain")
"""Default values, after the first group's share or throughput."""


def maps_of(sweep: Sweep, values: Sequence[str] = ()) -> "tuple[list[Map], str]":
    """The maps, and a note on their choice. Raises `ResultError` for a map that can't be parsed."""
    if values:
        return [default_map(sweep, value) for value in values], ""
    try:
        requested = [read_map(**entry) for entry in sweep.manifest.maps or []]
    except (ExperimentError, TypeError) as error:
        raise ResultError(f"{sweep.folder}: a map in its manifest is not valid: {error}") from error
    if requested:
        return requested, ""
    return [
        default_map(sweep, value) for value in usual(sweep)
    ], "The sweep file requests no maps; these are the defaults. "


def usual(sweep: Sweep) -> list[str]:
    """The default values to map. Raises `ResultError` for a sweep without any metric."""
    shares = [name for name in sweep.metrics if name.startswith("groups.") and name.endswith(".share")]
    rates = [name for name in sweep.metrics if name.startswith("groups.") and name.endswith(".throughput_mbps")]
    found = [*(shares or rates)[:1], *(name for name in USUAL if name in sweep.metrics)] or sweep.metrics
    known = [name for name in found if sweep.runs.filter(pl.col("status") == "ok")[name].drop_nulls().len()]
    if not known:
        raise ResultError(f"{sweep.folder}: no valid run has a metric; dumbbell stats shows why")
    return known[:VALUES_MAX]


def default_map(sweep: Sweep, value: str) -> "Map":
    """A map of this value: the two longest numeric axes as x and y, the others as panels.

    An axis that exceeds `PANELS_MAX` is fixed at its first value, which the map names.
    """
    free = sorted(_free(sweep), key=lambda axis: (axis.numbers is None, -_length(sweep, axis)))
    if not free:
        return read_map(value=value, x="seed")
    x, y, *others = [*free, None, None][: max(len(free), 2)]
    assert x is not None
    panels, conditions, count = [], [], 1
    for axis in others:
        assert axis is not None
        if count * _length(sweep, axis) <= PANELS_MAX:
            panels.append(axis.key)
            count *= _length(sweep, axis)
        else:
            conditions.append(_first_of(sweep, axis))
    return read_map(
        value=value, x=x.key, y=y.key if y else None, panels=tuple(panels),
        where=" and ".join(conditions) or None, middle=0.5 if value.endswith(".share") and _two(sweep) else None,
        contour=(0.5,) if value.endswith(".share") and _two(sweep) else (),
    )  # fmt: skip


def _free(sweep: Sweep) -> list[Axis]:
    """The axes that vary independently, without those that earlier axes determine."""
    found: list[Axis] = []
    for axis in sweep.axes.values():
        keys = [each.key for each in found]
        before = sweep.runs.select(keys).n_unique() if keys else 1
        if sweep.runs.select([*keys, axis.key]).n_unique() > before:
            found.append(axis)
    return found


def _two(sweep: Sweep) -> bool:
    """Do exactly two groups share the path, so that 0.5 is an equal share?"""
    return sum(name.endswith(".share") for name in sweep.metrics) == 2


def _length(sweep: Sweep, axis: Axis) -> int:
    return sweep.runs[axis.key].n_unique()


def _first_of(sweep: Sweep, axis: Axis) -> str:
    value = sweep.runs[axis.key].drop_nulls()[0]
    return f'"{axis.key}" = ' + ("'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value))


CELLS_MAX = 400
"""Rows of a map's table. Longer pages are slow on a phone, and `dumbbell sql` has all rows."""
_SCRIPT = Path(__file__).with_name("sweep_page.js")


def write_sweep(sweep: Sweep, path: Path, values: Sequence[str] = (), *, runs: bool = False) -> Path | None:
    """Write the page; `values` replace the maps that the sweep file requests.

    With `runs` every kept run gets its own page, linked from its cell. Returns the folder of these pages, None if there
    are none. Raises `ResultError` for a map that can't be drawn or a result that can't be read, `OutputError` when a
    file can't be written.
    """
    pages = write_kept(sweep, path) if runs else None
    written(sweep_page(sweep, values, kept_at(sweep, path, pages)), path)
    return pages


def sweep_page(
    sweep: Sweep, values: Sequence[str] = (), kept: KeptFor = lambda _point, _seed: None, *, opens: bool = False
) -> str:
    """The page; `kept` gives its links; with `opens` it posts to its parent frame which run the user opens."""
    map_specs, note = maps_of(sweep, values)
    figures = Figures()
    numbers = summary(sweep)
    maps = [_map(sweep, map_spec, figures, alone=len(map_specs) == 1) for map_spec in map_specs]
    sections = [
        element("section", element("h2", "Sweep"), _definition(sweep, numbers)),
        element("section", element("h2", "Maps"), element("p", f"{note}{HOW}", css="quiet screen"), *maps),
        element("section", element("h2", "All metrics"), _ranges(numbers)),
        _dialog(),
    ]
    points = _points(sweep, map_specs, kept) | {"opens": opens}
    script = Template(_SCRIPT.read_text(encoding="utf-8")).substitute(points=script_json(points))
    return framed(sweep.title, _banner(numbers), sections, figures, script)


HOW = "Click a cell, or a button in a table, to see its runs and the commands that reproduce them."


def _banner(numbers: Mapping[str, Any]) -> Markup:
    counts = numbers["counts"]
    bad = counts["invalid"] + counts["failed"]
    valid = f"{counts['ok']} of {counts['wanted']} runs at {numbers['points']} points are valid"
    if not bad:
        return element("div", element("strong", f"{valid}."), css="banner")
    rows = [
        element("li", f"{entry['runs']} {entry['status']}: {entry['reason']} ", _button(entry["point"], "show one"))
        for entry in numbers["reasons"]
    ]
    head = element("strong", f"{valid}; {counts['invalid']} are invalid, {counts['failed']} failed.")
    return element("div", head, element("ul", *rows), css="banner warning")


def _definition(sweep: Sweep, numbers: Mapping[str, Any]) -> Markup:
    axes = [(axis["key"], _listed(axis["values"]), axis["scale"]) for axis in numbers["axes"]]
    manifest = sweep.manifest
    engines = dict(manifest.get("engines") or {})
    rows = [
        ("seeds", _listed(numbers["seeds"])),
        ("engines", "; ".join(_engine(name, known) for name, known in engines.items())),
        ("metrics", ", ".join(manifest.get("metrics") or [])),
        ("time window", _window(manifest.get("window"))),
        ("kept", {"runs": "result folder of each run"}.get(str(manifest.get("keep")), "metrics of each run")),
        ("command", manifest.get("command")),
        ("Dumbbell", manifest.get("dumbbell")),
    ]
    source = manifest.get("source") or {}
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
        text = text_named(sweep.folder, SWEEP_FILE)
    except ExperimentError:
        return []
    return [details("The sweep file", element("pre", text))]


def _engine(name: str, known: object) -> str:
    """An engine and its version; its hashes are folded separately."""
    if not isinstance(known, Mapping):
        return f"{name}: {known}"
    versions = [f"{key} {known[key]}" for key in ("version", "release") if known.get(key)]
    return f"{name} ({', '.join(versions)})" if versions else name


def _hashes(engines: Mapping[str, Any]) -> list[Markup]:
    """SHA-256 of the engines' files."""
    rows = [
        (name, key.removesuffix("sha256").rstrip("_") or "engine", value)
        for name, known in engines.items()
        if isinstance(known, Mapping)
        for key, value in known.items()
        if key.endswith("sha256")
    ]
    return [details("SHA-256 of the engines", table(("engine", "of", "SHA-256"), rows, css="text"))] if rows else []


def _window(window: Sequence[int | None] | None) -> str:
    if not window:
        return "entire run"
    start, end = ("" if each is None else f"{each / 1e9:g} s" for each in window)
    return f"from {start} to {end}" if end else f"from {start} to the end"


def _map(sweep: Sweep, map_spec: "Map", figures: Figures, *, alone: bool) -> Markup:
    found = mapped_cells(sweep, map_spec)
    return element(
        "section",
        Markup() if alone and not map_spec.title else element("h3", map_spec.title or map_spec.value),
        element("p", map_spec.text) if map_spec.text else "",
        element("p", f"{map_spec.value}: {', '.join(map_notes(sweep, map_spec, found))}.", css="quiet"),
        figures.box(draw_map(sweep, map_spec)),
        details("Cells as a table", _cells(sweep, map_spec, found)),
    )


def _cells(sweep: Sweep, map_spec: "Map", found: pl.DataFrame) -> Markup:
    names = [name for name in sweep.axes if name in found.columns]
    names += ["seed"] if "seed" in found.columns else []
    arms = ["first", "second"] if map_spec.difference else []
    head = [*names, *arms, "difference" if arms else "mean", "95 % interval", "valid", "others", ""]
    rows = []
    for row in found.head(CELLS_MAX).iter_rows(named=True):
        span = "" if row["low"] is None else f"{number(row['low'])} … {number(row['high'])}"
        others = row["invalid"] + row["failed"] + row["unknown"]
        rows.append([
            *("none" if row[name] is None else row[name] for name in names), *(number(row[name]) for name in arms),
            number(row["mean"]), span, row["n"], others or "", _button(row["point"], "runs"),
        ])  # fmt: skip
    more = found.height - CELLS_MAX
    left = element("p", f"{more} more cells are in runs.parquet; query them with dumbbell sql.", css="quiet")
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
    return details("Range of each metric over the valid runs", table(("metric", "runs", "min", "mean", "max"), rows))


def _points(sweep: Sweep, map_specs: "Sequence[Map]", kept: KeptFor) -> dict[str, Any]:
    """Each point's coordinates, its runs, and its command with a placeholder for the seed."""
    values = list(dict.fromkeys(map_spec.value for map_spec in map_specs))
    known = sweep.runs.with_columns(
        formula.value(value, sweep.runs).alias(f"value {index}") for index, value in enumerate(values)
    )
    found: dict[int, dict[str, Any]] = {}
    for row in known.iter_rows(named=True):
        point = found.setdefault(row["point"], {"at": _at(sweep, row), "command": _command(sweep, row), "runs": []})
        point["runs"].append({
            "seed": row["seed"], "status": row["status"], "reason": row["reason"],
            "values": [row[f"value {index}"] for index in range(len(values))],
            "kept": kept(row["point"], row["seed"]),
        })  # fmt: skip
    return {"values": values, "points": found}


def _at(sweep: Sweep, row: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {row[key]}" for key in sweep.axes if row[key] is not None)


def _command(sweep: Sweep, row: Mapping[str, Any]) -> str:
    """The command with `{seed}` in place of the seed, the only difference between runs of a point."""
    return reproduce_command(sweep, row).replace(f" --seed {row['seed']}", " --seed {seed}", 1)


def _listed(values: Sequence[Any]) -> str:
    integers = len(values) > 2 and all(isinstance(value, int) for value in values)
    if integers and list(values) == list(range(values[0], values[0] + len(values))):
        return f"{values[0]}..{values[-1]}"
    return ", ".join(value if isinstance(value, str) else inline_toml(value) for value in values)
