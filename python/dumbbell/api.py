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

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from dumbbell import extras, spec
from dumbbell.analysis.comparison import Arm, Measured, compare_runs
from dumbbell.analysis.expect import check_expected
from dumbbell.analysis.summary import measures, summary
from dumbbell.engines import Request
from dumbbell.engines.base import Permissions, engine_called, kernels_set, permitted, plain, repeat_command, seeds_of
from dumbbell.engines.sim import MOST_ROWS, PacketTraces, Window
from dumbbell.engines.sim import packet_traces as traces_of
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.evaluation.criteria import load_suite
from dumbbell.evaluation.referee import Budget, Controller, Evaluation
from dumbbell.evaluation.referee import evaluate as evaluated
from dumbbell.exporters import export_run
from dumbbell.importers import Options, import_files
from dumbbell.notebook import ComparisonResult as Comparison
from dumbbell.notebook import Figure, run_html
from dumbbell.notebook import SweepResult as Sweep
from dumbbell.plan import Plan, plan_case
from dumbbell.publish import scratch
from dumbbell.results import result
from dumbbell.search.bounds import SearchOptions, definition
from dumbbell.search.outcome import Found, Runs, concluded
from dumbbell.search.saving import save
from dumbbell.spec.built_in import find
from dumbbell.spec.document import inline_toml
from dumbbell.spec.sweep import engines_used, read_sweep
from dumbbell.spec.sweep import load_sweep as load_sweep_file
from dumbbell.spec.typed import quantity
from dumbbell.spec.units import Wrong, duration_ns, size_bytes, suggest
from dumbbell.sweeps import folder as sweeps
from dumbbell.sweeps.pool import Local
from dumbbell.sweeps.runner import NoProgress, SweepRequest, carry_out
from dumbbell.sweeps.workdir import JOURNAL, Journal

if TYPE_CHECKING:
    from dumbbell.identification.identify import Identification
    from dumbbell.results.keys import RunManifest

__all__ = [
    "Comparison",
    "DumbbellError",
    "Experiment",
    "Figure",
    "Run",
    "Sweep",
    "compare",
    "evaluate",
    "experiment",
    "identify",
    "import_logs",
    "load",
    "load_sweep",
    "packet_traces",
    "plan",
    "run",
    "run_all",
    "scenario",
    "search",
    "sweep",
]


T = TypeVar("T")
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

    def set(self, settings: Mapping[str, Any] | None = None, /, **more: Any) -> "Experiment":
        """A copy with other values: `{"path.rtt": "20ms"}`, `duration="20s"` or `path__rtt="20ms"`."""
        changed = (*self.settings, *_settings({**(settings or {}), **more}))
        return Experiment(self.name, self.document, self.file, changed, self.only)

    def __iter__(self) -> Iterator["Experiment"]:
        return iter([self.case(name) for name in self.cases] if self.only is None else [self])

    def one(self) -> spec.Case:
        """The selected case. Raises `ExperimentError` if there are several."""
        found = self._cases if self.only is None else [case for case in self._cases if case.name == self.only]
        if len(found) != 1:
            right = f"choose one with .case(NAME), or iterate over all: {'; '.join(self.cases)}"
            raise ExperimentError(f"{len(found)} cases, and none is selected", file=str(self.file), right=right)
        return found[0]


Source = str | os.PathLike[str] | Mapping[str, Any] | Experiment
"""An experiment: one that was made, a scenario's name, a TOML file, or a dictionary with its keys."""


