"""`dumbbell search` from the bounds to the saved file, which `dumbbell run` checks."""

import json
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from conftest import COMMAND, Dumbbell
from dask_site import Site

EXPERIMENT = """
duration = "6s"
[path]
rtt = "20ms"
[path.bottleneck]
rate = "20mbit"
qdisc = "bfifo limit 1bdp"
[[flows]]
cc = "cubic"
"""
SEARCH = ["--minimize", "utilization", "--max-runs", "24", "--seeds", "1..3"]
BOUNDS = ["--vary", "path.rtt=5ms..100ms", "--vary", 'path.loss=["0%", "0.5%", "5%"]']


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    file = tmp_path / "mine.toml"
    file.write_text(EXPERIMENT)
    return file


def test_an_objective_without_a_metric_is_refused_before_any_run(
    dumbbell: Dumbbell, experiment: Path, tmp_path: Path
) -> None:
    for formula in ("1/0", "pow(2, 3)"):
        done = dumbbell("search", experiment, "--minimize", formula, "--out", "found")
        assert done.returncode == 2
        assert done.stderr.startswith(f"dumbbell: '{formula}' names no metric; write a metric, or an arithmetic")
    assert not (tmp_path / "found").exists()


@pytest.mark.slow
def test_the_saved_experiment_fails_as_it_expects(dumbbell: Dumbbell, experiment: Path, tmp_path: Path) -> None:
    done = dumbbell("search", experiment, *SEARCH, *BOUNDS, "--confirm", "none", "--out", "found", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # The simulator's response to 5 % of losses at the longest path is known: a few segments per round trip.
    assert found["best"][0]["values"]["path.loss"] == "5%"
    assert found["best"][0]["mean"] < found["threshold"] < found["unchanged"]["mean"]
    assert len(found["best"][0]["found"]) == 3
    assert found["smallest"]["confirmed"] is None
    saved = tmp_path / "found" / "worst.toml"
    assert "loss" in saved.read_text()
    assert "count" not in saved.read_text()
    run = dumbbell("run", saved, "--out", "again")
    assert run.returncode == 0, run.stderr
    assert "as expected" in run.stdout


@pytest.mark.slow
def test_jobs_change_nothing_and_an_interrupted_search_goes_on(
    dumbbell: Dumbbell, experiment: Path, tmp_path: Path
) -> None:
    options = [*SEARCH, *BOUNDS, "--confirm", "none", "--no-shrink"]
    assert dumbbell("search", experiment, *options, "--jobs", "1", "--out", "one").returncode == 0
    assert dumbbell("search", experiment, *options, "--jobs", "3", "--out", "three").returncode == 0
    assert (tmp_path / "one/runs.parquet").read_bytes() == (tmp_path / "three/runs.parquet").read_bytes()
    refused = dumbbell("search", experiment, *options, "--out", "one")
    assert refused.returncode == 2
    assert "one: exists already" in refused.stderr
    assert dumbbell("search", experiment, *options, "--out", "one", "--resume").returncode == 0
    other = dumbbell("search", experiment, *options, "--out", "one", "--resume", "--search-seed", "5")
    assert other.returncode == 2
    assert "started with other settings" in other.stderr


@pytest.mark.slow
def test_a_cluster_finds_what_one_host_finds(dumbbell: Dumbbell, experiment: Path, tmp_path: Path) -> None:
    options = [*SEARCH, *BOUNDS, "--confirm", "none", "--no-shrink", "--no-cache"]
    assert dumbbell("search", experiment, *options, "--out", "alone").returncode == 0
    folder = tmp_path / "site"
    folder.mkdir()
    with Site(folder) as site, site.workers(2):
        done = dumbbell("search", experiment, *options, "--cluster", site.address, "--out", "cluster")
    assert done.returncode == 0, done.stderr
    for name in ("runs.parquet", "worst.toml", "search.json"):
        assert (tmp_path / "cluster" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


@pytest.mark.slow
def test_packets_that_are_dropped_are_searched(dumbbell: Dumbbell, experiment: Path, tmp_path: Path) -> None:
    options = ["--minimize", "utilization", "--max-runs", "40", "--seeds", "1", "--confirm", "none", "--packets", "3"]
    done = dumbbell("search", experiment, *options, "--out", "found", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["best"][0]["values"]["path.packets"]
    assert found["smallest"]["simulated"]["mean"] < found["unchanged"]["mean"]
    assert "[[path.packets]]" in (tmp_path / "found" / "worst.toml").read_text()


@pytest.mark.slow
def test_common_bounds_need_no_options(dumbbell: Dumbbell, experiment: Path, tmp_path: Path) -> None:
    done = dumbbell("search", experiment, "--maximize", "queue.delay_ms.p95", "--max-runs", "16", "--seeds", "1..2",
                    "--confirm", "none", "--no-shrink", "--out", "found")  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = pl.read_parquet(tmp_path / "found/runs.parquet")
    assert {"path.rtt_ms", "path.bottleneck.rate_mbps", "queue", "packets", "path.loss", "flows"} <= set(runs.columns)
    assert set(runs["status"]) == {"ok"}


@pytest.mark.slow
def test_mistakes_name_what_to_write(dumbbell: Dumbbell, experiment: Path) -> None:
    for options, told in (
        ([], "neither minimize nor maximize"),
        (["--minimize", "utilisation"], "utilization"),
        (["--minimize", "utilization", "--vary", "path.rtt=5ms"], "such as --vary path.rtt=5ms..200ms"),
        (["--minimize", "utilization", "--vary", "path.rtt=9ms..2ms"], "the range must rise"),
    ):
        done = dumbbell("search", experiment, *options, "--out", "none")
        assert done.returncode == 2
        assert told in done.stderr


@pytest.mark.slow
@pytest.mark.kernel
def test_the_kernel_confirms(dumbbell: Dumbbell, experiment: Path) -> None:
    done = dumbbell("search", experiment, *SEARCH, *BOUNDS, "--confirm", "kernel", "--out", "found", "--json")
    assert done.returncode == 0, done.stderr
    smallest = json.loads(done.stdout)["smallest"]
    assert smallest["confirmed"] is True
    assert smallest["kernel"]["engine"] == "kernel"
    assert smallest["kernel"]["mean"] == pytest.approx(smallest["simulated"]["mean"], rel=0.5)


@pytest.mark.slow
def test_ctrl_c_keeps_the_trials_and_the_resumed_search_finds_the_same(
    dumbbell: Dumbbell, experiment: Path, tmp_path: Path
) -> None:
    options = ["--minimize", "utilization", "--max-runs", "160", "--seeds", "1..2", *BOUNDS, "--no-cache",
               "--no-shrink", "--confirm", "none"]  # fmt: skip
    process = subprocess.Popen(
        [COMMAND, "search", experiment, *options, "--out", "stopped"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    journal = tmp_path / "stopped" / "rows.sqlite"
    while not (journal.exists() and _rows(journal) >= 8):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 130
    assert "finished trials are kept; resume with: dumbbell search" in told
    assert not (tmp_path / "stopped" / "runs.parquet").exists()
    assert dumbbell("search", experiment, *options, "--out", "stopped", "--resume").returncode == 0
    assert dumbbell("search", experiment, *options, "--out", "whole").returncode == 0
    for name in ("runs.parquet", "worst.toml", "search.json"):
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def _rows(journal: Path) -> int:
    with closing(sqlite3.connect(f"{journal.as_uri()}?mode=ro", uri=True)) as link:
        return int(link.execute("SELECT count(*) FROM rows").fetchone()[0])
