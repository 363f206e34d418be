"""Dumbbell from Python: experiments, runs, comparisons, as `import dumbbell as db` gives them.

```python
run = db.run(db.scenario("cyclic"), duration="20s")
run.flows                 # a polars table
run.plot("cwnd")          # a picture
run.report("page.html")   # a page
```

The same rooms as the command's, with errors as exceptions (`dumbbell.errors`) and nothing printed. `docs/python.md` is
its manual; how results show themselves in a notebook is `dumbbell.shown`.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell import result, spec
from dumbbell.analysis import Measured, Side, confront, measures, summary
from dumbbell.engine import Request
from dumbbell.engine.journeys import MOST_ROWS, Journeys, Window
from dumbbell.engine.journeys import journeys as journeys_of
from dumbbell.engine.permissions import Permissions, kernels_set, permitted
from dumbbell.engine.requests import engine_called, plain, repeat_command
from dumbbell.errors import ExperimentError
from dumbbell.plot import DEFAULT, available, draw, figure
from dumbbell.report import write
from dumbbell.shown import Compared, Picture, Swept, run_html
from dumbbell.spec.qdisc import suggest
from dumbbell.spec.scenarios import find
from dumbbell.spec.sweep import engines_named, read_sweep
from dumbbell.spec.sweep import load_sweep as load_sweep_file
from dumbbell.spec.tomlout import inline
from dumbbell.spec.units import Wrong, duration_ns
from dumbbell.sweeps import folder as sweeps

__all__ = ["Experiment", "Run", "compare", "experiment", "journeys", "load", "load_sweep", "run", "scenario", "sweep"]

SWEEP = Path("sweep.toml")
"""What a sweep from Python is called."""
INLINE = Path("experiment.toml")
"""What an experiment from a dictionary is called; files that it names lie in the working directory."""


@dataclass(frozen=True)
class Experiment:
    """What can be run: one case, or several, which iterating gives one by one."""

    name: str
    document: Mapping[str, Any] | None = field(repr=False)
    """What it was made of, where that was no file."""
    file: Path
    asked: tuple[str, ...] = ()
    """Settings, as `--set` takes them."""
    only: str | None = None
    """The one case that is meant."""

    @cached_property
    def _cases(self) -> list[spec.Case]:
        return (
            spec.load(self.file, self.asked)
            if self.document is None
            else spec.read(dict(self.document), self.file, self.asked)
        )

    @property
    def cases(self) -> list[str]:
        """The names of its cases; one empty name where it is one experiment."""
        return [case.name for case in self._cases]

    def case(self, name: str) -> "Experiment":
        """One of its cases. Raises `ExperimentError` naming what there is."""
        if name not in self.cases:
            raise ExperimentError(f"no case is called '{name}'", file=str(self.file), right="; ".join(self.cases))
        return Experiment(self.name, self.document, self.file, self.asked, name)

    def set(self, **settings: Any) -> "Experiment":
        """The same with other values: `duration="20s"`, `path__rtt="20ms"` or `**{"path.rtt": "20ms"}`."""
        return Experiment(self.name, self.document, self.file, (*self.asked, *_settings(settings)), self.only)

    def __iter__(self) -> Iterator["Experiment"]:
        return iter([self.case(name) for name in self.cases] if self.only is None else [self])

    def one(self) -> spec.Case:
        """The case that is meant. Raises `ExperimentError` where there are several."""
        found = self._cases if self.only is None else [case for case in self._cases if case.name == self.only]
        if len(found) != 1:
            right = f"choose one with .case(NAME), or go through all: {'; '.join(self.cases)}"
            raise ExperimentError(f"{len(found)} cases and no one of them chosen", file=str(self.file), right=right)
        return found[0]


class Run:
    """A result: its tables, its numbers, its pictures."""

    def __init__(self, told: result.Run) -> None:
        self._told = told

    @property
    def folder(self) -> Path:
        """Where the result lies."""
        return self._told.folder

    @property
    def birth(self) -> dict[str, Any]:
        """The birth certificate: what was asked, what ran, whether to believe it."""
        return self._told.birth

    @property
    def valid(self) -> bool:
        """Did the run measure what was asked?"""
        return bool(self.birth["valid"])

    @property
    def flows(self) -> pl.DataFrame:
        """Every sample of every flow."""
        return self._told.flows

    @property
    def queues(self) -> pl.DataFrame:
        """Every sample of every queue."""
        return self._told.queues

    @property
    def probes(self) -> pl.DataFrame:
        """Every ping and UDP probe."""
        return self._told.probes

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers that `dumbbell stats --json` prints."""
        return summary(self._told)

    def plot(self, *names: str, width: int = 760, metric: str | None = None) -> Picture:
        """One figure by its name (`dumbbell plot --list`), or several panels under each other; none: the usual ones.

        Raises `ResultError` for a figure that doesn't exist or that this run can't fill.
        """
        if len(names) == 1:
            return Picture(draw([self._told], names[0], width, metric=metric))
        return Picture(figure(self._told, names or available(self._told, DEFAULT), width))

    def report(self, path: str | Path) -> Path:
        """Write the page about this run. Raises `OutputError` when it can't be written."""
        write([self._told], Path(path))
        return Path(path)

    def measured(self) -> Measured:
        """Its numbers as comparisons take them."""
        return Measured(self.folder, self.birth, measures(self._told))

    def __repr__(self) -> str:
        state = "" if self.valid else ", INVALID"
        return f"<Run of {self.birth.get('name')}: {self.birth['engine']}, seed {self.birth['seed']}{state}>"

    def _repr_html_(self) -> str:
        return run_html(self._told)


