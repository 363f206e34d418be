"""What a search found: the worst points, one of them confirmed on the kernel, made small, and saved as an experiment.

An experiment *fails* if every one of its runs has a value beyond the threshold. Without `--threshold` that is the worst
value and a quarter of the difference to the unchanged experiment's.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from dumbbell import _sim
from dumbbell.engines.base import Permissions
from dumbbell.errors import DumbbellError, ResultError
from dumbbell.kernels import store
from dumbbell.search.shrink import SHORTEST_S, canonical, smaller
from dumbbell.spec import document as documents
from dumbbell.spec.sweep import ABOUT_THE_RUN, Sweep, settings_at
from dumbbell.sweeps.runner import Executor
from dumbbell.sweeps.task import Base, Row, Task, base_of
from dumbbell.sweeps.trials import Candidate, objective, ranked, trials_of

__all__ = ["Checked", "Found", "Runs", "concluded", "kernel_is_built", "settings_of"]

BACK = 0.25
"""So much of the difference to the unchanged experiment may be lost, and it still counts as failing."""
KERNEL_SEEDS = 3
MOST_STEPS = 150
"""Smaller experiments that are tried."""


@dataclass(frozen=True)
class Checked:
    """The searched value in every run of an experiment on one engine."""

    engine: str
    found: tuple[float | None, ...]
    """By seed; None if the run is invalid or failed, or lacks the value."""
    reason: str | None = None
    metrics: tuple[Mapping[str, float], ...] = field(default=(), repr=False)
    """All metrics, by seed."""

    @property
    def mean(self) -> float | None:
        """None unless every run has the value."""
        known = [each for each in self.found if each is not None]
        return math.fsum(known) / len(known) if known and len(known) == len(self.found) else None

    @property
    def json(self) -> dict[str, Any]:
        """As `--json` has it."""
        return {"engine": self.engine, "values": list(self.found), "mean": self.mean, "reason": self.reason}


@dataclass(frozen=True)
class Found:
    """The outcome of a search."""

    formula: str
    minimize: bool
    threshold: float
    baseline: Checked
    """The unchanged experiment."""
    first: int | None
    """So many trials until one was beyond the threshold."""
    best: tuple[Candidate, ...]
    """The points that ran with every seed, worst first."""
    chosen: Candidate | None = None
    """The point that was made small: the worst one that the kernel confirms, or else the worst one."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """The smallest experiment that still fails."""
    simulated: Checked | None = None
    """The smallest experiment on the search's engine."""
    on_kernel: Checked | None = None
    """The same on the kernel; None: not requested."""
    steps: tuple[str, ...] = ()
    """What made it smaller."""

    def fails(self, checked: Checked | None) -> bool:
        """Is every run beyond the threshold?"""
        return checked is not None and all(each is not None and self.is_beyond(each) for each in checked.found)

    def is_beyond(self, number: float) -> bool:
        """Is the value at least as bad as the threshold?"""
        return number <= self.threshold if self.minimize else number >= self.threshold


class Runs:
    """Runs experiments given as documents, with several seeds each."""

    def __init__(self, sweep: Sweep, executor: Executor, on_row: Callable[[Row], None], allowed: Permissions) -> None:
        self._sweep, self._executor, self._on_row = sweep, executor, on_row
        self._base: Base = replace(base_of(sweep, allowed), experiment={}, file=sweep.experiment_file)
        self.count = 0

    def check(self, document: Mapping[str, Any], engine: str, seeds: Sequence[int]) -> Checked:
        """The searched value in a run with each seed."""
        tasks = [Task(self.count, seed, engine, None, tuple(document.items()), {}) for seed in seeds]
        self.count += 1
        rows: list[Row] = []
        for row in self._executor.rows(self._base, tasks):
            rows.append(row)
            self._on_row(row)
        (trial,) = trials_of(self._sweep, rows)
        reason = "; ".join(trial.reasons) or None
        values = {row.seed: trials_of(self._sweep, [row])[0].mean for row in rows}
        metrics = {row.seed: row.metrics for row in rows}
        return Checked(engine, tuple(values[seed] for seed in seeds), reason, tuple(metrics[seed] for seed in seeds))


def concluded(
    sweep: Sweep, rows: Sequence[Row], runs: Runs, *, confirm: bool, threshold: float | None, shrink: bool
) -> Found:
    """Confirm the worst points and make one small. Raises `ResultError` if no trial has the searched value."""
    assert sweep.search is not None
    best = [trial for trial in ranked(sweep, trials_of(sweep, rows)) if trial.found][: sweep.search.best]
    if not best:
        reasons = list(dict.fromkeys(reason for trial in trials_of(sweep, rows) for reason in trial.reasons))
        raise ResultError(f"no trial has a value of '{objective(sweep.search)}': {'; '.join(reasons[:3]) or 'unknown'}")
    baseline = runs.check(_unchanged(sweep), sweep.engine, sweep.seeds)
    worst = best[0].mean
    assert worst is not None
    if threshold is None:
        threshold = worst if baseline.mean is None else worst + BACK * (baseline.mean - worst)
        threshold = rounded(threshold, up=sweep.search.minimize is not None)
    found = Found(objective(sweep.search), sweep.search.minimize is not None, threshold, baseline, None, tuple(best))
    beyond = [trial.point for trial in trials_of(sweep, rows) if trial.found and found.is_beyond(trial.found[0])]
    found = replace(found, first=min(beyond) + 1 if beyond else None)
    if not found.is_beyond(worst):
        return found
    return _made_small(sweep, found, runs, confirm=confirm, shrink=shrink)


