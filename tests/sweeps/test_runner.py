"""A whole sweep in its folder: what lies there, what may go on, what is refused before anything runs."""

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
from dumbbell.sweeps.build_info import BUILD
from dumbbell.sweeps.runner import Done, SweepRequest, carry_out
from dumbbell.sweeps.scheduler import InProcessExecutor
from dumbbell.sweeps.task import Row
from sweeps.conftest import RUNS, SMALL, asked, outcome

pytestmark = pytest.mark.usefixtures("cache")
RTTS = '"path.rtt" = ["5ms", "20ms", "80ms"]'
ONE = SMALL.replace('["5ms", "20ms", "80ms"]', '["5ms"]').replace('["0.5bdp", "1bdp", "4bdp", "16bdp"]', '["1bdp"]')


class Ears:
    """Hears everything; may stop it."""

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


def swept(text: str, out: Path, *, ears: Ears | None = None, resume: bool = False, here: bool = True) -> Done:
    """Without the cache in this process; else with it, by one of its own."""
    sweep = asked(text, out.parent)
    executor = (lambda _place, _cache: nullcontext(InProcessExecutor())) if here else None
    return carry_out(SweepRequest(sweep, out, resume, 1, not here, executor=executor), ears or Ears())


def test_a_folder_that_can_be_moved_and_read(tmp_path: Path) -> None:
    done = swept(ONE, tmp_path / "out")
    assert (done.runs, done.is_good, done.cached) == (2, True, 0)
    (tmp_path / "out").rename(tmp_path / "moved")
    read = folder.load(tmp_path / "moved")
    assert read.manifest["counts"] == {"wanted": 2, "ok": 2, "invalid": 0, "failed": 0}
    assert read.manifest["engines"]["sim"]["sha256"] == identity.engine("sim", None)["sha256"]
    assert read.runs["groups.bbr.share"].null_count() == 0
    assert read.definition.every_axis == asked(ONE, tmp_path).every_axis


