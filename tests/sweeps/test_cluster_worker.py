"""The functions that a cluster's worker runs, called without a cluster."""

from dataclasses import replace
from pathlib import Path

import pytest

from dumbbell.errors import KernelError, OutputError, PlanError
from dumbbell.spec.sweep import Sweep, parse_sweep
from dumbbell.sweeps import cluster_worker
from dumbbell.sweeps.cluster_worker import KernelBundle, payload_of
from dumbbell.sweeps.identity import BUILD, difference, remarks
from dumbbell.sweeps.refinement import next_round
from dumbbell.sweeps.task import Base, Task, base_of

TRACES = """
[experiment]
duration = "1s"
path.rtt = "20ms"
path.bottleneck.rate_trace = "one.trace"
flows = [{ cc = "cubic" }]
[[axes]]
"path.bottleneck.rate_trace" = ["one.trace", "below/two.trace", "../secret", "none.trace"]
"""


def sweep_and_tasks(folder: Path, text: str = TRACES) -> tuple[Base, list[Task]]:
    (folder / "here" / "below").mkdir(parents=True)
    (folder / "secret").write_text("1\n")
    (folder / "here" / "one.trace").write_text("1\n")
    (folder / "here" / "below" / "two.trace").write_text("2\n")
    made: Sweep = parse_sweep(text, folder / "here" / "sweep.toml")
    return base_of(made), next_round(made, [])


def test_only_files_that_a_point_references_are_in_the_payload(tmp_path: Path) -> None:
    worker_payload = payload_of(*sweep_and_tasks(tmp_path))
    assert worker_payload.files == {"one.trace": b"1\n", "below/two.trace": b"2\n"}


def test_a_run_of_the_host_engine_is_refused(tmp_path: Path) -> None:
    base, tasks = sweep_and_tasks(tmp_path)
    with pytest.raises(PlanError, match="host engine measures this host"):
        payload_of(base, [replace(tasks[0], engine="host")])


def test_a_changed_file_changes_the_payload(tmp_path: Path) -> None:
    base, tasks = sweep_and_tasks(tmp_path)
    before = payload_of(base, tasks).key
    assert payload_of(base, tasks).key == before
    (tmp_path / "here" / "one.trace").write_text("3\n")
    assert payload_of(base, tasks).key != before


def test_a_file_outside_the_folder_is_not_written(tmp_path: Path) -> None:
    base, _ = sweep_and_tasks(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    with pytest.raises(OutputError, match="outside the experiment's folder"):
        cluster_worker.equip("key", base, {"../../../out": b""}, {}, str(home))
    assert not list(home.iterdir()), "a refused payload leaves nothing"


def test_a_worker_without_the_payload_runs_no_task(tmp_path: Path) -> None:
    _, tasks = sweep_and_tasks(tmp_path)
    assert cluster_worker.run_tasks("unknown key", tasks) == cluster_worker.Unprepared()


@pytest.mark.usefixtures("empty_cache")
def test_a_received_kernel_is_stored_and_a_damaged_one_replaced() -> None:
    bundle = KernelBundle("mine", {"linux": b"\x7fELF", "config": b"CONFIG_X=y\n"})
    required = {bundle.key: (bundle.name, bundle.hashes)}
    assert cluster_worker.missing_kernels(required) == [bundle.key]
    cluster_worker.keep_kernel(bundle)
    cluster_worker.keep_kernel(bundle)
    assert cluster_worker.missing_kernels(required) == []
    kept = cluster_worker._sent(bundle.key, bundle.name)
    (kept / "config").write_text("other")
    assert cluster_worker.missing_kernels(required) == [bundle.key]
    cluster_worker.keep_kernel(bundle)
    assert cluster_worker.missing_kernels(required) == []
    assert [path.name for path in kept.parents[1].iterdir()] == [bundle.key]


@pytest.mark.usefixtures("empty_cache")
def test_a_kernel_file_with_a_path_is_refused() -> None:
    with pytest.raises(KernelError, match="is not a valid file name in a kernel folder"):
        cluster_worker.keep_kernel(KernelBundle("mine", {"../linux": b""}))


def test_differences_of_builds_are_listed() -> None:
    assert difference(BUILD, BUILD) == remarks(BUILD, BUILD) == ""
    other = replace(
        BUILD, python="3.99.1", simulator="ff", machine="riscv64",
        sources=tuple((package, "" if package == "plan" else digest) for package, digest in BUILD.sources),
        libraries=tuple((name, "0.1" if name == "polars" else release) for name, release in BUILD.libraries),
    )  # fmt: skip
    text = difference(BUILD, other)
    for expected in (
        "Python 3.99 instead of",
        "riscv64 instead of",
        "simulator ff instead of",
        "different sources in plan",
    ):
        assert expected in text
    assert "agent" not in text
    assert "polars 0.1 instead of" in remarks(BUILD, other)
    assert BUILD.simulator
    assert all(digest for _, digest in BUILD.sources)