class Run:
    """A result: its tables, metrics and figures."""

    def __init__(self, run: result.Run) -> None:
        self._run = run

    @property
    def folder(self) -> Path:
        """The result folder."""
        return self._run.folder

    @property
    def manifest(self) -> "RunManifest":
        """The manifest (`run.json`): what was requested, what ran, whether it is valid."""
        return self._run.manifest

    @property
    def valid(self) -> bool:
        """Is the run valid?"""
        return bool(self.manifest.valid)

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

    @property
    def counters(self) -> pl.DataFrame | None:
        """The kernel's counters by host and time; None if the run recorded none (`--counters`)."""
        return self._run.requested("counters")

    @property
    def sockets(self) -> pl.DataFrame | None:
        """Every socket by time; None if the run recorded none (`--sockets`)."""
        return self._run.requested("sockets")

    def stats(self, start: str | None = None, stop: str | None = None) -> dict[str, Any]:
        """The numbers of `summary` from `start` to `stop`, such as `"5s"`; default: the whole run.

        Raises `ExperimentError` for a time that is none, `ValueError` for an empty window.
        """
        if start is None and stop is None:
            return self.summary
        end_ns = round(self.manifest.duration_s * 1e9)
        begin_ns = 0 if start is None else _time_ns(start, "start")
        window = begin_ns, end_ns if stop is None else min(_time_ns(stop, "stop"), end_ns)
        if window[0] >= window[1]:
            raise ValueError(
                f"the window from {start or '0s'} to {stop or 'the end'} is empty: the run lasted {end_ns / 1e9:g} s"
            )
        return summary(self._run, window)

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> Path:
        """Write the run as a folder of CSV files, JSON lines, a Flent file or qlogs.

        `format` is `csv`, `jsonl`, `flent` or `qlog`; default: by the suffix of the path.

        Raises `OutputError` when it can't be written or exists, `ImportProblem` for an unknown format.
        """
        return export_run(self._run, Path(path), format)

    def plot(self, *names: str, width: int = 760, metric: str | None = None) -> Figure:
        """One figure by name (`dumbbell plot --list`), several panels stacked, or without names the default panels.

        Raises `ResultError` for a figure that doesn't exist or for which this run has no data.
        """
        with extras.explained():
            from dumbbell.plots import DEFAULT, available, draw, figure  # noqa: PLC0415 — an extra

        if len(names) == 1:
            return Figure(draw([self._run], names[0], width, metric=metric))
        return Figure(figure(self._run, names or available(self._run, DEFAULT), width))

    def report(self, path: str | os.PathLike[str]) -> Path:
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


def experiment(source: Source) -> Experiment:
    """An experiment from a TOML file, a scenario's name or a dictionary with the keys. Raises `ExperimentError`."""
    if isinstance(source, Experiment):
        return source
    if isinstance(source, Mapping):
        made = Experiment("experiment", source, INLINE)
    else:
        known, name = spec.scenarios(), os.fspath(source)
        made = scenario(name) if name in known else Experiment(Path(name).stem, None, Path(name))
    made.cases  # noqa: B018 — validates the experiment now
    return made


def run(
    source: Source, engine: str = "sim", seed: int | None = None, out: str | os.PathLike[str] | None = None,
    kernel: str | None = None, hosts: Sequence[str] = (), settings: Mapping[str, Any] | None = None, **more: Any,
) -> Run:  # fmt: skip
    """Run one experiment with one seed (default: its first) and return the result.

    `hosts`: the real hosts that ssh may call, for an experiment with hosts; they must be the same ones. `settings` and
    `more` change keys, as in `Experiment.set`. Without `out` the result is in a temporary folder, deleted with the
    `Run`. Raises `DumbbellError` like the command; an invalid run raises nothing: check `valid`.
    """
    experiment = _changed(source, settings, more)
    case = experiment.one()
    number = _seed(case, seed)
    allowed = permitted([engine], hosts, [kernel])
    chosen = engine_called(engine, kernel, "engine", allowed=allowed)
    check_expected([case])
    repeat = _repeat(experiment, case, engine, number, kernel, allowed)

    def made(folder: Path) -> Run:
        return Run(chosen.run_and_keep(Request(experiment.name, case, number, folder, repeat), _silently))

    if out is not None:
        return made(Path(out))
    return _in_private_folder(lambda private: made(private / (plain(experiment.name) or "run")))


