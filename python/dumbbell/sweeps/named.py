"""The files that a sweep's experiment names, at any of its points: traces and tc scripts."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from dumbbell.errors import ExperimentError
from dumbbell.spec.attachments import PLACES, beside, named_in
from dumbbell.spec.document import with_settings
from dumbbell.spec.sweep import Sweep, settings_at

__all__ = ["named_files"]


def named_files(sweep: Sweep) -> list[str]:
    """Their names as the experiment has them, relative to it. Raises `ExperimentError` where one lies elsewhere."""
    found = dict.fromkeys(_named(sweep.experiment, sweep))
    keys = {key for key in (*sweep.set, *(each.key for each in sweep.every_axis)) if _leads_there(key)}
    seen = set()
    # Only where points differ in it: a large grid is gone through for nothing otherwise.
    for point in sweep.each_point() if keys else ():
        settings = {key: value for key, value in settings_at(sweep, point.values).items() if key in keys}
        if settings and (words := repr(settings)) not in seen:
            seen.add(words)
            found |= dict.fromkeys(_named(with_settings(sweep.experiment, settings, sweep.experiment_file), sweep))
    return sorted(found)


def _leads_there(key: str) -> bool:
    """Does a setting of this key say which file, or hold the table that does?"""
    parts = tuple(key.split("."))
    return any(place[: len(parts)] == parts for place in PLACES)


def _named(document: Mapping[str, Any], sweep: Sweep) -> Iterator[str]:
    for key, name in named_in(document):
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            # It is copied by this name, and would land elsewhere.
            raise ExperimentError(
                "a file outside the experiment's folder", file=str(sweep.experiment_file), key=key, value=name,
                right="put it beside the experiment",
            )  # fmt: skip
        beside(sweep.experiment_file, name, key)
        yield name
