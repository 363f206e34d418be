"""Runs the built-in sweeps and writes docs/sweeps/NAME.md with their maps, and the figures behind them.

    python scripts/sweeps.py [NAME...] [--from FOLDER]

`--from` takes finished sweeps from the folders `FOLDER/NAME` instead of running them. The text below a map is its
`text` in `scenarios/sweeps/NAME.toml`. `validation/results/sweeps/NAME.csv` has every cell of every map, and
`validation/results/sweeps.json` the counts. `make page NAME=sweeps` calls this.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from generated import RESULTS, ROOT, write_figures

from dumbbell.analysis.map_cells import cells as analysis_cells
from dumbbell.plots import save
from dumbbell.plots.sweep_map import draw_map, map_notes, mapped_cells
from dumbbell.spec.built_in import sweeps
from dumbbell.spec.sweep import Sweep, load_sweep
from dumbbell.sweeps import folder
from dumbbell.sweeps.folder import summary

if TYPE_CHECKING:
    from dumbbell.spec.keys import Map

PAGES = ROOT / "docs" / "sweeps"
WIDTH = 760


def main() -> int:
    """Run the sweeps that have no results yet, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=sorted(sweeps()))
    parser.add_argument("--from", dest="finished", type=Path, help="folder of finished sweeps")
    options = parser.parse_args()
    for name in options.names:
        target = (options.finished or ROOT / "runs" / "sweeps") / name
        if not target.exists():
            subprocess.run([sys.executable, "-m", "dumbbell", "sweep", name, "--out", str(target)], check=True)
        swept = folder.load(target)
        (PAGES / f"{name}.md").write_text("\n".join(page(name, swept)) + "\n", encoding="utf-8")
        write_cells(name, swept)
        write_counts(name, swept)
        sys.stderr.write(f"docs/sweeps/{name}.md\n")
    return 0


def page(name: str, swept: folder.Sweep) -> Iterator[str]:
    """The lines of a page; also writes its figures next to it."""
    definition = load_sweep(name)
    yield from (f"# {swept.title}", "")
    if definition.source is not None:
        link = (
            f"[{definition.source.title}]({definition.source.url})"
            if definition.source.url
            else definition.source.title
        )
        yield from (f"After {link}. {definition.source.note or ''}".strip(), "")
    yield from (*set_up(definition, swept), "")
    for number, heatmap in enumerate(definition.maps, start=1):
        yield from (*figure(name, number, heatmap, swept), "")
    yield from (
        "## Repeat",
        "",
        "```sh",
        f"dumbbell sweep {name} --out {name}",
        f"dumbbell report {name} -o {name}.html",
    )
    yield from (
        "```",
        "",
        f"`make page NAME=sweeps` makes this page. The file: [{name}.toml](../../scenarios/sweeps/{name}.toml).",
    )


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


def figure(name: str, number: int, heatmap: "Map", swept: folder.Sweep) -> Iterator[str]:
    """A map with its metric and its text."""
    file = PAGES / f"{name}-{number}.svg"
    save(draw_map(swept, heatmap, WIDTH), file)
    yield from (f"## {heatmap.title or heatmap.value}", "", f"![{heatmap.title or heatmap.value}]({file.name})", "")
    yield f"`{heatmap.value}`: {'; '.join(map_notes(swept, heatmap, mapped_cells(swept, heatmap)))}."
    if heatmap.text:
        yield from ("", heatmap.text.strip())


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


if __name__ == "__main__":
    sys.exit(main())