def _in_private_folder(make: Callable[[Path], T]) -> T:
    """What is made below a private folder, which lasts as long as its result does."""
    private = Path(tempfile.mkdtemp(prefix="dumbbell-"))
    try:
        done = make(private)
    except BaseException:
        shutil.rmtree(private, ignore_errors=True)
        raise
    weakref.finalize(done, shutil.rmtree, private, ignore_errors=True)
    return done


def run_all(
    source: Source, engine: str = "sim", seeds: str | Sequence[int] | None = None, jobs: int | None = None,
    out: str | os.PathLike[str] | None = None, kernel: str | None = None, hosts: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None, **more: Any,
) -> list[Run]:  # fmt: skip
    """Run every case with every seed, `jobs` at a time, and return the results: case by case, seed by seed.

    `seeds`: `"1..5"` or `[1, 2, 7]`; default: the experiment's. Default for `jobs`: the number of CPUs, 1 in real time.
    With `out` each result is a folder in it. Otherwise as `run`.
    """
    experiment = _changed(source, settings, more)
    chosen = None if seeds is None else list(seeds_of(seeds, "seeds") or ()) if isinstance(seeds, str) else list(seeds)
    work = [(one, seed) for one in experiment for seed in (chosen or one.one().experiment.seeds)]
    check_expected([one.one() for one in experiment])

    def each(planned: tuple[Experiment, int]) -> Run:
        one, seed = planned
        name = "-".join(filter(None, (plain(one.only or ""), f"seed-{seed}")))
        return run(one, engine, seed, None if out is None else Path(out) / name, kernel, hosts)

    in_real_time = engine_called(engine, kernel, "engine", allowed=permitted([engine], hosts, [kernel])).real_time
    with ThreadPoolExecutor(max_workers=jobs or (1 if in_real_time else os.cpu_count())) as pool:
        return list(pool.map(each, work))


def plan(source: Source, seed: int | None = None, settings: Mapping[str, Any] | None = None, **more: Any) -> Plan:
    """The plan of one experiment with one seed: hosts, steps, flows, queues; `.script(title, [])` is a shell script.

    Raises `ExperimentError`, `PlanError` for what can't be run in bounded memory.
    """
    case = _changed(source, settings, more).one()
    return plan_case(case, _seed(case, seed))


def packet_traces(
    source: Source, start: str = "0s", stop: str | None = None, seed: int | None = None,
    most_rows: int = MOST_ROWS, settings: Mapping[str, Any] | None = None, **more: Any,
) -> PacketTraces:  # fmt: skip
    """Trace every packet from `start` to `stop` (default: the experiment's end) on the simulator, one row per packet.

    `settings` and `more` change keys, as in `Experiment.set`. Raises `DumbbellError`.
    """
    experiment = _changed(source, settings, more)
    case = experiment.one()
    end_ns = case.experiment.duration if stop is None else _time_ns(stop, "stop")
    number = _seed(case, seed)
    return traces_of(
        Request(experiment.name, case, number, INLINE), Window(_time_ns(start, "start"), end_ns, most_rows)
    )


def load(folder: str | os.PathLike[str]) -> Run:
    """Load a result folder. Raises `ResultError`."""
    return Run(result.load(Path(folder)))


def load_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Load a finished sweep's folder. Raises `ResultError`."""
    return Sweep(sweeps.load(Path(folder)))


