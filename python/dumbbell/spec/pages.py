"""Documents that come with Dumbbell: pages about controllers and queues, by name, and the JSON schemas of its files.

A page is plain Markdown of one form: what it is, a table of facts, what it does, when well, when badly,
parameters, measurements. Which engines have a thing, they say themselves.
"""

from pathlib import Path

from dumbbell.errors import ExperimentError
from dumbbell.spec.qdisc import suggest

__all__ = ["KINDS", "SCHEMAS", "page", "pages", "schema"]

_INSTALLED = Path(__file__).parent.parent / "docs"
_CHECKOUT = Path(__file__).parents[3] / "docs"
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


def schema(kind: str) -> Path:
    """The JSON schema of experiment or sweep files.

    Raises `ExperimentError` for another kind of file.
    """
    if kind not in SCHEMAS:
        raise ExperimentError("has no schema", value=kind, right=f"choose from: {', '.join(SCHEMAS)}")
    return _folder() / "schemas" / f"{kind}.json"


def _folder() -> Path:
    return _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
