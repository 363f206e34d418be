"""The experiment's text in the editor: what its controls read, the line of an error, built-in texts.

The page edits the text itself (`ui/src/local/text.ts`); `dumbbell.spec` parses the result.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from dumbbell import __version__
from dumbbell.control_characters import visible, visible_line
from dumbbell.engines.sim import Simulator
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.spec import load, published, scenarios
from dumbbell.spec.document import Case, as_toml, text_of, toml, without_cases

__all__ = ["BLANK", "catalogue", "error_fields", "line_of", "page_start", "shown", "texts_of"]


DISCIPLINES = {
    "pfifo": "pfifo limit {limit}",
    "bfifo": "bfifo limit {limit}",
    "red": "red limit {limit} min 0.1bdp max 0.3bdp avpkt 1000 probability 0.02",
    "codel": "codel limit {limit}",
    "fq_codel": "fq_codel limit {limit}",
    "pie": "pie limit {limit}",
    "fq_pie": "fq_pie limit {limit}",
    "fq": "fq limit {limit}",
    "cake": "cake",
}
"""The disciplines that can be the only one below a link's shaper; `{limit}` is the buffer."""


def shown(case: Case) -> dict[str, Any]:
    """Return what the page's controls read: the experiment's values, and the names of its groups."""
    return {"experiment": case.experiment.data(), "groups": case.experiment.group_names}


def page_start(*, server: bool) -> dict[str, Any]:
    """Return what a page starts with: version, scenarios, what its controls offer.

    Without a `server`, the page runs the simulator itself.
    """
    return {
        "version": __version__,
        "server": server,
        "scenarios": catalogue(),
        "controllers": list(Simulator.controllers()),
        "disciplines": DISCIPLINES,
    }


_HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.\"' -]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\"'-]+)\s*=")


def error_fields(error: DumbbellError, text: str) -> dict[str, Any]:
    """Return `text`, `key`, `right` and `line` (from 1; null if the text does not contain the key)."""
    if not isinstance(error, ExperimentError):
        return {"text": visible(str(error)), "key": "", "right": "", "line": None}
    message = error.problem if error.value is None else f"{error.problem}: {error.value}"
    line = error.line or (line_of(error.key, text) if error.key else None)
    texts = (visible_line(each) for each in (message, error.key, error.right))
    return dict(zip(("text", "key", "right"), texts, strict=True)) | {"line": line}


def line_of(key: str, text: str) -> int | None:
    """Return the line of a dotted key, or of the innermost table around it that the text contains."""
    searched = tuple(key.split("."))
    best: tuple[int, int] | None = None
    for path, line in _keys_with_lines(text):
        shared = len(path) if path == searched[: len(path)] else 0
        if shared and (best is None or shared > best[0]):
            best = (shared, line)
    return None if best is None else best[1]


def _keys_with_lines(text: str) -> list[tuple[tuple[str, ...], int]]:
    """Return every header and key with its line; the tables of a list are numbered from 0."""
    found: list[tuple[tuple[str, ...], int]] = []
    counts: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _numbered(_parts(header[1]), counts, grows=line.lstrip().startswith("[["))
            found.append((table, number))
        elif key := _KEY.match(line):
            found.append((table + _parts(key[1]), number))
    return found


def _numbered(name: tuple[str, ...], counts: dict[tuple[str, ...], int], *, grows: bool) -> tuple[str, ...]:
    """Return a header's name with the index in each list of tables around it."""
    path: tuple[str, ...] = ()
    for position, part in enumerate(name):
        path = (*path, part)
        last = position == len(name) - 1
        if last and grows:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, str(counts[path]))
    return path


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in name.split("."))


BLANK = """title = "A dumbbell"
duration = "30s"

[path]
rtt = "40ms"
forward_delay = "20ms"

[path.bottleneck]
rate = "50mbit"
qdisc = "pfifo limit 1bdp"

[[flows]]
cc = "bbr"

[[flows]]
cc = "cubic"
"""
"""The experiment of a new page."""


@cache
def catalogue() -> list[dict[str, Any]]:
    """Return `name`, `title`, `case`, `published` and `toml` of each that the simulator can run, a dumbbell first."""
    blank = {"name": "dumbbell", "title": "A dumbbell", "case": "", "published": False, "toml": BLANK}
    files, published_names = scenarios(), published()
    return [
        blank,
        *(entry for name, file in files.items() for entry in _entries(name, file, published=name in published_names)),
    ]


def _entries(name: str, file: Path, *, published: bool) -> list[dict[str, Any]]:
    return [
        {"name": name, "title": case.experiment.title, "case": case.name, "published": published, "toml": text}
        for case, text in texts_of(file)
        if _playable(case)
    ]


def texts_of(file: Path) -> list[tuple[Case, str]]:
    """Return every case of a file with its text. Raises `ExperimentError`."""
    text, cases = text_of(file), load(file)
    return [(case, as_toml(without_cases(toml(text, file), file, case.name)) if case.name else text) for case in cases]


def _playable(case: Case) -> bool:
    """Return whether the simulator can run the case."""
    known = set(Simulator.controllers())
    experiment = case.experiment
    return not experiment.programs and all(group.cc is None or group.cc in known for group in experiment.flows)
