"""What comes with Dumbbell, by name: experiments, sweeps, manual pages, schemas.

A page is plain Markdown of one form: what it is, a table of facts, what it does, when well, when badly,
parameters, measurements. Which engines have a thing, they say themselves.

Those of laboratories lie in `scenarios/`, published results in `scenarios/published/`, those that need programs of the
machine in `scenarios/programs/`; names are theirs alone. Sweeps lie in `scenarios/sweeps/`.
"""

import os
import re
from pathlib import Path

from dumbbell.errors import ExperimentError
from dumbbell.spec.units import suggest

__all__ = [
    "KINDS",
    "SCHEMAS",
    "built_in",
    "evaluations",
    "explained",
    "find",
    "find_sweep",
    "glossary",
    "page",
    "pages",
    "published",
    "scenarios",
    "schema",
    "sweeps",
    "with_programs",
]


_INSTALLED_DOCS = Path(__file__).parent.parent / "docs"
_CHECKOUT_DOCS = Path(__file__).parents[3] / "docs"
KINDS = ("controllers", "queues")
SCHEMAS = ("experiment", "sweep")


def pages(kind: str) -> dict[str, Path]:
    """The files of one kind, by name."""
    return {file.stem: file for file in sorted((_folder() / kind).glob("*.md")) if file.stem != "README"}


def page(name: str) -> Path:
    """The page of a controller or a queue.

    Raises `ExperimentError` naming what there is.
    """
    known = {found: file for kind in KINDS for found, file in pages(kind).items()}
    if name not in known:
        raise ExperimentError("no manual page has this name", value=name, right=suggest(name, list(known)))
    return known[name]


def explained(name: str) -> str:
    """The page of a controller or a queue in Markdown, or a term of the glossary, whatever its capitals and dashes.

    Raises `ExperimentError` naming what there is.
    """
    known = {found: file for kind in KINDS for found, file in pages(kind).items()}
    if found := next((found for found in known if _plain(found) == _plain(name)), None):
        return known[found].read_text(encoding="utf-8")
    terms = glossary()
    if _plain(name) in terms:
        return terms[_plain(name)]
    raise ExperimentError(
        "no manual page and no term of the glossary has this name", value=name, right=suggest(name.lower(), list(known))
    )


def glossary() -> dict[str, str]:
    """Each term's row of the glossary, as a paragraph, by each of its names in plain letters."""
    found: dict[str, str] = {}
    for line in (_folder() / "glossary.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("| ") or len(cells) != 3 or cells[0] == "term":
            continue
        term, meaning, source = cells
        text = f"**{term}**: {meaning}." + (f" ({source})" if source.strip(" |") else "")
        for name in re.split(r", | \(|\)", term):
            found.setdefault(_plain(name), text)
    return found


def _plain(name: str) -> str:
    """`ProbeRTT`, `probe_rtt` and `PROBE_RTT` are the same."""
    return re.sub(r"[\s_-]", "", name).lower()


def schema(kind: str) -> Path:
    """The JSON schema of experiment or sweep files.

    Raises `ExperimentError` for another kind of file.
    """
    if kind not in SCHEMAS:
        raise ExperimentError("has no schema", value=kind, right=f"choose from: {', '.join(SCHEMAS)}")
    return _folder() / "schemas" / f"{kind}.json"


def _folder() -> Path:
    return _INSTALLED_DOCS if _INSTALLED_DOCS.is_dir() else _CHECKOUT_DOCS


_INSTALLED = Path(__file__).parent.parent / "scenarios"
_CHECKOUT = Path(__file__).parents[3] / "scenarios"


def scenarios() -> dict[str, Path]:
    """Every built-in experiment's file, by name: the laboratories' first, then the published ones."""
    folder = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
    return {file.stem: file for file in sorted(folder.glob("*.toml"))} | published()


def published() -> dict[str, Path]:
    """The files of published results, by name."""
    folder = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
    return {file.stem: file for file in sorted(folder.glob("published/*.toml"))}


def with_programs() -> dict[str, Path]:
    """The files of experiments that run programs, by name; not every machine has these programs."""
    folder = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
    return {file.stem: file for file in sorted(folder.glob("programs/*.toml"))}


def evaluations() -> dict[str, Path]:
    """The files of the experiments of `dumbbell evaluate`, by name: `evaluate/alone`."""
    folder = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
    files = sorted(folder.glob("evaluate/*.toml"))
    return {f"evaluate/{file.stem}": file for file in files if file.stem != "criteria"}


def sweeps() -> dict[str, Path]:
    """The files of built-in sweeps, by name."""
    folder = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
    return {file.stem: file for file in sorted(folder.glob("sweeps/*.toml"))}


def find_sweep(name: str) -> Path:
    """The file of a built-in sweep, or the file itself.

    Raises `ExperimentError` naming what there is.
    """
    known = sweeps()
    if name in known:
        return known[name].resolve()
    path = Path(name)
    if path.suffix == ".toml" or path.is_file() or "/" in name:
        return path
    raise ExperimentError(f"no sweep is called '{name}'", right=suggest(name, list(known)) + "; or name a .toml file")


def find(name: str) -> Path:
    """The file of a scenario, or the file itself.

    Raises `ExperimentError` naming what there is.
    """
    path = Path(name)
    is_file = path.suffix == ".toml" or "/" in name or os.path.isfile(name)  # noqa: PTH113 — no name makes it raise
    return path if is_file and name not in scenarios() | with_programs() | evaluations() else built_in(name)


def built_in(name: str) -> Path:
    """The file of a scenario. Raises `ExperimentError` naming what there is."""
    known = scenarios() | with_programs() | evaluations()
    if name in known:
        return known[name].resolve()  # Some installers make links: files that it names lie beside what they lead to.
    if name in sweeps():
        raise ExperimentError(f"'{name}' is a sweep", right=f"dumbbell sweep {name}")
    raise ExperimentError(
        f"no scenario is called '{name}'", right=suggest(name, list(known)) + "; or name a .toml file"
    )
