"""The files that a sweep's experiment references at any of its points: traces and tc scripts, with their contents."""

from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.spec.attachments import PLACES, named_in, read_named
from dumbbell.spec.document import with_settings
from dumbbell.spec.sweep import Sweep, settings_at

__all__ = ["referenced_files"]


def referenced_files(sweep: Sweep) -> dict[str, bytes]:
    """Contents by name, relative to the experiment. Raises `ExperimentError` for a file outside its folder."""
    found = dict(_referenced(sweep.experiment, sweep))
    keys = {key for key in (*sweep.set, *(each.key for each in sweep.every_axis)) if _selects_file(key)}
    seen = set()
    # Iterate over points only if a setting selects files: a large grid takes time.
    for point in sweep.each_point() if keys else ():
        settings = {key: value for key, value in settings_at(sweep, point.values).items() if key in keys}
        if settings and (text := repr(settings)) not in seen:
            seen.add(text)
            found |= dict(_referenced(with_settings(sweep.experiment, settings, sweep.experiment_file), sweep))
    return dict(sorted(found.items()))


def _selects_file(key: str) -> bool:
    """Does this key name a file, or hold a table that does?"""
    parts = tuple(key.split("."))
    return any(place[: len(parts)] == parts for place in PLACES)


def _referenced(document: Mapping[str, Any], sweep: Sweep) -> Iterator[tuple[str, bytes]]:
    for key, name in named_in(document):
        yield name, read_named(sweep.experiment_file.parent, name, key, str(sweep.experiment_file))
