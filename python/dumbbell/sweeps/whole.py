"""A whole sweep on this machine: its folder, journal, cache and crew, from the question to the table.

What is due `conduct` finds, who does it is a crew's (`pool`), where it lies `place`'s; what a person sees of it is the
command's.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from dumbbell.engine.permissions import NOTHING, Permissions
from dumbbell.engine.requests import runs_folder
from dumbbell.errors import OutputError
from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.birth import birth_of
from dumbbell.sweeps.cache import Cache, cache_file
from dumbbell.sweeps.check import check, engines_of
from dumbbell.sweeps.conduct import Crew, rounds
from dumbbell.sweeps.due import standings
from dumbbell.sweeps.names import check_metrics
from dumbbell.sweeps.place import Place, opened
from dumbbell.sweeps.pool import Local
from dumbbell.sweeps.table import table_of
from dumbbell.sweeps.task import Base, Row, base_of

__all__ = ["Asked", "CrewFor", "Done", "Teller", "Unheard", "carry_out", "default_folder"]

CrewFor = Callable[[Place, Cache | None], AbstractContextManager[Crew]]


@dataclass(frozen=True)
class Asked:
    """A sweep, and how it is to be carried out."""

    sweep: Sweep
    out: Path
    resume: bool = False
    jobs: int | None = None
    use_cache: bool = True
    settings: Sequence[str] = ()
    """What was set besides the file."""
    crew: CrewFor | None = None
    """Others than this machine's processes."""
    allowed: Permissions = NOTHING
    """What the user, and not the sweep's file, lets its runs start."""
    engine: str | None = None
    """What the user named as the engine."""

    @property
    def options(self) -> list[str]:
        """The command's options that say what runs."""
        words = [word for setting in self.settings for word in ("--set", setting)]
        words += ["--engine", self.engine] if self.engine else []
        return words + (["--hosts", ",".join(self.allowed.hosts)] if self.allowed.hosts else [])


@dataclass(frozen=True)
class Done:
    """What came of it."""

    folder: Path
    counts: dict[str, int]
    """Rows by status."""
    cached: int
    """Of the runs of this time, those that another sweep had run."""
    was_finished: bool
    wall_s: float
    trouble: str | None
    """Why the cache was turned off, if it was."""
    unmet: tuple[str, ...] = ()
    """The points that are not known as well as `[until]` asks, each with the reason."""

    @property
    def runs(self) -> int:
        """Rows of the table."""
        return sum(self.counts.values())

    @property
    def is_good(self) -> bool:
        """Is every run there, and valid?"""
        return self.counts.get("ok", 0) == self.runs


class Teller(Protocol):
    """Who hears how it goes."""

    def due(self, runs: int, done: int) -> None:
        """A round of so many runs begins, of which so many are done already."""
        ...

    def row(self, row: Row) -> None:
        """A run is done."""
        ...


class Unheard:
    """Nobody listens."""

    def due(self, runs: int, done: int) -> None:
        """See `Teller`."""

    def row(self, row: Row) -> None:
        """See `Teller`."""


def default_folder(sweep: Sweep) -> Path:
    """Where a sweep goes by default: always the same place, so that `--resume` finds it. Raises `OutputError`."""
    return runs_folder() / f"sweep-{sweep.name}"


def carry_out(asked: Asked, teller: Teller) -> Done:
    """Carry a sweep out, or go on with it, to the table.

    Raises `ExperimentError` for slips before anything is run, `OutputError` where the folder can't be worked in or the
    disk is full (what was done stays), and what interrupts it.
    """
    began, sweep = time.monotonic(), asked.sweep
    check(sweep, asked.allowed)
    check_metrics(sweep)
    engines = engines_of(sweep, asked.allowed)
    with opened(sweep, asked.out, engines, resume=asked.resume) as place:
        if place.is_done:
            counts, unmet = place.journal.counts(), _unmet(sweep, place.journal.rows())
            return Done(place.folder, counts, 0, True, time.monotonic() - began, None, unmet)
        counted = _Counted(teller)
        try:
            trouble = _run(asked, place, counted)
            rows, counts = place.journal.rows(), place.journal.counts()
            unmet = _unmet(sweep, rows)
            place.publish(table_of(rows, sweep.every_axis), birth_of(sweep, asked.options, engines, counts))
        except OutputError as error:
            raise OutputError(f"{error}; what was done is kept: go on with --resume") from error
    return Done(place.folder, counts, counted.cached, False, time.monotonic() - began, trouble, unmet)


def _unmet(sweep: Sweep, rows: Sequence[Row]) -> tuple[str, ...]:
    if sweep.until is None:
        return ()
    values = {row.point: row.values for row in rows}
    found = {point: each for point, each in standings(sweep, rows).items() if each.state != "met"}
    return tuple(
        f"{', '.join(f'{key} = {value}' for key, value in values[point].items())}: {each.told(sweep.until)}"
        for point, each in found.items()
    )


def _run(asked: Asked, place: Place, counted: "_Counted") -> str | None:
    """All rounds; why the cache was turned off, if it was."""
    base: Base = replace(base_of(asked.sweep, asked.allowed), file=place.experiment)
    with ExitStack() as stack:
        cache = stack.enter_context(Cache(cache_file())) if asked.use_cache else None
        crew_for = asked.crew or _local(asked)
        crew = stack.enter_context(crew_for(place, cache))
        rounds(asked.sweep, base, crew, place.journal, counted.row, counted.due)
    return cache.trouble if cache else None


def _local(asked: Asked) -> CrewFor:
    def crew(place: Place, cache: Cache | None) -> Local:
        return Local(asked.jobs, place.room, place.kept if asked.sweep.keep == "runs" else None, cache)

    return crew


class _Counted:
    """Hands on what it hears, and counts what came from the cache."""

    def __init__(self, teller: Teller) -> None:
        self.cached = 0
        self.due = teller.due
        self._row = teller.row

    def row(self, row: Row) -> None:
        self.cached += row.cached
        self._row(row)
