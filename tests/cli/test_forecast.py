"""`dumbbell sweep --dry-run` and `--list`, as the command prints them."""

import json
from collections.abc import Callable
from subprocess import CompletedProcess

import pytest

from dumbbell.cli.sweep import _size, _time

Dumbbell = Callable[..., CompletedProcess[str]]
SHORT = ("taking-turns", "--set", "duration=200ms", "--set", "seeds=1", "--set", "path.rtt=3ms", "--jobs", "1")


@pytest.mark.slow
def test_a_dry_run_counts_runs_times_a_few_and_leaves_nothing(dumbbell: Dumbbell, tmp_path: object) -> None:
    done = dumbbell("sweep", *SHORT, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "9 points, 9 runs, 1 in parallel"
    assert "from 9 runs" in done.stdout
    assert list(tmp_path.iterdir()) == []  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_dry_run_as_json(dumbbell: Dumbbell) -> None:
    settings = ("until.metric=utilization", "until.half_width=1%", "until.most=20")
    done = dumbbell(
        "sweep", *SHORT, *(argument for each in settings for argument in ("--set", each)), "--dry-run", "--json"
    )
    forecast_lines = json.loads(done.stdout)
    assert forecast_lines["runs"] == {"least": 90, "most": 180}
    assert forecast_lines["wall_s"]["most"] == pytest.approx(2 * forecast_lines["wall_s"]["least"])
    assert {each["engine"] for each in forecast_lines["pilot"]} == {"sim"}


def test_a_misspelt_metric_is_an_error_with_a_suggestion(dumbbell: Dumbbell) -> None:
    done = dumbbell("sweep", *SHORT, "--set", "metrics=groups.bbr.sahre", "--dry-run")
    assert done.returncode == 2
    assert "groups.bbr.share" in done.stderr


def test_the_built_in_sweeps_are_listed(dumbbell: Dumbbell) -> None:
    for arguments in (("sweep", "--list"), ("scenarios",)):
        listed = dumbbell(*arguments).stdout
        assert "who-wins" in listed
        assert "loss-rtt" in listed


def test_times_and_sizes_are_printed_with_units() -> None:
    assert [_time(each) for each in (0.0312, 5, 300, 8000, 10**6)] == ["31 ms", "5 s", "5 min", "2.22 h", "11.6 days"]
    assert [_size(each) for each in (500, 2.5e6, 3e9)] == ["0.5 kB", "2.5 MB", "3 GB"]
