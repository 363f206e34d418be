"""A sweep in its folder: its files, when it may resume, and what is refused before the first run."""

import shlex
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from conftest import Dumbbell
from dumbbell.errors import DumbbellError, ExperimentError, OutputError
from dumbbell.results.result import load_manifest
from dumbbell.spec.sweep import load_sweep
from dumbbell.sweeps import folder, identity
from dumbbell.sweeps.identity import BUILD
from dumbbell.sweeps.runner import Done, InProcessExecutor, SweepRequest, carry_out
from dumbbell.sweeps.task import Row
from sweeps.conftest import RUNS, SMALL, result_files, sweep_from

pytestmark = pytest.mark.usefixtures("cache")
RTTS = '"path.rtt" = ["5ms", "20ms", "80ms"]'
ONE = SMALL.replace('["5ms", "20ms", "80ms"]', '["5ms"]').replace('["0.5bdp", "1bdp", "4bdp", "16bdp"]', '["1bdp"]')


class Recorder:
    """Records progress; may interrupt the sweep."""

    def __init__(self, stop_after: int = 10**9) -> None:
        self.rounds: list[tuple[int, int]] = []
        self.rows: list[Row] = []
        self._stop_after = stop_after

    def add_pending(self, runs: int, done: int) -> None:
        self.rounds.append((runs, done))

    def row(self, row: Row) -> None:
        self.rows.append(row)
        if len(self.rows) >= self._stop_after:
            raise KeyboardInterrupt


def run_in(
    text: str, out: Path, *, recorder: Recorder | None = None, resume: bool = False, in_process: bool = True
) -> Done:
    """Run in this process without the cache; else in a worker process with it."""
    sweep = sweep_from(text, out.parent)
    executor = (lambda _place, _cache: nullcontext(InProcessExecutor())) if in_process else None
    return carry_out(SweepRequest(sweep, out, resume, 1, not in_process, executor=executor), recorder or Recorder())


def test_a_moved_folder_can_be_read(tmp_path: Path) -> None:
    done = run_in(ONE, tmp_path / "out")
    assert (done.runs, done.is_good, done.cached) == (2, True, 0)
    (tmp_path / "out").rename(tmp_path / "moved")
    read = folder.load(tmp_path / "moved")
    assert read.manifest["counts"] == {"wanted": 2, "ok": 2, "invalid": 0, "failed": 0}
    assert read.manifest["engines"]["sim"]["sha256"] == identity.engine("sim", None)["sha256"]
    assert read.runs["groups.bbr.share"].null_count() == 0
    assert read.definition.every_axis == sweep_from(ONE, tmp_path).every_axis


def test_an_interrupted_sweep_resumes_where_it_stopped(tmp_path: Path) -> None:
    run_in(SMALL, tmp_path / "complete")
    with pytest.raises(KeyboardInterrupt):
        run_in(SMALL, tmp_path / "out", recorder=Recorder(stop_after=7))
    assert not (tmp_path / "out" / "sweep.json").exists()
    recorder = Recorder()
    run_in(SMALL, tmp_path / "out", recorder=recorder, resume=True)
    assert recorder.rounds == [(RUNS, 7)]
    assert len(recorder.rows) == RUNS - 7
    assert result_files(tmp_path / "out") == result_files(tmp_path / "complete")
    repeated = run_in(SMALL, tmp_path / "out", resume=True)
    assert (repeated.was_finished, repeated.runs) == (True, RUNS)


