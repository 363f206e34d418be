"""Python API: experiments, runs, comparisons and sweeps, as `import dumbbell as db` provides them.

```python
run = db.run(db.scenario("cyclic"), duration="20s")
run.flows                 # a polars table
run.plot("cwnd")          # a figure
run.report("page.html")   # an HTML page
```

The API uses the same packages as the commands, raises exceptions (`dumbbell.errors`) and prints nothing.
`docs/python.md` is its manual; `dumbbell.notebook` displays results in notebooks.
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

from dumbbell import extras, spec
from dumbbell.analysis.comparison import Arm, Measured, compare_runs
from dumbbell.analysis.expect import check_expected
from dumbbell.analysis.summary import measures, summary
from dumbbell.engines import Request
from dumbbell.engines.base import Permissions, engine_called, kernels_set, permitted, plain, repeat_command, seeds_of
from dumbbell.engines.sim import MOST_ROWS, PacketTraces, Window
from dumbbell.engines.sim import packet_traces as traces_of
from dumbbell.errors import ExperimentError
from dumbbell.notebook import ComparisonResult, Figure, SweepResult, run_html
from dumbbell.results import result
from dumbbell.spec.built_in import find
from dumbbell.spec.document import inline_toml
from dumbbell.spec.sweep import engines_used, read_sweep
from dumbbell.spec.sweep import load_sweep as load_sweep_file
from dumbbell.spec.units import Wrong, duration_ns, suggest
from dumbbell.sweeps import folder as sweeps

__all__ = [
    "Experiment",
    "Run",
    "compare",
    "experiment",
    "load",
    "load_sweep",
    "packet_traces",
    "run",
    "scenario",
    "sweep",
]

SWEEP = Path("sweep.toml")
"""File name of a sweep defined in Python."""
INLINE = Path("experiment.toml")
"""File name of an experiment defined by a dictionary; files that it references are in the working directory."""


@dataclass(frozen=True)
class Experiment:
    """An experiment with one case or several; iterate over it to get each case."""

    name: str
    document: Mapping[str, Any] | None = field(repr=False)
    """Its dictionary; None for an experiment from a file."""
    file: Path
    settings: tuple[str, ...] = ()
    """Settings, as `--set` takes them."""
    only: str | None = None
    """The selected case."""

    @cached_property
    def _cases(self) -> list[spec.Case]:
        return (
            spec.load(self.file, self.settings, self._chosen)
            if self.document is None
            else spec.read(dict(self.document), self.file, self.settings, cases=self._chosen)
        )

    @property
    def _chosen(self) -> tuple[str, ...]:
        return () if self.only is None else (self.only,)

    @property
    def cases(self) -> list[str]:
        """The names of its cases; one empty name for an experiment without cases."""
        every = self if self.only is None else Experiment(self.name, self.document, self.file)
        return [case.name for case in every._cases]

    def case(self, name: str) -> "Experiment":
        """Select one of its cases. Raises `ExperimentError` with the valid names."""
        if name not in self.cases:
            raise ExperimentError(f"unknown case '{name}'", file=str(self.file), right="; ".join(self.cases))
        return Experiment(self.name, self.document, self.file, self.settings, name)

    def set(self, **settings: Any) -> "Experiment":
        """A copy with other values: `duration="20s"`, `path__rtt="20ms"` or `**{"path.rtt": "20ms"}`."""
        return Experiment(self.name, self.document, self.file, (*self.settings, *_settings(settings)), self.only)

    def __iter__(self) -> Iterator["Experiment"]:
        return iter([self.case(name) for name in self.cases] if self.only is None else [self])

    def one(self) -> spec.Case:
        """The selected case. Raises `ExperimentError` if there are several."""
        found = self._cases if self.only is None else [case for case in self._cases if case.name == self.only]
        if len(found) != 1:
            right = f"choose one with .case(NAME), or iterate over all: {'; '.join(self.cases)}"
            raise ExperimentError(f"{len(found)} cases, and none is selected", file=str(self.file), right=right)
        return found[0]


class Run:
    """A result: its tables, metrics and figures."""

    def __init__(self, run: result.Run) -> None:
        self._run = run

    @property
    def folder(self) -> Path:
        """The result folder."""
        return self._run.folder

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest (`run.json`): what was requested, what ran, whether it is valid."""
        return self._run.manifest

    @property
    def valid(self) -> bool:
        """Is the run valid?"""
        return bool(self.manifest["valid"])

    @property
    def flows(self) -> pl.DataFrame:
        """Every sample of every flow."""
        return self._run.flows

    @property
    def queues(self) -> pl.DataFrame:
        """Every sample of every queue."""
        return self._run.queues

    @property
    def probes(self) -> pl.DataFrame:
        """Every ping and UDP probe."""
        return self._run.probes

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers that `dumbbell stats --json` prints."""
        return summary(self._run)

    def plot(self, *names: str, width: int = 760, metric: str | None = None) -> Figure:
        """One figure by name (`dumbbell plot --list`), several panels stacked, or without names the default panels.

        Raises `ResultError` for a figure that doesn't exist or for which this run has no data.
        """
        with extras.explained():
            from dumbbell.plots import DEFAULT, available, draw, figure  # noqa: PLC0415 — an extra

        if len(names) == 1:
            return Figure(draw([self._run], names[0], width, metric=metric))
        return Figure(figure(self._run, names or available(self._run, DEFAULT), width))

    def report(self, path: str | Path) -> Path:
        """Write the page about this run. Raises `OutputError` when it can't be written."""
        with extras.explained():
            from dumbbell.reports.page import write  # noqa: PLC0415 — draws figures: an extra

        write([self._run], Path(path))
        return Path(path)

    def measured(self) -> Measured:
        """Its metrics, for comparisons."""
        return Measured(self.folder, self.manifest, measures(self._run))

    def __repr__(self) -> str:
        state = "" if self.valid else ", INVALID"
        return f"<Run of {self.manifest.get('name')}: {self.manifest['engine']}, seed {self.manifest['seed']}{state}>"

    def _repr_html_(self) -> str:
        return run_html(self._run)


