"""A sweep's manifest, `sweep.json`: its settings, engines and row counts.

The same sweep, build and kernel give the same bytes; times and paths are in the journal. docs/sweeps.md documents the
keys.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell.results.manifest_schema import FORMAT
from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.folder import entry_of

__all__ = ["manifest_of"]


def manifest_of(
    sweep: Sweep, options: Sequence[str], engines: Iterable[Mapping[str, Any]], counts: Mapping[str, int]
) -> dict[str, Any]:
    """The manifest; `options` are the command-line options, `counts` the rows by status."""
    return {
        "format": FORMAT,
        "dumbbell": dumbbell.__version__,
        "name": sweep.name,
        "title": sweep.title,
        "command": _command(sweep.file, options),
        "axes": [entry_of(each) for each in sweep.every_axis],
        "seeds": list(sweep.seeds),
        "metrics": list(sweep.metrics),
        "keep": sweep.keep,
        "window": None if sweep.window is None else list(sweep.window),
        "engines": {_name(each): {key: each[key] for key in each if key != "engine"} for each in engines},
        "counts": {"wanted": sum(counts.values())}
        | {each: counts.get(each, 0) for each in ("ok", "invalid", "failed")},
        "until": _plain(sweep.until),
        "refine": _plain(sweep.refine),
        "maps": [_plain(each) for each in sweep.maps],
        "experiment": "experiment.toml",
        "source": sweep.source and asdict(sweep.source),
    }


def _command(file: Path, options: Sequence[str]) -> str:
    """The command line, with the file's name only: its folder differs between hosts."""
    return shlex.join(["dumbbell", "sweep", file.name, *options])


def _name(engine: Mapping[str, Any]) -> str:
    return f"kernel {engine['kernel']}" if engine["engine"] == "kernel" else str(engine["engine"])


def _plain(table: Any) -> Any:
    return table and {key: value for key, value in asdict(table).items() if value is not None}
