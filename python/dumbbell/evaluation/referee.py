"""Run the suite for one controller and spend a budget of wall time or runs where verdicts are open.

First every criterion gets the fewest seeds that can give a verdict, a seed of all criteria at a time; then those
without a verdict get two more per round. The order of runs depends on results only, never on speed, so the same number
of runs gives the same verdicts. Runs that criteria share are made once.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dumbbell.analysis.flows import harm, harm_of_cost
from dumbbell.engines.base import Permissions, repeat_command
from dumbbell.evaluation.criteria import Criterion, Suite, Unit
from dumbbell.evaluation.readings import read
from dumbbell.evaluation.verdict import SEEDS_FIRST, Judged, Verdict, judge
from dumbbell.publish import temporary
from dumbbell.spec.built_in import evaluations
from dumbbell.sweeps.pool import Local
from dumbbell.sweeps.task import Base, Row, Task
from dumbbell.sweeps.task_runner import setting

__all__ = ["Budget", "Controller", "Evaluation", "Finding", "evaluate"]

SEEDS_MORE = 2
SEEDS_MOST = 30
SEEDS_MOST_FULL = 200


@dataclass(frozen=True)
class Controller:
    """The controller under test."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    engine: str = "sim"
    kernel: str | None = None


@dataclass(frozen=True)
class Budget:
    """When to stop; both None: at verdicts, or at the most seeds."""

    wall_s: float | None = None
    runs: int | None = None


@dataclass(frozen=True)
class Finding:
    """The answer to one criterion, for one standard controller if it has one."""

    criterion: Criterion
    rival: str | None
    judged: Judged
    values: tuple[float, ...]
    """By seed, from 1."""
    runs: int
    """The runs that it used; criteria share runs."""
    commands: tuple[str, ...]
    """What repeats its runs with seed 1."""
    reason: str = ""
    """Why there is no verdict."""

    @property
    def name(self) -> str:
        """The criterion's name, with the standard controller."""
        return f"{self.criterion.name}/{self.rival}" if self.rival else self.criterion.name


@dataclass(frozen=True)
class Evaluation:
    """The answers for one controller."""

    controller: Controller
    against: tuple[str, ...]
    suite: Suite
    findings: tuple[Finding, ...]
    runs: int
    wall_s: float
    ended: str
    """`verdicts`, `seeds`, or `budget`: why it ended."""


Advance = Callable[[int, int], None]
"""Called with the number of finished runs and of findings without a verdict."""


class _Question:
    """One criterion, for one standard controller, with the arms of its experiment."""

    def __init__(self, criterion: Criterion, controller: Controller, rival: str | None) -> None:
        self.criterion, self.rival = criterion, rival
        tested = _run_by(criterion.tested, controller.name, controller.parameters)
        rivals = _run_by(criterion.rivals, rival, {}) if rival else []
        others = [*criterion.settings.items(), *rivals]
        self.arms = [_unit(criterion, [*others, *tested])]
        if criterion.compared != "value":
            assert rival is not None
            self.arms.append(_unit(criterion, [*others, *_run_by(criterion.tested, rival, {})]))
            self.arms.append(_unit(criterion, [*others, *((f"flows.{each}.count", 0) for each in criterion.tested)]))

    def value(self, rows: Sequence[Row]) -> float | str:
        """Its value in one seed, or why it is not known."""
        for row in rows:
            if row.status != "ok":
                return f"seed {row.seed}: {row.status}: {row.reason}"
        found = [row.metrics.get(self.criterion.metric) for row in rows]
        if self.criterion.compared == "value":
            return f"seed {rows[0].seed}: no {self.criterion.metric}" if found[0] is None else found[0]
        tested, alike, solo = found
        if solo is None or solo <= 0:
            return f"seed {rows[0].seed}: no {self.criterion.metric} alone"
        if self.criterion.compared == "harm of cost":
            return harm_of_cost(solo, tested) - harm_of_cost(solo, alike)
        if tested is None or alike is None:
            return f"seed {rows[0].seed}: no {self.criterion.metric}"
        return harm(solo, tested) - harm(solo, alike)