def rounded(threshold: float, *, up: bool) -> float:
    """The threshold with three digits, rounded to the side on which the worst value stays beyond it.

    >>> rounded(0.12345, up=True), rounded(0.12345, up=False), rounded(-4567.0, up=True)
    (0.124, 0.123, -4560.0)
    """
    number = Decimal(repr(threshold))
    if not number.is_finite() or not number:
        return threshold
    step = Decimal(1).scaleb(number.adjusted() - 2)
    return float(number.quantize(step, ROUND_CEILING if up else ROUND_FLOOR))


def _made_small(sweep: Sweep, found: Found, runs: Runs, *, confirm: bool, shrink: bool) -> Found:
    # One that fails with every seed, if there is any.
    failing = [trial for trial in found.best if all(map(found.is_beyond, trial.found))] or list(found.best[:1])
    trial, on_kernel = _confirmed(sweep, found, runs, failing) if confirm else (failing[0], None)
    document = _document(sweep, trial)
    path = [(document, "")]
    if shrink:
        path += _shrunk(sweep, found, runs, document)
    if on_kernel is not None and found.fails(on_kernel):
        # A step that helps in the simulator may lose the effect on the kernel: go back to the last one that keeps it.
        while len(path) > 1 and not found.fails(on_kernel := _on_kernel(sweep, runs, path[-1][0])):
            path.pop()
        if len(path) == 1:
            on_kernel = _on_kernel(sweep, runs, document)
    simulated = runs.check(path[-1][0], sweep.engine, sweep.seeds)
    steps = tuple(what for _, what in path[1:])
    return replace(found, chosen=trial, document=path[-1][0], simulated=simulated, on_kernel=on_kernel, steps=steps)


def _confirmed(sweep: Sweep, found: Found, runs: Runs, failing: Sequence[Candidate]) -> tuple[Candidate, Checked]:
    """The worst trial that fails on the kernel too; without one, the worst trial."""
    checked: list[tuple[Candidate, Checked]] = []
    for trial in failing:
        checked.append((trial, _on_kernel(sweep, runs, _document(sweep, trial))))
        if found.fails(checked[-1][1]):
            return checked[-1]
    return checked[0]


def _on_kernel(sweep: Sweep, runs: Runs, document: Mapping[str, Any]) -> Checked:
    return runs.check(document, "kernel", sweep.seeds[:KERNEL_SEEDS])


def _shrunk(sweep: Sweep, found: Found, runs: Runs, document: Mapping[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Smaller and smaller experiments that all fail, each with the step to it."""
    path: list[tuple[dict[str, Any], str]] = []
    held, tried = dict(document), 0
    refused: list[dict[str, Any]] = []
    while tried < MOST_STEPS:
        for what, changed in smaller(held, sweep.experiment_file, _shortest_s(sweep)):
            if changed in refused:
                continue
            tried += 1
            # One seed first: most steps fail with it.
            seeds: Iterable[Sequence[int]] = (sweep.seeds[:1], sweep.seeds[1:])
            if all(found.fails(runs.check(changed, sweep.engine, part)) for part in seeds if part):
                path.append((changed, what))
                held = changed
                break
            refused.append(changed)
            if tried >= MOST_STEPS:
                break
        else:
            break
    return path


def _shortest_s(sweep: Sweep) -> float:
    """The window must stay what it is, and a run without one longer than slow start."""
    if sweep.window is None:
        return SHORTEST_S
    start, end = sweep.window
    return (start / 1e9 + SHORTEST_S) if end is None else end / 1e9


def _unchanged(sweep: Sweep) -> dict[str, Any]:
    """The experiment with the settings of every run that no axis fills."""
    settings = {key: value for key, value in sweep.set.items() if not _sim.placeholders([value])}
    return canonical(documents.with_settings(sweep.experiment, settings, sweep.experiment_file), sweep.experiment_file)


def _document(sweep: Sweep, trial: Candidate) -> dict[str, Any]:
    """The experiment of a trial, without defaults, figures of its source and expectations."""
    changed = documents.with_settings(sweep.experiment, settings_of(sweep, trial), sweep.experiment_file)
    made = canonical(changed, sweep.experiment_file)
    return {key: value for key, value in made.items() if key not in ("source", "expect", "seeds")}


def settings_of(sweep: Sweep, trial: Candidate) -> dict[str, Any]:
    """What a trial sets in the experiment, with placeholders filled."""
    return {key: value for key, value in settings_at(sweep, trial.values).items() if key not in ABOUT_THE_RUN}


def kernel_is_built() -> bool:
    """Is there a kernel to confirm with?"""
    try:
        store.find()
    except DumbbellError:
        return False
    return True
