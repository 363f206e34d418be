"""Other controllers on a fitted path: each on every path that the recordings allow, with several seeds.

An interval spans all of these runs and, for each path, where one more seed would be with 95 %; it is as much wider as
the replay of the recording was off.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path as File
from typing import Any

from dumbbell import spec
from dumbbell.analysis.summary import summary
from dumbbell.engines import Request
from dumbbell.engines.base import Permissions, engine_called
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.publish import temporary
from dumbbell.spec.document import chosen
from dumbbell.twin.hypotheses import OTHER
from dumbbell.twin.readings import half_interval
from dumbbell.twin.replay import RECORDED, in_parallel

__all__ = ["ENGINES", "MEASURES", "Prediction", "Range", "allowed_paths", "as_json", "predict"]

ENGINES = ("sim", "kernel")
SEEDS = {"sim": (1, 2, 3, 4, 5), "kernel": (1,)}
"""A run on the kernel costs ten of the simulator's."""
MEASURES = ("throughput_mbps", "rtt_ms", "retransmits", "completion_s", "neighbour_mbps")

Advance = Callable[[int, int], None]
Measured = Mapping[str, float | None]


@dataclass(frozen=True)
class Range:
    """A predicted number."""

    value: float
    """On the nearest model, the mean over the seeds."""
    low: float
    high: float


@dataclass(frozen=True)
class Prediction:
    """One controller on one engine."""

    engine: str
    cc: str
    numbers: Mapping[str, Range | None] = field(default_factory=dict)
    """None: unknown, such as the completion time of a download that did not complete in some run."""
    reason: str | None = None
    """Why there are none."""
    runs: int = 0


@dataclass(frozen=True)
class _Run:
    engine: str
    cc: str
    case: int
    seed: int


def allowed_paths(text: str, file: File) -> list[str | None]:
    """Names of an experiment's cases; None for one that has none. Raises `ExperimentError`."""
    cases = spec.parse(text, file)
    if RECORDED not in cases[0].experiment.group_names:
        raise ExperimentError(
            f"the experiment has no group '{RECORDED}', whose controller a prediction changes", file=str(file),
            key="flows", right="a file written by dumbbell fit",
        )  # fmt: skip
    return [case.name or None for case in cases]


def predict(
    text: str, file: File, controllers: Sequence[str], *, engines: Sequence[str] = ("sim",),
    errors: Sequence[float] = (), settings: Sequence[str] = (), jobs: int | None = None,
    advance: Advance = lambda _done, _all: None,
) -> list[Prediction]:  # fmt: skip
    """Run the controllers on the paths of an experiment that `fit` wrote.

    `errors`: of each path, by how much its replay was off, as a share. `settings` change the experiment. Raises
    `DumbbellError` if a run can't start for another reason than its controller.
    """
    names = allowed_paths(text, file)
    runs = [
        _Run(engine, cc, case, seed)
        for engine in engines for cc in controllers for case in range(len(names)) for seed in SEEDS[engine]
    ]  # fmt: skip
    done = 0

    def one(run: _Run) -> Measured | str:
        nonlocal done
        given = [f"flows.{RECORDED}.cc={run.cc}", *settings]
        found = _measured(run, _case(text, file, given, names[run.case]))
        done += 1
        advance(done, len(runs))
        return found

    found = dict(zip(runs, in_parallel(one, runs, jobs), strict=True))
    both = [(engine, cc) for engine in engines for cc in controllers]
    return [
        _prediction(*each, {run: value for run, value in found.items() if (run.engine, run.cc) == each}, errors)
        for each in both
    ]


def _case(text: str, file: File, settings: Sequence[str], name: str | None) -> spec.Case:
    cases = spec.parse(text, file, settings, None, () if name is None else (name,))
    return chosen(cases, name, str(file))


def _measured(run: _Run, case: spec.Case) -> Measured | str:
    """The numbers of a run, or why the engine can't run it."""
    engine = engine_called(run.engine, None, allowed=Permissions())
    with temporary("predict") as folder:
        try:
            made = engine.run_and_keep(Request("predict", case, run.seed, folder / "run"), lambda _seconds: None)
        except PlanError as error:
            return str(error)
        except ExperimentError as error:
            if not error.key.endswith(".cc"):
                raise
            return f"{error.problem}, got {run.cc!r}"
        if not made.manifest.valid:
            return "; ".join(made.manifest.invalid or ["the run is invalid"])
        found = summary(made)
    flow = next(each for each in found["flows"] if each["group"] == RECORDED)
    others = found["groups"].get(OTHER)
    return {
        "throughput_mbps": flow["throughput_mbps"],
        "rtt_ms": flow["rtt_ms"]["mean"],
        "retransmits": flow["retransmits"],
        "completion_s": flow.get("fct_s"),
        "neighbour_mbps": others["throughput_mbps"] if others else None,
    }


def _prediction(engine: str, cc: str, found: Mapping[_Run, Measured | str], errors: Sequence[float]) -> Prediction:
    reasons = [each for each in found.values() if isinstance(each, str)]
    if reasons:
        return Prediction(engine, cc, reason=reasons[0], runs=len(found))
    numbers = {
        name: _range(
            {run: each[name] for run, each in found.items() if not isinstance(each, str)},
            errors,
            counts=name == "retransmits",
        )
        for name in MEASURES
    }
    return Prediction(engine, cc, numbers, runs=len(found))


def _range(values: Mapping[_Run, float | None], errors: Sequence[float], *, counts: bool = False) -> Range | None:
    known: list[tuple[_Run, float]] = [(run, value) for run, value in values.items() if value is not None]
    if not known or len(known) < len(values):
        return None
    nearest = [value for run, value in known if run.case == 0]
    lows, highs = [], []
    for case in sorted({run.case for run, _ in known}):
        several = [value for run, value in known if run.case == case]
        low, high = _one_more(several, counts=counts)
        error = errors[case] if case < len(errors) else 0.0
        lows.append(min(*several, low) * (1 - error))
        highs.append(max(*several, high) * (1 + error))
    return Range(sum(nearest) / len(nearest), min(lows), max(highs))


def _one_more(values: Sequence[float], *, counts: bool) -> tuple[float, float]:
    """Where one more seed would be: rates and times vary by factors, counts by differences."""
    if min(values) > 0 and not counts:
        logs = [log(each) for each in values]
        mean, half = sum(logs) / len(logs), half_interval(logs)
        return exp(mean - half), exp(mean + half)
    mean, half = sum(values) / len(values), half_interval(values)
    return max(mean - half, 0.0), mean + half


def as_json(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """`predictions`, by engine and controller, with null and a reason for what an engine lacks."""
    made: dict[str, dict[str, Any]] = {}
    for each in predictions:
        made.setdefault(each.engine, {})[each.cc] = None if each.reason else _numbers(each)
    reasons = {f"{each.engine}.{each.cc}": each.reason for each in predictions if each.reason}
    return {"predictions": made, "reasons": reasons}


def _numbers(prediction: Prediction) -> dict[str, Any]:
    known = prediction.numbers
    return {name: None if each is None else each.value for name, each in known.items()} | {
        "intervals": {name: None if each is None else [each.low, each.high] for name, each in known.items()},
        "runs": prediction.runs,
    }