def scenario(name: str) -> Experiment:
    """A built-in experiment. Raises `ExperimentError` with the valid names."""
    known = spec.scenarios()
    if name not in known:
        right = f"{suggest(name, list(known))}; for a file use experiment(PATH)"
        raise ExperimentError(f"unknown scenario '{name}'", right=right)
    return Experiment(name, None, known[name])


def experiment(source: str | Path | Mapping[str, Any]) -> Experiment:
    """An experiment from a TOML file, or from a dictionary with the same keys. Raises `ExperimentError`."""
    made = (
        Experiment("experiment", source, INLINE)
        if isinstance(source, Mapping)
        else Experiment(Path(source).stem, None, Path(source))
    )
    made.cases  # noqa: B018 — validates the experiment now
    return made


def run(
    experiment: Experiment, engine: str = "sim", seed: int | None = None, out: str | Path | None = None,
    kernel: str | None = None, hosts: Sequence[str] = (), **settings: Any,
) -> Run:  # fmt: skip
    """Run one experiment with one seed (default: its first) and return the result.

    `hosts`: the real hosts that ssh may call, for an experiment with hosts; they must be the same ones. `settings`
    change keys, as in `Experiment.set`. Without `out` the result is in a temporary folder, deleted with the `Run`.
    Raises `DumbbellError` like the command; an invalid run raises nothing: check `valid`.
    """
    experiment = experiment.set(**settings) if settings else experiment
    case = experiment.one()
    number = _seed(case, seed)
    allowed = permitted([engine], hosts, [kernel])
    chosen = engine_called(engine, kernel, "engine", allowed=allowed)
    check_expected([case])
    repeat = _repeat(experiment, case, engine, number, kernel, allowed)
    if out is not None:
        return Run(chosen.run_and_keep(Request(experiment.name, case, number, Path(out), repeat), _silently))
    private = Path(tempfile.mkdtemp(prefix="dumbbell-"))
    try:
        folder = private / (plain(experiment.name) or "run")
        done = Run(chosen.run_and_keep(Request(experiment.name, case, number, folder, repeat), _silently))
    except BaseException:
        shutil.rmtree(private, ignore_errors=True)
        raise
    weakref.finalize(done, shutil.rmtree, private, ignore_errors=True)
    return done