def scenario(name: str) -> Experiment:
    """A built-in experiment. Raises `ExperimentError` naming what there is."""
    known = spec.scenarios()
    if name not in known:
        right = f"{suggest(name, list(known))}; a file is experiment(PATH)"
        raise ExperimentError(f"no scenario is called '{name}'", right=right)
    return Experiment(name, None, known[name])


def experiment(source: str | Path | Mapping[str, Any]) -> Experiment:
    """An experiment from a TOML file, or from a dictionary with the same keys. Raises `ExperimentError`."""
    made = (
        Experiment("experiment", source, INLINE)
        if isinstance(source, Mapping)
        else Experiment(Path(source).stem, None, Path(source))
    )
    made.cases  # noqa: B018 — what is wrong with it is said now
    return made


def run(
    experiment: Experiment, engine: str = "sim", seed: int | None = None, out: str | Path | None = None,
    kernel: str | None = None, hosts: Sequence[str] = (), **settings: Any,
) -> Run:  # fmt: skip
    """Run one experiment with one seed (its first where none is named) and give the result.

    `hosts`: the real hosts that ssh may call, where the experiment names some; they must be the same ones.
    `settings` change keys, as in `Experiment.set`. Without `out` the folder is a temporary one, which goes away with
    the `Run`. Raises `DumbbellError`, as the command's errors; an invalid run raises nothing: look at `valid`.
    """
    asked = experiment.set(**settings) if settings else experiment
    case = asked.one()
    number = case.experiment.seeds[0] if seed is None else seed
    allowed = permitted([engine], hosts, [kernel])
    chosen = engine_called(engine, kernel, "engine", allowed=allowed)
    repeat = _repeat(asked, case, engine, number, kernel, allowed)
    if out is not None:
        return Run(result.load(chosen.run(Request(asked.name, case, number, Path(out), repeat), _silently)))
    private = Path(tempfile.mkdtemp(prefix="dumbbell-"))
    try:
        folder = private / (plain(asked.name) or "run")
        done = Run(result.load(chosen.run(Request(asked.name, case, number, folder, repeat), _silently)))
    except BaseException:
        shutil.rmtree(private, ignore_errors=True)
        raise
    weakref.finalize(done, shutil.rmtree, private, ignore_errors=True)
    return done


def journeys(
    experiment: Experiment, start: str = "0s", stop: str | None = None, seed: int | None = None,
    most_rows: int = MOST_ROWS, **settings: Any,
) -> Journeys:  # fmt: skip
    """Where every packet was from `start` to `stop` (the experiment's end), on the simulator: a row a packet.

    `settings` change keys, as in `Experiment.set`. Raises `DumbbellError`.
    """
    asked = experiment.set(**settings) if settings else experiment
    case = asked.one()
    end_ns = case.experiment.duration if stop is None else _time_ns(stop, "stop")
    number = case.experiment.seeds[0] if seed is None else seed
    return journeys_of(Request(asked.name, case, number, INLINE), Window(_time_ns(start, "start"), end_ns, most_rows))


def load(folder: str | Path) -> Run:
    """A result folder. Raises `ResultError`."""
    return Run(result.load(Path(folder)))


def load_sweep(folder: str | Path) -> Swept:
    """A finished sweep's folder. Raises `ResultError`."""
    return Swept(sweeps.load(Path(folder)))