class _Referee:
    """The state of an evaluation."""

    def __init__(self, suite: Suite, controller: Controller, against: Sequence[str]) -> None:
        self.controller = controller
        self.questions = [
            _Question(each, controller, rival)
            for each in suite.criteria
            for rival in (against if each.each_rival else (None,))
        ]
        self.units = list(dict.fromkeys(unit for question in self.questions for unit in question.arms))
        self.metrics: dict[Unit, dict[str, None]] = {unit: {} for unit in self.units}
        for question in self.questions:
            for unit in question.arms:
                self.metrics[unit][question.criterion.metric] = None
        self.rows: dict[tuple[Unit, int], Row] = {}
        self.asked = [SEEDS_FIRST] * len(self.questions)

    def pending(self) -> list[tuple[Unit, int]]:
        """The runs that the questions lack, by seed."""
        wanted = [
            (unit, seed)
            for seed in range(1, max(self.asked, default=0) + 1)
            for question, upto in zip(self.questions, self.asked, strict=True)
            if seed <= upto
            for unit in question.arms
        ]
        return [each for each in dict.fromkeys(wanted) if each not in self.rows]

    def task(self, unit: Unit, seed: int) -> Task:
        """A run as a task of a worker: it sets whole tables, so that one base serves all experiments."""
        values = {"experiment": unit.experiment, "metrics": list(self.metrics[unit])}
        document = tuple(unit.document().items())
        return Task(self.units.index(unit), seed, self.controller.engine, self.controller.kernel, document, values)

    def take(self, row: Row) -> None:
        """Keep the row of a run."""
        self.rows[self.units[row.point], row.seed] = row

    def finding(self, number: int) -> Finding:
        """The present answer to a question."""
        question = self.questions[number]
        values: list[float] = []
        reason = ""
        seed = 1
        while rows := self._rows(question, seed):
            found = question.value(rows)
            if isinstance(found, str):
                reason = reason or found
            else:
                values.append(found)
            seed += 1
        judged = judge(values, question.criterion.limit)
        if reason:
            # A run that failed with one seed says something about the controller; the others do not outweigh it.
            judged = replace(judged, verdict=Verdict.NOT_KNOWN)
        elif judged.verdict is Verdict.NOT_KNOWN:
            few = f"{len(values)} seeds; a verdict needs at least {SEEDS_FIRST}"
            reason = few if len(values) < SEEDS_FIRST else f"the interval of {len(values)} seeds contains the limit"
        commands = tuple(self._command(unit) for unit in question.arms)
        runs = len(question.arms) * (seed - 1)
        return Finding(question.criterion, question.rival, judged, tuple(values), runs, commands, reason)

    def ask_more(self, most: int) -> bool:
        """Two more seeds for each question without a verdict; False if there is none, or all have the most seeds."""
        more = False
        for number in range(len(self.questions)):
            found = self.finding(number)
            is_open = found.judged.verdict is Verdict.NOT_KNOWN and len(found.values) == self.asked[number]
            if is_open and self.asked[number] < most:
                self.asked[number] += SEEDS_MORE
                more = True
        return more

    def _rows(self, question: _Question, seed: int) -> list[Row]:
        rows = [self.rows.get((unit, seed)) for unit in question.arms]
        return [row for row in rows if row is not None] if None not in rows else []

    def _command(self, unit: Unit) -> str:
        settings = [setting(key, value) for key, value in unit.settings]
        return repeat_command(
            f"evaluate/{unit.experiment}", self.controller.engine, 1, settings, self.controller.kernel
        )


def evaluate(
    suite: Suite, controller: Controller, against: Sequence[str], budget: Budget, *,
    full: bool = False, jobs: int | None = None, allowed: Permissions | None = None, advance: Advance | None = None,
) -> Evaluation:  # fmt: skip
    """Answer the suite's criteria for a controller.

    Raises `DumbbellError` for what concerns all runs, `KeyboardInterrupt` once all runs have ended.
    """
    began = time.monotonic()
    deadline = None if budget.wall_s is None else began + budget.wall_s
    referee = _Referee(suite, controller, against)
    folder = next(iter(evaluations().values())).parent
    base = Base("evaluate", {}, folder / "experiment.toml", (), None, read, allowed or Permissions())
    most = SEEDS_MOST_FULL if full else SEEDS_MOST
    ended = "budget"
    with temporary("evaluate") as private, Local(jobs, private) as pool:
        started = 0

        def allowed_now(tasks: Sequence[tuple[Unit, int]]) -> Iterator[Task]:
            nonlocal started
            for unit, seed in tasks:
                if budget.runs is not None and started >= budget.runs:
                    return
                if deadline is not None and time.monotonic() >= deadline:
                    return
                started += 1
                yield referee.task(unit, seed)

        while True:
            pending = referee.pending()
            for row in pool.rows(base, allowed_now(pending)):
                referee.take(row)
                if advance is not None:
                    advance(len(referee.rows), len(referee.units))
            if referee.pending():
                break
            if not referee.ask_more(most):
                ended = "verdicts"
                break
    findings = tuple(referee.finding(number) for number in range(len(referee.questions)))
    if ended == "verdicts" and any(each.judged.verdict is Verdict.NOT_KNOWN for each in findings):
        ended = "seeds"
    return Evaluation(controller, tuple(against), suite, findings, len(referee.rows), time.monotonic() - began, ended)


def _run_by(groups: Sequence[str], cc: str | None, parameters: Mapping[str, Any]) -> list[tuple[str, Any]]:
    settings: list[tuple[str, Any]] = [(f"flows.{group}.cc", cc) for group in groups]
    return settings + [
        (f"flows.{group}.cc_parameters.{key}", value) for group in groups for key, value in parameters.items()
    ]


def _unit(criterion: Criterion, settings: Sequence[tuple[str, Any]]) -> Unit:
    return Unit(criterion.experiment, tuple(settings))
