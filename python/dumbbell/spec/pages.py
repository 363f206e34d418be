"""The pages about controllers and queues that come with Dumbbell, by name: `docs/controllers` and `docs/queues`.

A page is plain Markdown of one form: what it is, a table of facts, what it does, when well, when badly,
parameters, measurements. Which engines have a thing, they say themselves.
"""

from pathlib import Path

from dumbbell.errors import ExperimentError
from dumbbell.spec.qdisc import suggest

__all__ = ["KINDS", "page", "pages"]

_INSTALLED = Path(__file__).parent.parent / "docs"
_CHECKOUT = Path(__file__).parents[3] / "docs"
KINDS = ("controllers", "queues")


def pages(kind: str) -> dict[str, Path]:
    """The files of one kind, by name."""
    folder = (_INSTALLED if _INSTALLED.is_dir() else _CHECKOUT) / kind
    return {file.stem: file for file in sorted(folder.glob("*.md")) if file.stem != "README"}


def page(name: str) -> Path:
    """The page of a controller or a queue.

    Raises `ExperimentError` naming what there is.
    """
    known = {found: file for kind in KINDS for found, file in pages(kind).items()}
    if name not in known:
        raise ExperimentError("no manual page has this name", value=name, right=suggest(name, list(known)))
    return known[name]