def sweep(
    experiment: Experiment | str | Path | Mapping[str, Any],
    axes: Mapping[str | tuple[str, ...], Sequence[Any] | Mapping[str, Any]] | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    hosts: Sequence[str] = (),
    **keys: Any,
) -> Swept:
    """Run an experiment at every point of a grid: `axes={"path.rtt": ["5ms", "20ms"], ("a", "b"): zip(…)}`.

    Axes are crossed; those of one tuple go together. `keys` are the sweep file's others (`docs/sweeps.md`): `seeds`,
    `engine`, `set`, `until`, … Without `axes` the first argument is a sweep file, or a built-in sweep's name; it runs
    on the engine host only where `engine="host"` stands here too. `hosts`: the real hosts that ssh may call. Without
    `out` the folder is a temporary one, which goes away with what is returned. Raises `DumbbellError`; a run that fails
    raises nothing: it is a row with its reason.
    """
    from dumbbell.sweeps.whole import Asked, Unheard, carry_out  # noqa: PLC0415 — who runs one experiment needs none of it

    if axes is None:
        if not isinstance(experiment, str | Path):
            raise ExperimentError("a sweep without axes", key="axes", right='such as {"path.rtt": ["5ms", "20ms"]}')
        engine = keys.pop("engine", None)
        asked = load_sweep_file(experiment, _settings(keys), engine)
        allowed = permitted([engine], hosts, kernels_set(_settings(keys)))
    else:
        document, settings, named = _swept_document(experiment)
        asked = read_sweep(document | {"axes": _tables(axes)} | keys, SWEEP, settings, named)
        # Its engines and kernels are the caller's own words, not a file's.
        engines, kernels = zip(*engines_named(asked), strict=True)
        allowed = permitted(engines, hosts, kernels)
    if out is not None:
        return load_sweep(carry_out(Asked(asked, Path(out), jobs=jobs, allowed=allowed), Unheard()).folder)
    private = Path(tempfile.mkdtemp(prefix="dumbbell-"))
    try:
        done = load_sweep(carry_out(Asked(asked, private / "sweep", jobs=jobs, allowed=allowed), Unheard()).folder)
    except BaseException:
        shutil.rmtree(private, ignore_errors=True)
        raise
    weakref.finalize(done, shutil.rmtree, private, ignore_errors=True)
    return done


def compare(first: Run | Sequence[Run], second: Run | Sequence[Run], names: Sequence[str] | None = None) -> Compared:
    """Two runs, or two lists of runs (seeds of one experiment): do they agree? As `dumbbell compare` says it."""
    sides = [[side] if isinstance(side, Run) else list(side) for side in (first, second)]
    if not all(sides):
        raise ExperimentError("a side without a run", key="compare", right="compare(run, run), or two lists of runs")
    engines = [str(side[0].birth["engine"]) for side in sides]
    called = list(names) if names is not None else engines if engines[0] != engines[1] else ["first", "second"]
    made = [Side(name, tuple(run.measured() for run in side)) for name, side in zip(called, sides, strict=True)]
    return Compared(confront("", made[0], made[1]))


def _swept_document(
    source: Experiment | str | Path | Mapping[str, Any],
) -> tuple[dict[str, Any], tuple[str, ...], Path | None]:
    """An experiment as a sweep's document has it, what was set of it, and its file where it is of one."""
    if isinstance(source, Mapping):
        return {"experiment": dict(source)}, (), None
    if not isinstance(source, Experiment):
        return {"experiment": str(source)}, (), find(str(source))
    file = source.file.resolve() if source.document is None else None
    named = dict(source.document or {}) if file is None else str(file)
    return {"experiment": named} | ({"case": source.only} if source.only else {}), source.asked, file


def _tables(axes: Mapping[str | tuple[str, ...], Any]) -> list[dict[str, Any]]:
    """A table for each axis, or for axes that go together, whose values come one tuple a step."""
    tables: list[dict[str, Any]] = []
    for key, values in axes.items():
        if isinstance(key, str):
            tables.append({key: dict(values) if isinstance(values, Mapping) else list(values)})
            continue
        steps = [tuple(step) for step in values]
        if any(len(step) != len(key) for step in steps):
            right = f"{len(key)} values a step, such as zip(…) of as many lists"
            raise ExperimentError("steps that don't fit their keys", key=", ".join(key), right=right)
        tables.append({name: [step[at] for step in steps] for at, name in enumerate(key)})
    return tables


def _settings(settings: Mapping[str, Any]) -> list[str]:
    """As `--set` takes them: a value as TOML writes it; text as it stands."""
    return [
        f"{key.replace('__', '.')}={value if isinstance(value, str) else inline(value)}"
        for key, value in settings.items()
    ]


def _time_ns(text: str, key: str) -> int:
    try:
        return duration_ns(text)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key=key, value=text, right=wrong.right) from None


def _repeat(
    asked: Experiment, case: spec.Case, engine: str, seed: int, kernel: str | None, allowed: Permissions
) -> str:
    """The command that does the same; none for an experiment that is in no file, or for one case of several."""
    if asked.document is not None or case.name:
        return ""
    known = spec.scenarios().get(asked.name) == asked.file
    return repeat_command(asked.name if known else str(asked.file), engine, seed, asked.asked, kernel, allowed.hosts)


def _silently(_seconds: float) -> None:
    """Nobody watches."""