def test_what_was_begun_goes_on_where_it_stopped(tmp_path: Path) -> None:
    swept(SMALL, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        swept(SMALL, tmp_path / "out", ears=Ears(stop_after=7))
    assert not (tmp_path / "out" / "sweep.json").exists()
    ears = Ears()
    swept(SMALL, tmp_path / "out", ears=ears, resume=True)
    assert ears.rounds == [(RUNS, 7)]
    assert len(ears.rows) == RUNS - 7
    assert outcome(tmp_path / "out") == outcome(tmp_path / "whole")
    again = swept(SMALL, tmp_path / "out", resume=True)
    assert (again.was_finished, again.runs) == (True, RUNS)


def test_an_adaptive_sweep_that_was_cut_off_comes_through_the_same_rounds(tmp_path: Path) -> None:
    until = '[until]\nmetric = "groups.bbr.share"\nhalf_width = 0.01\nmost = 12\nleast = 3\n'
    refine = '[refine]\nmetric = "groups.bbr.share"\naxes = ["buffer"]\nmost = 6\n'
    text = SMALL.replace('["5ms", "20ms", "80ms"]', '["5ms"]').replace(
        'cc = "cubic"', 'cc = "cubic"\nstart_jitter = "1s"'
    )
    text += until + refine
    whole = Ears()
    swept(text, tmp_path / "whole", ears=whole)
    assert len(whole.rounds) > 2
    for stop_after in (3, 17, 9):
        with pytest.raises(KeyboardInterrupt):
            swept(text, tmp_path / "out", ears=Ears(stop_after), resume=stop_after != 3)
    swept(text, tmp_path / "out", resume=True)
    assert outcome(tmp_path / "out") == outcome(tmp_path / "whole")


@pytest.mark.parametrize(
    ("then", "now", "told"),
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
def test_another_question_is_refused_by_name(tmp_path: Path, then: str, now: str, told: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        swept(SMALL, tmp_path / "out", ears=Ears(stop_after=1))
    with pytest.raises(OutputError, match=told + "; .*choose another folder with --out"):
        swept(SMALL.replace(then, now), tmp_path / "out", resume=True)


def test_another_build_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        swept(SMALL, tmp_path / "out", ears=Ears(stop_after=1))
    monkeypatch.setattr(identity, "BUILD", replace(BUILD, sources=()))
    identity.build.cache_clear()
    with pytest.raises(
        OutputError, match=r'started by another build: sources was ".* and is ".*; choose another folder'
    ):
        swept(SMALL, tmp_path / "out", resume=True)
    identity.build.cache_clear()


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for resume in (False, True):
        with pytest.raises(OutputError, match=r"exists already and is not a sweep's folder"):
            swept(ONE, tmp_path / "mine", resume=resume)
    with pytest.raises(KeyboardInterrupt):
        swept(SMALL, tmp_path / "out", ears=Ears(stop_after=1))
    with pytest.raises(OutputError, match="exists already; continue it with --resume"):
        swept(SMALL, tmp_path / "out")


def test_files_that_an_experiment_names_come_along(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    for name in ("a", "b"):
        (tmp_path / "traces" / f"{name}.up").write_text("1\n2\n3\n")
    text = ONE.replace('rate = "10mbit"', 'trace = "traces/a.up"').replace("1bdp", "15000b")
    text = text.replace(
        '"path.rtt" = ["5ms"]', '"path.bottleneck.trace" = ["traces/{which}.up"]\n[[axes]]\nwhich = ["a", "b"]'
    )
    assert swept(text, tmp_path / "out").is_good
    for name in ("a", "b"):
        assert (tmp_path / "out" / "traces" / f"{name}.up").read_text() == "1\n2\n3\n"


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [
        ('"80ms"]', '"80 parsecs"]', r"path\.rtt"),
        (RTTS, '"flows.bbr.cc" = ["bbr", "nosuch"]', r"axes\.flows\.bbr\.cc = 'nosuch'"),
        (RTTS, 'engine = ["sim", "quantum"]', r"quantum"),
        (RTTS, 'kernel = ["9.99"]\n[[axes]]\nengine = ["kernel"]', r"unknown kernel '9.99'"),
        ('"16bdp"]', '"minus one"]', r"axes\.buffer = 'minus one'"),
    ],
)  # fmt: skip
def test_slips_are_found_before_the_first_run(tmp_path: Path, then: str, now: str, told: str) -> None:
    with pytest.raises(DumbbellError, match=told):
        swept(SMALL.replace(then, now), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_point_among_good_ones_is_a_row(tmp_path: Path) -> None:
    """Each level alone is right; together they are not."""
    text = ONE.replace('"path.rtt" = ["5ms"]', '"flows.*.start" = ["0s", "1500ms"]\n[[axes]]\nduration = ["2s", "1s"]')
    done = swept(text, tmp_path / "out")
    assert done.counts == {"ok": 6, "failed": 2}
    runs = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    failed = runs.filter(status="failed")
    assert failed["reason"].str.contains("ExperimentError").all()
    assert not failed["reason"].str.contains(str(tmp_path), literal=True).any()


def test_a_second_sweep_takes_what_the_first_ran(tmp_path: Path) -> None:
    first = swept(ONE, tmp_path / "first", here=False)
    more = ONE.replace('["5ms"]', '["5ms", "10ms"]')
    second = swept(more, tmp_path / "second", here=False)
    assert (first.cached, second.cached, second.runs) == (0, 2, 4)
    swept(more, tmp_path / "third")
    assert outcome(tmp_path / "second") == outcome(tmp_path / "third")


def test_kept_results_are_folders_and_any_run_can_be_had_again(dumbbell: Dumbbell, tmp_path: Path) -> None:
    swept(ONE, tmp_path / "before", here=False)
    done = swept('keep = "runs"\n' + ONE, tmp_path / "out", here=False)
    assert done.cached == 0
    kept = tmp_path / "out" / "runs"
    assert sorted(path.name for path in kept.iterdir()) == ["point-0-seed-1", "point-0-seed-2"]
    command = load_manifest(kept / "point-0-seed-2")["command"]
    again = dumbbell(*shlex.split(command)[1:], "--out", tmp_path / "again", cwd=tmp_path / "out")
    assert again.returncode == 0, again.stderr
    for name in ("flows", "queues", "probes"):
        one, other = (
            pl.read_parquet(path / f"{name}.parquet") for path in (tmp_path / "again", kept / "point-0-seed-2")
        )
        assert one.equals(other)


@pytest.mark.kernel
def test_on_the_kernel_and_the_simulator(tmp_path: Path) -> None:
    text = ONE.replace('"path.rtt" = ["5ms"]', 'engine = ["sim", "kernel"]')
    done = swept(text, tmp_path / "out", here=False)
    runs = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    assert done.counts == {"ok": 4}
    assert runs["engine"].to_list() == ["sim", "sim", "kernel", "kernel"]
    assert runs["kernel"].is_null().to_list() == [True, True, False, False]


def test_settings_are_part_of_the_question(small: Path, tmp_path: Path) -> None:
    sweep = load_sweep(small, ["duration=2s"])
    with pytest.raises(KeyboardInterrupt):
        carry_out(
            SweepRequest(
                sweep, tmp_path / "out", use_cache=False, executor=lambda _p, _c: nullcontext(InProcessExecutor())
            ),
            Ears(1),
        )
    assert 'duration = "2s"' in (tmp_path / "out" / "sweep.toml").read_text()
    with pytest.raises(OutputError, match="started with other settings"):
        carry_out(SweepRequest(load_sweep(small), tmp_path / "out", resume=True), Ears())
    with pytest.raises(ExperimentError):
        load_sweep(small, ["nonsense"])


def test_points_that_until_gave_up_on_are_told(tmp_path: Path) -> None:
    short = ONE + '[until]\nmetric = "utilisation"\nhalf_width = 1e-9\nleast = 2\nmost = 3\n'
    done = swept(short, tmp_path / "out")
    assert done.runs == 3
    (told,) = done.unmet
    assert "utilisation is known to ±" in told
    assert "after 3 runs" in told
    assert swept(short, tmp_path / "out", resume=True).unmet == done.unmet