def test_an_interrupted_adaptive_sweep_gives_the_same_result(tmp_path: Path) -> None:
    until = '[until]\nmetric = "groups.bbr.share"\nhalf_width = 0.01\nmost = 12\nleast = 3\n'
    refine = '[refine]\nmetric = "groups.bbr.share"\naxes = ["buffer"]\nmost = 6\n'
    text = SMALL.replace('["5ms", "20ms", "80ms"]', '["5ms"]').replace(
        'cc = "cubic"', 'cc = "cubic"\nstart_jitter = "1s"'
    )
    text += until + refine
    complete = Recorder()
    run_in(text, tmp_path / "complete", recorder=complete)
    assert len(complete.rounds) > 2
    for stop_after in (3, 17, 9):
        with pytest.raises(KeyboardInterrupt):
            run_in(text, tmp_path / "out", recorder=Recorder(stop_after), resume=stop_after != 3)
    run_in(text, tmp_path / "out", resume=True)
    assert result_files(tmp_path / "out") == result_files(tmp_path / "complete")


@pytest.mark.parametrize(
    ("then", "now", "message"),
    [
        ('seeds = "1..2"', 'seeds = "1..3"', r'started with other settings: sweep file seeds was "1..2" and is "1..3"'),
        (
            '"5ms", "20ms"',
            '"5ms", "21ms"',
            r'started with other settings: sweep file axes 0 path\.rtt 1 was "20ms" and is "21ms"',
        ),
        ('title = "Small', 'keep = "runs"\ntitle = "Small', r'keep was missing and is "runs"'),
    ],
)
def test_resume_with_other_settings_is_refused(tmp_path: Path, then: str, now: str, message: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_in(SMALL, tmp_path / "out", recorder=Recorder(stop_after=1))
    with pytest.raises(OutputError, match=message + "; .*choose another folder with --out"):
        run_in(SMALL.replace(then, now), tmp_path / "out", resume=True)


def test_resume_with_another_build_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_in(SMALL, tmp_path / "out", recorder=Recorder(stop_after=1))
    monkeypatch.setattr(identity, "BUILD", replace(BUILD, sources=()))
    identity.build.cache_clear()
    with pytest.raises(
        OutputError, match=r'started by another build: sources was ".* and is ".*; choose another folder'
    ):
        run_in(SMALL, tmp_path / "out", resume=True)
    identity.build.cache_clear()


def test_an_existing_folder_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for resume in (False, True):
        with pytest.raises(OutputError, match=r"exists already and is not a sweep's folder"):
            run_in(ONE, tmp_path / "mine", resume=resume)
    with pytest.raises(KeyboardInterrupt):
        run_in(SMALL, tmp_path / "out", recorder=Recorder(stop_after=1))
    with pytest.raises(OutputError, match="exists already; continue it with --resume"):
        run_in(SMALL, tmp_path / "out")


def test_referenced_files_are_copied(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    for name in ("a", "b"):
        (tmp_path / "traces" / f"{name}.up").write_text("1\n2\n3\n")
    text = ONE.replace('rate = "10mbit"', 'rate_trace = "traces/a.up"').replace("1bdp", "15000b")
    text = text.replace(
        '"path.rtt" = ["5ms"]', '"path.bottleneck.rate_trace" = ["traces/{which}.up"]\n[[axes]]\nwhich = ["a", "b"]'
    )
    assert run_in(text, tmp_path / "out").is_good
    for name in ("a", "b"):
        assert (tmp_path / "out" / "traces" / f"{name}.up").read_text() == "1\n2\n3\n"


@pytest.mark.parametrize(
    ("then", "now", "message"),
    [
        ('"80ms"]', '"80 parsecs"]', r"path\.rtt"),
        (RTTS, '"flows.bbr.cc" = ["bbr", "nosuch"]', r"axes\.flows\.bbr\.cc = 'nosuch'"),
        (RTTS, 'engine = ["sim", "quantum"]', r"quantum"),
        (RTTS, 'kernel = ["9.99"]\n[[axes]]\nengine = ["kernel"]', r"unknown kernel '9.99'"),
        ('"16bdp"]', '"minus one"]', r"axes\.buffer = 'minus one'"),
    ],
)  # fmt: skip
def test_errors_are_found_before_the_first_run(tmp_path: Path, then: str, now: str, message: str) -> None:
    with pytest.raises(DumbbellError, match=message):
        run_in(SMALL.replace(then, now), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_point_is_a_row(tmp_path: Path) -> None:
    """Each level alone is valid; the combination is not."""
    text = ONE.replace('"path.rtt" = ["5ms"]', '"flows.*.start" = ["0s", "1500ms"]\n[[axes]]\nduration = ["2s", "1s"]')
    done = run_in(text, tmp_path / "out")
    assert done.counts == {"ok": 6, "failed": 2}
    runs = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    failed = runs.filter(status="failed")
    assert failed["reason"].str.contains("ExperimentError").all()
    assert not failed["reason"].str.contains(str(tmp_path), literal=True).any()


@pytest.mark.slow
def test_a_second_sweep_reuses_cached_runs(tmp_path: Path) -> None:
    first = run_in(ONE, tmp_path / "first", in_process=False)
    more = ONE.replace('["5ms"]', '["5ms", "10ms"]')
    second = run_in(more, tmp_path / "second", in_process=False)
    assert (first.cached, second.cached, second.runs) == (0, 2, 4)
    run_in(more, tmp_path / "third")
    assert result_files(tmp_path / "second") == result_files(tmp_path / "third")


@pytest.mark.slow
def test_kept_results_are_folders_whose_commands_reproduce_them(dumbbell: Dumbbell, tmp_path: Path) -> None:
    run_in(ONE, tmp_path / "before", in_process=False)
    done = run_in('keep = "runs"\n' + ONE, tmp_path / "out", in_process=False)
    assert done.cached == 0
    kept = tmp_path / "out" / "runs"
    assert sorted(path.name for path in kept.iterdir()) == ["point-0-seed-1", "point-0-seed-2"]
    command = load_manifest(kept / "point-0-seed-2")["command"]
    repeated = dumbbell(*shlex.split(command)[1:], "--out", tmp_path / "repeated", cwd=tmp_path / "out")
    assert repeated.returncode == 0, repeated.stderr
    for name in ("flows", "queues", "probes"):
        one, other = (
            pl.read_parquet(path / f"{name}.parquet") for path in (tmp_path / "repeated", kept / "point-0-seed-2")
        )
        assert one.equals(other)


@pytest.mark.kernel
def test_a_sweep_over_both_engines(tmp_path: Path) -> None:
    text = ONE.replace('"path.rtt" = ["5ms"]', 'engine = ["sim", "kernel"]')
    done = run_in(text, tmp_path / "out", in_process=False)
    runs = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    assert done.counts == {"ok": 4}
    assert runs["engine"].to_list() == ["sim", "sim", "kernel", "kernel"]
    assert runs["kernel"].is_null().to_list() == [True, True, False, False]


def test_settings_are_part_of_the_sweep(small: Path, tmp_path: Path) -> None:
    sweep = load_sweep(small, ["duration=2s"])
    with pytest.raises(KeyboardInterrupt):
        carry_out(
            SweepRequest(
                sweep, tmp_path / "out", use_cache=False, executor=lambda _p, _c: nullcontext(InProcessExecutor())
            ),
            Recorder(1),
        )
    assert 'duration = "2s"' in (tmp_path / "out" / "sweep.toml").read_text()
    with pytest.raises(OutputError, match="started with other settings"):
        carry_out(SweepRequest(load_sweep(small), tmp_path / "out", resume=True), Recorder())
    with pytest.raises(ExperimentError):
        load_sweep(small, ["nonsense"])


def test_points_that_miss_the_precision_are_reported(tmp_path: Path) -> None:
    short = ONE + '[until]\nmetric = "utilization"\nhalf_width = 1e-9\nleast = 2\nmost = 3\n'
    done = run_in(short, tmp_path / "out")
    assert done.runs == 3
    (message,) = done.unmet
    assert "utilization is known to ±" in message
    assert "after 3 runs" in message
    assert run_in(short, tmp_path / "out", resume=True).unmet == done.unmet
