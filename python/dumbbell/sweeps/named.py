"""The files that a sweep's experiment names, at any of its points: traces and tc scripts."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from dumbbell.errors import ExperimentError
from dumbbell.spec.document import with_settings
from dumbbell.spec.sweep import ABOUT_THE_RUN, Sweep, settings_at

__all__ = ["named_files"]

_PLACES = (("path", "bottleneck", "trace"), ("path", "tc", "script"))


def named_files(sweep: Sweep) -> list[str]:
    """Their names as the experiment has them, relative to it. Raises `ExperimentError` where one lies elsewhere."""
    found = dict.fromkeys(_named(sweep.experiment, sweep))
    seen = set()
    for point in sweep.each_point():
        settings = {key: value for key, value in settings_at(sweep, point.values).items() if _leads_there(key)}
        if settings and (words := repr(settings)) not in seen:
            seen.add(words)
            found |= dict.fromkeys(_named(with_settings(sweep.experiment, settings, sweep.experiment_file), sweep))
    return sorted(found)


def _leads_there(key: str) -> bool:
    """Does a setting of this key say which file, or hold the table that does?"""
    parts = tuple(key.split("."))
    return key not in ABOUT_THE_RUN and any(place[: len(parts)] == parts for place in _PLACES)


def _named(document: Mapping[str, Any], sweep: Sweep) -> Iterator[str]:
    for place in _PLACES:
        held: Any = document
        for part in place:
            held = held.get(part) if isinstance(held, Mapping) else None
        if isinstance(held, str):
            _refuse_elsewhere(held, ".".join(place), sweep)
            yield held


def _refuse_elsewhere(name: str, key: str, sweep: Sweep) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ExperimentError(
            "a file outside the experiment's folder", file=str(sweep.experiment_file), key=key, value=name,
            right="put it beside the experiment",
        )  # fmt: skip
    if not (sweep.experiment_file.parent / name).is_file():
        raise ExperimentError(
            "no such file", file=str(sweep.experiment_file), key=key, value=name,
            right=f"it should lie in {sweep.experiment_file.parent}",
        )  # fmt: skip
