"""What every study uses: runs that are kept, numbers and tables as text, figures, and the pages that it fills."""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from PIL import Image

from dumbbell import _sim
from dumbbell.engines import KernelEngine
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import find

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RESULTS = ROOT / "validation" / "results"
"""Figures of pages, as JSON and CSV; docs/claims.toml compares the pages with them."""
COMMAND = Path(sys.executable).with_name("dumbbell")
KEPT = ROOT / "runs" / "studies"
"""Runs by the digest of what they depend on; `make clean` removes them."""
SECOND_NS = 1_000_000_000


# Runs


def parser(text: str | None) -> argparse.ArgumentParser:
    """A parser whose help is a study's docstring."""
    return argparse.ArgumentParser(
        prog="python -m studies NAME", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def dumbbell(*arguments: object, cwd: Path = ROOT) -> str:
    """Call the command and return what it prints.

    Status 1 (outside a tolerance, invalid) is a finding; any other ends the study.
    """
    words = [str(argument) for argument in arguments]
    sys.stderr.write(f"dumbbell {' '.join(words)}\n")
    done = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, text=True, check=False, cwd=cwd)
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)
    return done.stdout


def asked(*arguments: object, cwd: Path = ROOT) -> Any:
    """The answer of the command with `--json`."""
    return json.loads(dumbbell(*arguments, "--json", cwd=cwd))


def ran(name: str, *arguments: str, engine: str = "kernel", kernel: str | None = None) -> Path:
    """The folder of `dumbbell run NAME ARGUMENTS`, run unless one of the same experiment and build is kept.

    A folder gets its name when all runs in it have ended.
    """
    text = find(name).read_text(encoding="utf-8")
    key = hashlib.sha256("\0".join([text, engine, build(engine, kernel), *arguments]).encode()).hexdigest()
    folder = KEPT / f"{name}-{engine}-{key[:12]}"
    if not folder.is_dir():
        staged = folder.with_suffix(".partial")
        shutil.rmtree(staged, ignore_errors=True)
        which = ["--kernel", kernel] if kernel else []
        dumbbell("run", name, "--engine", engine, *which, *arguments, "--jobs", "2", "--out", staged)
        staged.rename(folder)
    return folder


@cache
def build(engine: str, kernel: str | None = None) -> str:
    """A hash of the engine's binaries."""
    hashed = hashlib.sha256()
    if engine == "sim":
        hashed.update(Path(_sim.__file__).read_bytes())
    else:
        booted = KernelEngine(kernel)
        hashed.update(booted.agent.read_bytes() + booted.kernel.binary.read_bytes())
    return hashed.hexdigest()


def loaded(folder: Path) -> list[Run]:
    """Every run below a folder, in the order of the folders' names."""
    return [result.load(file.parent) for file in sorted(folder.rglob("run.json"))]


def tables_digest(folder: Path) -> str:
    """A hash of all tables of a result."""
    hashed = hashlib.sha256()
    for file in sorted(folder.rglob("*.parquet")):
        hashed.update(f"{file.relative_to(folder)}\0".encode() + file.read_bytes())
    return hashed.hexdigest()


# Text


def table(head: str, rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown. `head` is `name | >number`: columns after `>` hold numbers."""
    titles = [title.strip() for title in head.split("|")]
    ruler = ["---:" if title.startswith(">") else "---" for title in titles]
    lines = [[title.removeprefix(">") for title in titles], ruler, *rows]
    first, *others = (f"| {' | '.join(map(str, cells))} |" for cells in lines)
    return "\n".join([first.replace("|  |", "| |"), *others])


def number(value: float | None, digits: int = 3) -> str:
    """Significant digits without an exponent, or a dash."""
    return "–" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def rendered(template: Path, **values: Any) -> str:
    """A template of Jinja, such as a study's `page.md`, with values; an unknown name is an error."""
    environment = jinja2.Environment(  # noqa: S701 — Markdown, no HTML
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(template.read_text(encoding="utf-8")).render(table=table, **values)


# Pages and figures


def fill(page: Path, mark: str, text: str) -> None:
    """Replace what a page has after `<!-- MARK -->`, up to `<!-- end -->` or the page's end."""
    begin, end = f"<!-- {mark} -->\n", "<!-- end -->"
    before, found, after = page.read_text(encoding="utf-8").partition(begin)
    if not found:
        raise SystemExit(f"{page.relative_to(ROOT)}: no line {begin.strip()}; add it where the study's text belongs")
    rest = after.partition(end)
    kept = f"{end}{rest[2]}" if rest[1] else ""
    write(page, f"{before}{begin}{text.rstrip()}\n{kept}")


def write(page: Path, text: str) -> None:
    """Write a page, and say so."""
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text.rstrip() + "\n", encoding="utf-8")
    sys.stderr.write(f"{page.relative_to(ROOT) if page.is_relative_to(ROOT) else page}\n")


def write_figures(name: str, figures: Mapping[str, Any], folder: Path = RESULTS) -> None:
    """Write `NAME.json` in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def save(chart: Any, file: Path, colours: int = 128) -> None:
    """Draw a chart of altair as PNG, small enough for the repository."""
    chart.save(str(file), scale_factor=1.5)
    shrink(file, colours)


def plot(runs: Iterable[Path], arguments: str, file: Path) -> None:
    """Draw the figure of `dumbbell plot RUNS ARGUMENTS` as PNG, small enough for the repository."""
    dumbbell("plot", *runs, *arguments.split(), "--scale", "1.25", "-o", file)
    shrink(file)


def shrink(file: Path, colours: int = 128) -> None:
    """Reduce an image to a palette for its lines and antialiased edges: a fifth of the bytes."""
    # By coverage, not by area: this keeps the colours of a legend's small squares.
    few = Image.open(file).convert("RGB").quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(file, optimize=True)