def import_logs(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], out: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Run:  # fmt: skip
    """Import logs of other programs as a result, as `dumbbell import` does.

    `options`: `name`, `cc` (texts or lists), `interval`, `mss`, `size`, `align`, `queue`, `format`, `title`. Without
    `out` the result is in a temporary folder, deleted with the `Run`. Raises `ImportProblem`, `OutputError`.
    """
    kinds = {"interval": ("interval_ns", duration_ns, "1ns"), "mss": ("mss_bytes", size_bytes, "1b"),
             "size": ("size_bytes", size_bytes, "1b")}  # fmt: skip
    lists = {"name": "names", "cc": "ccs"}
    given: dict[str, Any] = {}
    for key, value in options.items():
        if key in kinds:
            name, read, least = kinds[key]
            given[name] = quantity(key, str(value), read, least)
        elif key in lists:
            given[lists[key]] = (
                tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else tuple(value)
            )
        elif key in {"align", "queue", "format", "title"}:
            given[key] = value
        else:
            right = "name, cc, interval, mss, size, align, queue, format or title"
            raise ExperimentError("not an option of an import", key=key, right=right)
    named = [files] if isinstance(files, str | os.PathLike) else list(files)
    paths = [Path(each) for each in named]
    if out is not None:
        return load(import_files(paths, Path(out), Options(**given)))
    return _in_private_folder(lambda private: load(import_files(paths, private / "import", Options(**given))))


def identify(
    trace: str | os.PathLike[str], flow: str | None = None, candidates: Sequence[str] = (), jobs: int | None = None
) -> "Identification":
    """Name the congestion control that made a capture: `.verdict`, `.confidence`, `.ranking`, `.path`.

    As `dumbbell identify`. Raises `DumbbellError`.
    """
    from dumbbell.identification.candidates import CONTROLLERS  # noqa: PLC0415 — scipy takes 0.3 s to import
    from dumbbell.identification.identify import identify as identified  # noqa: PLC0415

    return identified(Path(trace), flow, controllers=tuple(candidates) or CONTROLLERS, jobs=jobs)


