"""The experiment's text in the editor: a page's edits, its controls, the line of an error, built-in texts.

An edit changes one value and keeps every other character, including comments (tomlkit). `dumbbell.spec` parses the
result.

A control that does not apply to an experiment is missing or null: a path of tc commands has no rate, a discipline
without a limit no buffer. The page sends a changed value as text; the experiment checks it.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tomlkit
from pydantic import BaseModel, ConfigDict
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT

from dumbbell import __version__
from dumbbell.control_characters import visible, visible_line
from dumbbell.engines.sim import Simulator
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.plots import panels
from dumbbell.plots.colours import ALARM, CONTROLLERS, DARK_GROUND, HUES, INK, NOTE, ON_DARK
from dumbbell.spec import Experiment, load, published, scenarios
from dumbbell.spec.document import Case, as_toml, text_of, toml, without_cases

if TYPE_CHECKING:
    from dumbbell.spec.keys import Bottleneck, Flows

__all__ = ["BLANK", "Edit", "apply_edits", "catalogue", "controls", "error_fields", "line_of", "page_start", "texts_of"]


class Edit(BaseModel):
    """One change: sets a key, adds a table to a list, or removes a key or a table of a list."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    do: Literal["set", "add", "remove"] = "set"
    key: str
    """Dotted; a number is an index of a list: `path.rtt`, `flows.0.cc`."""
    value: str | int | float | bool | dict[str, str | int | float | bool] | None = None


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return the text after these edits, applied in their order.

    Raises `ExperimentError` for a text that is no TOML, and for a key that the text can't contain.
    """
    if not edits:
        return text
    toml(text)  # tomlkit has no limits of its own.
    try:
        document = tomlkit.parse(text)
        for edit in edits:
            _apply(document, edit)
        return tomlkit.dumps(document)
    except (TOMLKitError, RecursionError) as error:
        raise ExperimentError(f"not TOML: {error}") from None


def _apply(document: Any, edit: Edit) -> None:
    *path, last = edit.key.split(".")
    node = document
    for step in path:
        node = _child(node, step, edit)
    if edit.do == "add":
        _add(node, last, edit)
    elif edit.do == "remove" or edit.value is None:
        _remove(node, last, edit)
    elif isinstance(node, dict):
        node[last] = edit.value
    else:
        raise _no_such_key(edit)


def _child(node: Any, step: str, edit: Edit) -> Any:
    if isinstance(node, list):
        if not step.isdecimal() or int(step) >= len(node):
            raise _no_such_key(edit)
        return node[int(step)]
    if not isinstance(node, dict):
        raise _no_such_key(edit)
    if step not in node:
        node[step] = tomlkit.table()
    return node[step]


def _add(node: Any, key: str, edit: Edit) -> None:
    if not isinstance(node, dict) or not isinstance(edit.value, dict):
        raise _no_such_key(edit)
    table = tomlkit.table()
    table.update(edit.value)
    tables = node.get(key)
    if tables is None:
        node[key] = tomlkit.aot()
        tables = node[key]
    if isinstance(tables, AoT):
        tables.append(table)
    elif isinstance(tables, list):  # Written as a list of inline tables.
        inline = tomlkit.inline_table()
        inline.update(edit.value)
        tables.append(inline)
    else:
        raise _no_such_key(edit)


def _remove(node: Any, key: str, edit: Edit) -> None:
    if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
        del node[int(key)]
    elif isinstance(node, dict):
        node.pop(key, None)
    else:
        raise _no_such_key(edit)


def _no_such_key(edit: Edit) -> ExperimentError:
    return ExperimentError("the text has no such key", key=edit.key, value=edit.value)


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


def controls(experiment: Experiment) -> dict[str, Any]:
    """Return the values of the controls."""
    path = experiment.path
    return {
        "title": experiment.title,
        "duration_ns": experiment.duration,
        "rtt_ns": path.rtt,
        "mtu_bytes": path.mtu,
        "loss": path.loss,
        "bottleneck": None if path.bottleneck is None else _bottleneck(path.bottleneck),
        "flows": [_group(name, group) for name, group in zip(experiment.group_names, experiment.flows, strict=True)],
    }


def page_start(*, server: bool) -> dict[str, Any]:
    """Return what a page starts with: version, scenarios, what its controls offer, colours of its figures.

    Without a `server`, the page runs the simulator itself.
    """
    return {
        "version": __version__,
        "server": server,
        "scenarios": catalogue(),
        "controllers": list(Simulator.controllers()),
        "disciplines": DISCIPLINES,
        "palette": {
            "hues": HUES,
            "on_dark": ON_DARK,
            "controllers": CONTROLLERS,
            "dark_ground": DARK_GROUND,
            "ink": INK,
            "note": NOTE,
            "alarm": ALARM,
            "states": panels.STATE_COLOURS,
            "pale": panels.OTHER_COLOURS,
        },
    }


def _bottleneck(bottleneck: "Bottleneck") -> dict[str, Any]:
    qdisc = bottleneck.qdisc
    return {
        "rate_bps": bottleneck.rate,
        "traced": bottleneck.rate_trace is not None,
        "qdisc": qdisc.text,
        "kind": qdisc.kind,
        "limit": qdisc.option("limit"),
    }


def _group(name: str, group: "Flows") -> dict[str, Any]:
    return {
        "name": name,
        "kind": group.kind,
        "cc": group.cc,
        "cc_parameters": dict(group.cc_parameters),
        "count": group.count,
        "start_ns": group.start,
        "stop_ns": group.stop,
        "bytes": group.bytes,
        "rate_bps": group.rate,
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