def packet_traces(
    experiment: Experiment, start: str = "0s", stop: str | None = None, seed: int | None = None,
    most_rows: int = MOST_ROWS, **settings: Any,
) -> PacketTraces:  # fmt: skip
    """Trace every packet from `start` to `stop` (default: the experiment's end) on the simulator, one row per packet.

    `settings` change keys, as in `Experiment.set`. Raises `DumbbellError`.
    """
    experiment = experiment.set(**settings) if settings else experiment
    case = experiment.one()
    end_ns = case.experiment.duration if stop is None else _time_ns(stop, "stop")
    number = _seed(case, seed)
    return traces_of(
        Request(experiment.name, case, number, INLINE), Window(_time_ns(start, "start"), end_ns, most_rows)
    )


def load(folder: str | Path) -> Run:
    """Load a result folder. Raises `ResultError`."""
    return Run(result.load(Path(folder)))


def load_sweep(folder: str | Path) -> SweepResult:
    """Load a finished sweep's folder. Raises `ResultError`."""
    return SweepResult(sweeps.load(Path(folder)))


def sweep(
    experiment: Experiment | str | Path | Mapping[str, Any],
    axes: Mapping[str | tuple[str, ...], Sequence[Any] | Mapping[str, Any]] | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    hosts: Sequence[str] = (),
    **keys: Any,
) -> SweepResult:
    """Run an experiment at every point of a grid: `axes={"path.rtt": ["5ms", "20ms"], ("a", "b"): zip(…)}`.

    Axes are crossed; axes in one tuple vary together. `keys` are other keys of the sweep file (`docs/sweeps.md`):
    `seeds`, `engine`, `set`, `until`, … Without `axes` the first argument is a sweep file, or a built-in sweep's name;
    it uses the host engine only if `engine="host"` is given here too. `hosts`: the real hosts that ssh may call.
    Without `out` the folder is temporary, deleted with the returned object. Raises `DumbbellError`; a failed run raises
    nothing: its row has the reason.
    """
    from dumbbell.sweeps.runner import NoProgress, SweepRequest, carry_out  # noqa: PLC0415 — not needed to run one experiment

    if axes is None:
        if not isinstance(experiment, str | Path):
            raise ExperimentError("sweep without axes", key="axes", right='for example {"path.rtt": ["5ms", "20ms"]}')
        engine = keys.pop("engine", None)
        definition = load_sweep_file(experiment, _settings(keys), engine)
        allowed = permitted([engine], hosts, kernels_set(_settings(keys)))
    else:
        document, settings, named = _swept_document(experiment)
        definition = read_sweep(document | {"axes": _tables(axes)} | keys, SWEEP, settings, named)
        # Engines and kernels come from the caller, not from a file.
        engines, kernels = zip(*engines_used(definition), strict=True)
        allowed = permitted(engines, hosts, kernels)
    if out is not None:
        return load_sweep(
            carry_out(SweepRequest(definition, Path(out), jobs=jobs, allowed=allowed), NoProgress()).folder
        )
    private = Path(tempfile.mkdtemp(prefix="dumbbell-"))
    try:
        done = load_sweep(
            carry_out(SweepRequest(definition, private / "sweep", jobs=jobs, allowed=allowed), NoProgress()).folder
        )
    except BaseException:
        shutil.rmtree(private, ignore_errors=True)
        raise
    weakref.finalize(done, shutil.rmtree, private, ignore_errors=True)
    return done


