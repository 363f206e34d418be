"""Runs the built-in sweeps and writes docs/sweeps/NAME.md with their maps.

    python scripts/sweeps.py [NAME...] [--from FOLDER]

`--from` takes finished sweeps from the folders `FOLDER/NAME` instead of running them. What is read off a map stands
beside it, as its `text` in `scenarios/sweeps/NAME.toml`; a page only puts it there. `make sweeps` calls this.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from dumbbell.plots import save
from dumbbell.plots.sweep_map import draw_map, map_notes, mapped_cells
from dumbbell.spec.scenarios import sweeps
from dumbbell.spec.sweep import Map, Sweep, load_sweep
from dumbbell.sweeps import folder
from dumbbell.sweeps.ranges import summary

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "sweeps"
WIDTH = 760


def main() -> int:
    """Run what isn't there yet, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=sorted(sweeps()))
    parser.add_argument("--from", dest="finished", type=Path, help="folder of finished sweeps")
    asked = parser.parse_args()
    for name in asked.names:
        place = (asked.finished or ROOT / "runs" / "sweeps") / name
        if not place.exists():
            subprocess.run([sys.executable, "-m", "dumbbell", "sweep", name, "--out", str(place)], check=True)
        (PAGES / f"{name}.md").write_text("\n".join(page(name, folder.load(place))) + "\n", encoding="utf-8")
        sys.stderr.write(f"docs/sweeps/{name}.md\n")
    return 0


def page(name: str, swept: folder.Sweep) -> Iterator[str]:
    """The lines of a page; figures are written beside it."""
    asked = load_sweep(name)
    yield from (f"# {swept.title}", "")
    if asked.source is not None:
        link = f"[{asked.source['title']}]({asked.source['url']})" if asked.source["url"] else asked.source["title"]
        yield from (f"After {link}. {asked.source['note'] or ''}".strip(), "")
    yield from (*set_up(asked, swept), "")
    for number, look in enumerate(asked.maps, start=1):
        yield from (*figure(name, number, look, swept), "")
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
        f"`make sweeps` makes this page. The file: [{name}.toml](../../scenarios/sweeps/{name}.toml).",
    )


def set_up(asked: Sweep, swept: folder.Sweep) -> Iterator[str]:
    """What ran, as a list."""
    numbers = summary(swept)
    counts = numbers["counts"]
    for each in asked.every_axis:
        if each.key != "engine":
            yield f"- `{each.key}`: {', '.join(f'`{value}`' for value in each.values)}"
    engines = ", ".join(
        f"{count} on {engine}" for engine, count in swept.runs["engine"].value_counts(sort=True).iter_rows()
    )
    runs = f"{counts['wanted']} runs at {numbers['points']} points ({engines}), {len(asked.seeds)} seeds each"
    yield f"- {runs}; {counts['ok']} valid."


def figure(name: str, number: int, look: Map, swept: folder.Sweep) -> Iterator[str]:
    """A map, what it is of, and what is read off it."""
    file = PAGES / f"{name}-{number}.svg"
    save(draw_map(swept, look, WIDTH), file)
    yield from (f"## {look.title or look.value}", "", f"![{look.title or look.value}]({file.name})", "")
    yield f"`{look.value}`: {'; '.join(map_notes(swept, look, mapped_cells(swept, look)))}."
    if look.text:
        yield from ("", look.text.strip())


if __name__ == "__main__":
    sys.exit(main())
