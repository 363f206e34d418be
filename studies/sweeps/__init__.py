"""The built-in sweeps: docs/results/sweeps/NAME.md with their maps, and the figures behind them.

    python -m studies sweeps [NAME...] [--from FOLDER]

`--from` takes finished sweeps from the folders `FOLDER/NAME` instead of running them. The text below a map is its
`text` in `scenarios/sweeps/NAME.toml`. `validation/results/sweeps/NAME.csv` has every cell of every map, and
`validation/results/sweeps.json` the counts.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.analysis.map_cells import cells as analysis_cells
from dumbbell.plots import save
from dumbbell.plots.sweep_map import draw_map, map_notes, mapped_cells
from dumbbell.spec.built_in import sweeps
from dumbbell.spec.sweep import Sweep, load_sweep
from dumbbell.sweeps import folder
from dumbbell.sweeps.folder import summary
from studies.study import DOCS, RESULTS, ROOT, dumbbell, parser, rendered, write, write_figures

PAGES = DOCS / "results" / "sweeps"
WIDTH = 760
READING = DOCS / "sweeps" / "reading.toml"
"""The sweep of the figures of docs/sweeps.md."""


def main(given: list[str]) -> None:
    """Run the sweeps that have no results yet, draw, write."""
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="*", default=sorted(sweeps()))
    arguments.add_argument("--from", dest="finished", type=Path, default=ROOT / "runs" / "sweeps")
    options = arguments.parse_args(given)
    for name in options.names:
        target = options.finished / name
        if not target.exists():
            dumbbell("sweep", name, "--out", target)
        swept, definition = folder.load(target), load_sweep(name)
        shown = [
            (f"{name}-{number}.svg", heatmap, map_notes(swept, heatmap, mapped_cells(swept, heatmap)))
            for number, heatmap in enumerate(definition.maps, start=1)
        ]
        for file, heatmap, _ in shown:
            save(draw_map(swept, heatmap, WIDTH), PAGES / file)
        template = Path(__file__).with_name("page.md")
        setting = list(set_up(definition, swept))
        write(PAGES / f"{name}.md", rendered(template, name=name, sweep=definition, setting=setting, maps=shown))
        write_cells(name, swept)
        write_counts(name, swept)


def figures() -> Iterator[tuple[Path, Sweep]]:
    """The sweep behind each map."""
    for name in sweeps():
        sweep = load_sweep(name)
        for number, _ in enumerate(sweep.maps, start=1):
            yield PAGES / f"{name}-{number}.svg", sweep
    for name in ("share", "difference", "delay"):
        yield READING.with_name(f"{name}.svg"), load_sweep(READING)


def set_up(definition: Sweep, swept: folder.Sweep) -> Iterator[str]:
    """The sweep's axes and runs, as a list."""
    numbers = summary(swept)
    counts = numbers["counts"]
    for each in definition.every_axis:
        if each.key != "engine":
            yield f"- `{each.key}`: {', '.join(f'`{value}`' for value in each.values)}"
    engines = ", ".join(
        f"{count} on {engine}" for engine, count in swept.runs["engine"].value_counts(sort=True).iter_rows()
    )
    runs = f"{counts['wanted']} runs at {numbers['points']} points ({engines}), {len(definition.seeds)} seeds each"
    yield f"- {runs}; {counts['ok']} valid."


def write_cells(name: str, swept: folder.Sweep) -> None:
    """A row for each cell of each map: its number, the axes' values, the mean and its 95 % interval.

    Metrics that the file names and no map shows follow: the simulator's mean at each point.
    """
    definition = load_sweep(name)
    maps = {str(number): mapped_cells(swept, heatmap) for number, heatmap in enumerate(definition.maps, start=1)}
    simulated = swept.runs.filter(pl.col("engine") == "sim")
    for metric in sorted({*definition.metrics} & {*swept.metrics} - {heatmap.value for heatmap in definition.maps}):
        axes = [axis for axis in swept.axes if axis != "engine" and simulated[axis].n_unique() > 1]
        maps[metric] = analysis_cells(simulated, metric, axes, list(swept.axes))
    axes = [axis for axis in swept.axes if any(axis in cells.columns for cells in maps.values())]
    figures = [pl.col(each).cast(pl.Float64) for each in ("mean", "low", "high")]
    tables = [
        cells.select(
            pl.lit(number).alias("map"),
            *(pl.col(axis).cast(pl.String) if axis in cells.columns else pl.lit("").alias(axis) for axis in axes),
            pl.col("n").cast(pl.Int64),
            *figures,
        )
        for number, cells in sorted(maps.items())
    ]
    target = RESULTS / "sweeps"
    target.mkdir(parents=True, exist_ok=True)
    pl.concat(tables).write_csv(target / f"{name}.csv", float_precision=6)


def write_counts(name: str, swept: folder.Sweep) -> None:
    """Runs and compared cells of this sweep, and the sums over all sweeps that have been run."""
    path = RESULTS / "sweeps.json"
    known = json.loads(path.read_text(encoding="utf-8"))["sweeps"] if path.is_file() else {}
    known[name] = counts(load_sweep(name), swept)
    sums = {key: sum(each[key] for each in known.values()) for key in ("runs", "valid", "compared", "agree")}
    write_figures("sweeps", {"total": sums, "sweeps": dict(sorted(known.items()))})


def counts(definition: Sweep, swept: folder.Sweep) -> dict[str, Any]:
    """Runs by engine, and in how many cells of the maps of differences kernel and simulator agree."""
    numbers = summary(swept)
    engines = dict(swept.runs["engine"].value_counts(sort=True).iter_rows())
    compared = agree = 0
    for heatmap in definition.maps:
        if heatmap.difference is not None:
            judged = mapped_cells(swept, heatmap).filter(pl.col("apart").is_not_null())
            differ = pl.col("apart") & (pl.col("mean").abs() > (heatmap.within or 0.0))
            compared += judged.height
            agree += judged.filter(~differ).height
    return {
        "runs": numbers["counts"]["wanted"],
        "valid": numbers["counts"]["ok"],
        "points": numbers["points"],
        "seeds": len(definition.seeds),
        **{engine: engines.get(engine, 0) for engine in ("sim", "kernel")},
        "compared": compared,
        "agree": agree,
    }