def evaluate(  # noqa: PLR0913, PLR0917 — the options of the command
    controller: str, engine: str = "sim", kernel: str | None = None, against: Sequence[str] = ("cubic", "bbr", "reno"),
    max_runs: int | None = None, budget: str | None = None, only: Sequence[str] = (), jobs: int | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Evaluation:  # fmt: skip
    """Judge a congestion control by the criteria of RFC 9743: `.findings` has a verdict for each.

    `max_runs` or `budget` (wall time, such as `"180s"`; default 170 s) limit it. As `dumbbell evaluate`. Raises
    `DumbbellError`.
    """
    if max_runs is not None and budget is not None:
        raise ExperimentError("both a number of runs and a time", key="max_runs", right="give one of them")
    limit = Budget(runs=max_runs) if max_runs else Budget(wall_s=_time_ns(budget or "170s", "budget") / 1e9)
    suite = load_suite()
    return evaluated(
        suite.only(tuple(only)) if only else suite, Controller(controller, dict(parameters or {}), engine, kernel),
        tuple(against), limit, jobs=jobs, allowed=permitted(kernels=[kernel]),
    )  # fmt: skip


def search(  # noqa: PLR0913 — the options of the command
    source: str | os.PathLike[str], *, minimize: str | None = None, maximize: str | None = None,
    vary: Sequence[str] = (), max_runs: int | None = None, search_seed: int | None = None, seeds: str | None = None,
    window: str | None = None, confirm: bool = False, shrink: bool = True, threshold: float | None = None,
    jobs: int | None = None, out: str | os.PathLike[str] | None = None, settings: Mapping[str, Any] | None = None,
) -> Found:  # fmt: skip
    """Search for the network in which a metric is worst: `.best`, `.baseline`, `.document` (the smallest experiment).

    `source`: a scenario's name, an experiment or a sweep file; `vary`: `"path.rtt=5ms..80ms"`; `window`: `"from 5s"`;
    `confirm`: on the kernel, too. Without `out` the folder is temporary and is removed. As `dumbbell search`. Raises
    `DumbbellError`.
    """
    options = SearchOptions(
        os.fspath(source), minimize, maximize, vary, _settings(settings or {}), None, max_runs, search_seed, seeds,
        window,
    )  # fmt: skip
    swept = definition(options)
    with tempfile.TemporaryDirectory(prefix="dumbbell-") as private:
        folder = Path(private) / "search" if out is None else Path(out)
        request = SweepRequest(swept, folder, jobs=jobs)
        done = carry_out(request, NoProgress())
        with (
            Journal(done.folder / JOURNAL) as journal,
            scratch(done.folder / ".work") as tmp_dir,
            Local(jobs, tmp_dir) as executor,
        ):
            runs = Runs(swept, executor, NoProgress().row, request.allowed)
            found = concluded(swept, journal.rows(), runs, confirm=confirm, threshold=threshold, shrink=shrink)
        save(swept, found, done.folder, "")
    return found


def sweep(
    experiment: Source,
    axes: Mapping[str | tuple[str, ...], Sequence[Any] | Mapping[str, Any]] | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    hosts: Sequence[str] = (),
    **keys: Any,
) -> Sweep:
    """Run an experiment at every point of a grid: `axes={"path.rtt": ["5ms", "20ms"], ("a", "b"): zip(…)}`.

    Axes are crossed; axes in one tuple vary together. `keys` are other keys of the sweep file (`docs/sweeps.md`):
    `seeds`, `engine`, `set`, `until`, … Without `axes` the first argument is a sweep file, or a built-in sweep's name;
    it uses the host engine only if `engine="host"` is given here too. `hosts`: the real hosts that ssh may call.
    Without `out` the folder is temporary, deleted with the returned object. Raises `DumbbellError`; a failed run raises
    nothing: its row has the reason.
    """
    if axes is None:
        if not isinstance(experiment, str | os.PathLike):
            raise ExperimentError("sweep without axes", key="axes", right='for example {"path.rtt": ["5ms", "20ms"]}')
        engine = keys.pop("engine", None)
        definition = load_sweep_file(os.fspath(experiment), _settings(keys), engine)
        allowed = permitted([engine], hosts, kernels_set(_settings(keys)))
    else:
        document, settings, named = _swept_document(experiment)
        definition = read_sweep(document | {"axes": _tables(axes)} | keys, SWEEP, settings, named)
        # Engines and kernels come from the caller, not from a file.
        engines, kernels = zip(*engines_used(definition), strict=True)
        allowed = permitted(engines, hosts, kernels)

    def made(folder: Path) -> Sweep:
        request = SweepRequest(definition, folder, jobs=jobs, allowed=allowed)
        return load_sweep(carry_out(request, NoProgress()).folder)

    return made(Path(out)) if out is not None else _in_private_folder(lambda private: made(private / "sweep"))


def compare(
    first: Run | str | os.PathLike[str] | Sequence[Run], second: Run | str | os.PathLike[str] | Sequence[Run],
    names: Sequence[str] | None = None,
) -> Comparison:  # fmt: skip
    """Compare two runs or result folders, or two lists of runs (seeds of one experiment), as `dumbbell compare`."""
    arms = [_arm(first), _arm(second)]
    if not all(arms):
        raise ExperimentError("a list without runs", key="compare", right="compare(run, run), or two lists of runs")
    engines = [str(arm[0].manifest.engine) for arm in arms]
    called = list(names) if names is not None else engines if engines[0] != engines[1] else ["first", "second"]
    made = [Arm(name, tuple(run.measured() for run in arm)) for name, arm in zip(called, arms, strict=True)]
    return Comparison(compare_runs("", made[0], made[1]))


def _arm(arm: Run | str | os.PathLike[str] | Sequence[Run]) -> list[Run]:
    if isinstance(arm, Run):
        return [arm]
    return [load(arm)] if isinstance(arm, str | os.PathLike) else list(arm)


def _changed(source: Source, settings: Mapping[str, Any] | None, more: Mapping[str, Any]) -> Experiment:
    """The experiment with other values."""
    made = experiment(source)
    return made.set(settings, **more) if settings or more else made


def _swept_document(
    source: Source,
) -> tuple[dict[str, Any], tuple[str, ...], Path | None]:
    """An experiment as a sweep document, its settings, and its file if it has one."""
    if isinstance(source, Mapping):
        return {"experiment": dict(source)}, (), None
    if not isinstance(source, Experiment):
        return {"experiment": os.fspath(source)}, (), find(os.fspath(source))
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