def compare(
    first: Run | Sequence[Run], second: Run | Sequence[Run], names: Sequence[str] | None = None
) -> ComparisonResult:
    """Compare two runs, or two lists of runs (seeds of one experiment), as `dumbbell compare` does."""
    arms = [[arm] if isinstance(arm, Run) else list(arm) for arm in (first, second)]
    if not all(arms):
        raise ExperimentError("a list without runs", key="compare", right="compare(run, run), or two lists of runs")
    engines = [str(arm[0].manifest["engine"]) for arm in arms]
    called = list(names) if names is not None else engines if engines[0] != engines[1] else ["first", "second"]
    made = [Arm(name, tuple(run.measured() for run in arm)) for name, arm in zip(called, arms, strict=True)]
    return ComparisonResult(compare_runs("", made[0], made[1]))


def _swept_document(
    source: Experiment | str | Path | Mapping[str, Any],
) -> tuple[dict[str, Any], tuple[str, ...], Path | None]:
    """An experiment as a sweep document, its settings, and its file if it has one."""
    if isinstance(source, Mapping):
        return {"experiment": dict(source)}, (), None
    if not isinstance(source, Experiment):
        return {"experiment": str(source)}, (), find(str(source))
    file = source.file.resolve() if source.document is None else None
    named = dict(source.document or {}) if file is None else str(file)
    return {"experiment": named} | ({"case": source.only} if source.only else {}), source.settings, file


def _tables(axes: Mapping[str | tuple[str, ...], Any]) -> list[dict[str, Any]]:
    """A table for each axis, or for axes that vary together, with one tuple per step."""
    tables: list[dict[str, Any]] = []
    for key, values in axes.items():
        if isinstance(key, str):
            tables.append({key: dict(values) if isinstance(values, Mapping) else list(values)})
            continue
        steps = [tuple(step) for step in values]
        if any(len(step) != len(key) for step in steps):
            right = f"{len(key)} values per step, such as zip(…) of {len(key)} lists"
            raise ExperimentError("number of values doesn't match the keys", key=", ".join(key), right=right)
        tables.append({name: [step[at] for step in steps] for at, name in enumerate(key)})
    return tables


def _settings(settings: Mapping[str, Any]) -> list[str]:
    """As `--set` takes them: values in TOML, text unquoted. Raises `ExperimentError` for values that TOML lacks."""
    made = []
    for name, value in settings.items():
        key = name.replace("__", ".")
        try:
            made.append(f"{key}={value if isinstance(value, str) else inline_toml(value)}")
        except ExperimentError as error:
            raise ExperimentError(error.problem, key=key, value=value, right=error.right) from None
    return made


def _seed(case: spec.Case, seed: object) -> int:
    """The given seed, or the experiment's first. Raises `ExperimentError`."""
    if seed is None:
        return case.experiment.seeds[0]
    if not isinstance(seed, int):
        raise ExperimentError("not a seed", key="seed", value=seed, right="an integer such as 1")
    (number,) = seeds_of(str(int(seed)), "seed") or case.experiment.seeds[:1]
    return number


def _time_ns(text: str, key: str) -> int:
    try:
        return duration_ns(text)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key=key, value=text, right=wrong.right) from None


def _repeat(
    experiment: Experiment, case: spec.Case, engine: str, seed: int, kernel: str | None, allowed: Permissions
) -> str:
    """The command that repeats the run; empty for an experiment without a file, or for one case of several."""
    if experiment.document is not None or case.name:
        return ""
    known = spec.scenarios().get(experiment.name) == experiment.file
    return repeat_command(
        experiment.name if known else str(experiment.file), engine, seed, experiment.settings, kernel, allowed.hosts
    )


def _silently(_seconds: float) -> None:
    """Ignore progress."""
