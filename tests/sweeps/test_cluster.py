"""Sweeps on a Dask cluster with real workers on this host."""

import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from dask import config
from distributed import Client

import dumbbell
from conftest import COMMAND
from dask_site import Site, children
from dumbbell.errors import ClusterError, ClusterLost
from dumbbell.kernels import find
from dumbbell.spec.sweep import Sweep, parse_sweep
from dumbbell.sweeps.cluster import Cluster
from dumbbell.sweeps.cluster_worker import run_tasks
from dumbbell.sweeps.folder import table_of
from dumbbell.sweeps.pool import Local
from dumbbell.sweeps.refinement import next_round
from dumbbell.sweeps.registry import WorkerRegistry, connected
from dumbbell.sweeps.runner import InProcessExecutor, run_sweep
from dumbbell.sweeps.task import Row, base_of
from dumbbell.sweeps.task_runner import Cache

SWEEP = """
title = "Small"
seeds = "1..3"
metrics = ["groups.*", "utilization"]
[experiment]
duration = "1s"
path.rtt = "20ms"
path.loss = "0.1%"
path.bottleneck.rate_trace = "steps.trace"
flows = [{ name = "flow", cc = "cubic" }]
[[axes]]
"flows.flow.cc" = ["cubic", "bbr"]
[[axes]]
"path.rtt" = ["5ms", "20ms"]
"""
KERNEL = """
engine = "kernel"
seeds = "1..2"
metrics = ["groups.*", "queue.*"]
[experiment]
duration = "1s"
path.rtt = "20ms"
path.bottleneck.rate = "10mbit"
flows = [{ name = "flow", cc = "cubic" }]
"""
FATAL_TASK = """
import os
from dumbbell.sweeps import cluster_worker
from dumbbell.sweeps.task_runner import run_task

def run_or_kill_worker(base, task, *rest, **options):
    if (task.point, task.seed) == (1, 13):
        os.kill(os.getpid(), 9)
    return run_task(base, task, *rest, **options)

cluster_worker.run_task = run_or_kill_worker
"""
LEFT_TO_TC = """
engine = "kernel"
metrics = ["groups.*"]
[experiment]
duration = "20ms"
path.rtt = "1ms"
flows = [{ cc = "cubic" }]
[experiment.path.tc]
interface = "eth0"
commands = '''
tc qdisc add dev eth0 root handle 1: prio
tc filter add dev eth0 parent 1: protocol ipv6 prio 1 matchall flowid 1:1
'''
"""
OTHER_TOOLS = """
from dumbbell.sweeps import identity

identity.PATH = "{folder}:" + identity.PATH
"""
OTHER_LIBRARY = """
from dataclasses import replace
from dumbbell.sweeps import cluster_worker

libraries = dict(cluster_worker.BUILD.libraries) | {"numpy": "0.1"}
cluster_worker.BUILD = replace(cluster_worker.BUILD, libraries=tuple(libraries.items()))
"""
FATAL_SEED = 13


class ClusterWorkers:
    """Two workers, one with a nanny; they share an empty cache and a folder for temporary files."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.cache, self.temporary = folder / "cache", folder / "temporary"
        self.temporary.mkdir()
        (folder / "fatal.py").write_text(FATAL_TASK)
        self._site = site
        self._options = ("--preload", str(folder / "fatal.py"))
        self._environment = {"DUMBBELL_CACHE": str(self.cache), "TMPDIR": str(self.temporary)}
        self._stack = ExitStack()
        self.nanny: subprocess.Popen[bytes]
        (self.nanny,) = self._stack.enter_context(
            site.workers(1, *self._options, nanny=True, environment=self._environment)
        )
        self.plain = self._plain()

    def restart_stopped(self) -> None:
        """Restart the worker without a nanny if a test ended it; nannies restart theirs."""
        if self.plain.poll() is not None:
            self.plain = self._plain()

    def worker_payloads(self) -> set[Path]:
        """Payload folders of the workers; those of a killed worker remain."""
        return set(self.temporary.rglob("dumbbell-payload-*"))

    def close(self) -> None:
        self._stack.close()

    def _plain(self) -> "subprocess.Popen[bytes]":
        plain: subprocess.Popen[bytes]
        (plain,) = self._stack.enter_context(self._site.workers(1, *self._options, environment=self._environment))
        return plain


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="module")
def module_workers(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterWorkers]:
    workers = ClusterWorkers(site, tmp_path_factory.mktemp("workers"))
    yield workers
    workers.close()


@pytest.fixture
def workers(module_workers: ClusterWorkers) -> ClusterWorkers:
    module_workers.restart_stopped()
    return module_workers


@pytest.fixture
def small(tmp_path: Path) -> Sweep:
    folder = tmp_path / "sweep"
    folder.mkdir()
    (folder / "steps.trace").write_text("".join(f"{time_ms}\n" for time_ms in range(1, 101)))
    return parse_sweep(SWEEP, folder / "small.toml")


def executor_on(site: Site, messages: list[str] | None = None, cache: Cache | None = None) -> Cluster:
    report = (messages if messages is not None else []).append
    return Cluster(WorkerRegistry(connected(site.address, report), site.address, report, timeout_s=60.0), cache)


def table(rows: list[Row], sweep: Sweep, path: Path) -> bytes:
    table_of(rows, sweep.every_axis).write_parquet(path)
    return path.read_bytes()


def counts_by_point_and_seed(rows: list[Row]) -> Counter[tuple[int, int]]:
    return Counter((row.point, row.seed) for row in rows)


def local_rows(sweep: Sweep) -> list[Row]:
    return run_sweep(sweep, InProcessExecutor(), lambda _row: None)


@pytest.mark.slow
def test_a_worker_of_another_build_is_refused_before_any_run(small: Sweep, tmp_path: Path) -> None:
    other = tmp_path / "other" / "dumbbell"
    shutil.copytree(Path(dumbbell.__file__).parent, other, ignore=shutil.ignore_patterns("__pycache__"))
    source = other / "analysis" / "summary.py"
    source.write_text(f"{source.read_text()}\n# One line more.\n")
    messages: list[str] = []
    with (
        Site(tmp_path) as site,
        site.workers(1, environment={"PYTHONPATH": str(other.parent)}),
        site.workers(1, environment=site.without),
        executor_on(site, messages) as executor,
    ):
        # Wait for both: the sweep would end as soon as the first is refused.
        executor._registry.client.wait_for_workers(2, timeout=60)
        with pytest.raises(ClusterError, match=r"no usable worker at tcp://.*:\n  tcp://") as refused:
            run_sweep(small, executor, lambda _row: None)
        assert not isinstance(refused.value, ClusterLost)
        with site.workers(1):
            executor._registry.client.wait_for_workers(3, timeout=60)
            assert {row.status for row in run_sweep(small, executor, lambda _row: None)} == {"ok"}
    texts = [text for text in messages if "gets no runs" in text]
    assert len(texts) == 2, messages
    assert any(
        "it runs another build: different sources in analysis; install the same Dumbbell" in text for text in texts
    )
    assert any("it has no Dumbbell of this build (there is no Dumbbell here)" in text for text in texts)
    assert all(text.startswith("worker tcp://127.0.0.1:") for text in texts)


def test_a_cluster_s_table_equals_the_local_one_and_files_are_sent(
    site: Site, workers: ClusterWorkers, small: Sweep, tmp_path: Path
) -> None:
    before = workers.worker_payloads()
    with executor_on(site) as executor:
        rows = run_sweep(small, executor, lambda _row: None)
        repeated = run_sweep(small, executor, lambda _row: None)
    expected = local_rows(small)
    assert {row.status for row in rows} == {"ok"}
    assert table(rows, small, tmp_path / "cluster") == table(expected, small, tmp_path / "local")
    assert table(repeated, small, tmp_path / "repeated") == table(expected, small, tmp_path / "local")
    assert until_true(lambda: workers.worker_payloads() == before)


@pytest.mark.slow
@pytest.mark.usefixtures("workers")
def test_cached_runs_are_reused_on_the_cluster_and_locally(site: Site, small: Sweep, tmp_path: Path) -> None:
    some = replace(small, seeds=(1, 2))
    with Cache(tmp_path / "rows.sqlite") as cache, executor_on(site, cache=cache) as executor:
        assert not any(row.cached for row in run_sweep(some, executor, lambda _row: None))
        rows = run_sweep(small, executor, lambda _row: None)
    assert sorted(row.seed for row in rows if not row.cached) == [3] * 4
    with Cache(tmp_path / "rows.sqlite") as cache, Local(1, tmp_path, None, cache) as pool:
        expected = run_sweep(small, pool, lambda _row: None)
    assert all(row.cached for row in expected)
    assert table(expected, small, tmp_path / "local") == table(rows, small, tmp_path / "cluster")
    assert expected == local_rows(small)


@pytest.mark.slow
@pytest.mark.kernel
def test_a_missing_kernel_is_sent_to_a_worker_once(tmp_path: Path) -> None:
    """Workers of its own: other tests may have sent the kernel to the shared ones."""
    sweep = parse_sweep(KERNEL, tmp_path / "kernel.toml")
    with Site(tmp_path) as site, closing(ClusterWorkers(site, tmp_path)) as workers:
        assert not workers.cache.exists()
        with executor_on(site) as executor:
            rows = run_sweep(sweep, executor, lambda _row: None)
        (sent,) = workers.cache.glob("sent/*/*/linux")
        assert sent.parent.name == find().name
        assert sent.read_bytes() == find().binary.read_bytes()
        arrived_ns = sent.stat().st_mtime_ns
        with executor_on(site) as executor:
            repeated = run_sweep(sweep, executor, lambda _row: None)
        assert sent.stat().st_mtime_ns == arrived_ns
    expected = table(local_rows(sweep), sweep, tmp_path / "local")
    assert {row.status for row in rows} == {"ok"}
    assert table(rows, sweep, tmp_path / "cluster") == table(repeated, sweep, tmp_path / "repeated") == expected


@pytest.mark.kernel
@pytest.mark.usefixtures("workers")
def test_kernel_engine_runs_are_cached(site: Site, tmp_path: Path) -> None:
    sweep = parse_sweep(KERNEL, tmp_path / "kernel.toml")
    with Cache(tmp_path / "rows.sqlite") as cache, executor_on(site, cache=cache) as executor:
        rows = run_sweep(sweep, executor, lambda _row: None)
        repeated = run_sweep(sweep, executor, lambda _row: None)
    assert {row.cached for row in rows} == {False}
    assert {row.cached for row in repeated} == {True}
    assert rows == repeated


@pytest.mark.slow
@pytest.mark.kernel
def test_a_worker_with_another_iproute2_gets_no_runs_that_depend_on_it_and_rows_of_another_numpy_are_not_cached(
    small: Sweep, tmp_path: Path
) -> None:
    """One worker has both differences: another `ip` program, and another numpy version in its build."""
    other = tmp_path / "bin" / "ip"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho ip utility, iproute2-0.9.8, libbpf 0.1\n")
    other.chmod(0o755)
    (tmp_path / "other.py").write_text(OTHER_TOOLS.replace("{folder}", str(other.parent)) + OTHER_LIBRARY)
    messages: list[str] = []
    error = r"it has ip of iproute2-0\.9\.8 instead of iproute2-\S+; install the same iproute2 on its host"
    with (
        Site(tmp_path) as site,
        site.workers(1, "--preload", str(tmp_path / "other.py")),
        Cache(tmp_path / "rows.sqlite") as cache,
    ):
        with executor_on(site, cache=cache) as executor, pytest.raises(ClusterError, match=error):
            run_sweep(parse_sweep(LEFT_TO_TC, tmp_path / "left.toml"), executor, lambda _row: None)
        with executor_on(site) as executor:
            rows = run_sweep(parse_sweep(KERNEL, tmp_path / "kernel.toml"), executor, lambda _row: None)
            assert {row.status for row in rows} == {"ok"}
        with executor_on(site, messages, cache) as executor:
            assert {row.cached for row in run_sweep(small, executor, lambda _row: None)} == {False}
            assert {row.cached for row in run_sweep(small, executor, lambda _row: None)} == {False}
    assert any("has numpy 0.1 instead of" in text for text in messages)


@pytest.mark.kernel
@pytest.mark.usefixtures("workers")
def test_an_unknown_kernel_fails_as_it_does_without_a_cluster(site: Site, tmp_path: Path) -> None:
    sweep = parse_sweep(f'kernel = "none-such"\n{KERNEL}', tmp_path / "kernel.toml")
    with executor_on(site) as executor:
        rows = run_sweep(sweep, executor, lambda _row: None)
    assert {row.status for row in rows} == {"failed"}
    assert sorted(rows, key=lambda row: row.seed) == local_rows(sweep)


def test_an_interrupt_stops_runs_and_deletes_payloads(site: Site, workers: ClusterWorkers, tmp_path: Path) -> None:
    text = SWEEP.replace('"1s"', '"3000s"').replace('rate_trace = "steps.trace"', 'rate = "1gbit"')
    sweep = parse_sweep(text, tmp_path / "long.toml")
    before = workers.worker_payloads()
    with executor_on(site) as executor:
        client = executor._registry.client
        rows = executor.rows(base_of(sweep), next_round(sweep, []))
        with pytest.raises(KeyboardInterrupt):
            interrupted_while_running(rows, client)
        assert until_true(lambda: not has_running_batch(client))
        assert until_true(lambda: workers.worker_payloads() == before)


@pytest.mark.slow
def test_a_killed_worker_loses_no_rows_and_duplicates_none(
    site: Site, workers: ClusterWorkers, small: Sweep, tmp_path: Path
) -> None:
    messages: list[str] = []
    with executor_on(site, messages) as executor:
        # A nanny gives up a worker that dies while it starts.
        executor._registry.client.wait_for_workers(2, timeout=60)
        rows = executor.rows(base_of(small), next_round(small, []))
        received = [next(rows)]
        # Both are idle: a fast host completes their batches before they can be killed.
        assert until_true(lambda: not has_running_batch(executor._registry.client))
        for worker in (*children(workers.nanny), workers.plain.pid):
            os.kill(worker, signal.SIGKILL)
        received += rows
    assert set(counts_by_point_and_seed(received).values()) == {1}
    lost = [text.split()[1] for text in messages if text.endswith(" disconnected; its runs go to other workers")]
    assert len(set(lost)) == len(lost) == 2, messages
    assert table(received, small, tmp_path / "cluster") == table(local_rows(small), small, tmp_path / "local")


@pytest.mark.slow
@pytest.mark.usefixtures("workers")
def test_a_task_that_kills_its_workers_is_a_failed_row_and_other_tasks_succeed(site: Site, small: Sweep) -> None:
    with_fatal_task = replace(small, seeds=(1, FATAL_SEED))
    with config.set({"distributed.scheduler.allowed-failures": 2}), executor_on(site) as executor:
        rows = run_sweep(with_fatal_task, executor, lambda _row: None)
    failed = [(row.point, row.seed, row.reason) for row in rows if row.status == "failed"]
    assert failed == [(1, FATAL_SEED, "its worker died, 2 times")]
    good = {(row.point, row.seed): row for row in local_rows(with_fatal_task)}
    assert all(row == good[row.point, row.seed] for row in rows if row.status == "ok")
    assert counts_by_point_and_seed(rows) == Counter(good.keys())


@pytest.mark.slow
def test_a_lost_scheduler_ends_the_sweep_and_received_rows_are_kept(small: Sweep, tmp_path: Path) -> None:
    """Over TLS, with Dask's own settings."""
    secure, variables = certificates(tmp_path)
    received = []
    with (
        Site(tmp_path, variables, secure=True) as site,
        site.workers(1, environment=variables),
        config.set(secure),
        executor_on(site) as executor,
    ):
        rows = executor.rows(base_of(small), next_round(small, []))
        received.append(next(rows))
        os.kill(site.scheduler.pid, signal.SIGKILL)
        with pytest.raises(ClusterLost, match=r"^the connection to the scheduler at tls://.* was lost; .*--resume$"):
            received += rows
    assert set(counts_by_point_and_seed(received).values()) == {1}


LONG = """
title = "Long"
seeds = "1..40"
metrics = ["utilization"]
[experiment]
duration = "60s"
path.rtt = "20ms"
path.bottleneck.rate = "50mbit"
flows = [{ cc = "cubic" }]
[[axes]]
"path.rtt" = ["5ms", "20ms", "30ms"]
"""


@pytest.mark.slow
def test_the_command_says_in_one_line_that_the_scheduler_was_lost(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    with Site(tmp_path) as site, site.workers(1):
        arguments = ["sweep", "long.toml", "--cluster", site.address, "--no-cache", "--out", "out"]
        command = subprocess.Popen([COMMAND, *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        try:
            while command.poll() is None and not _has_rows(tmp_path / "out" / "rows.sqlite"):
                time.sleep(0.1)
            os.kill(site.scheduler.pid, signal.SIGKILL)
            _, errors = command.communicate(timeout=60)
        finally:
            command.kill()
            command.wait()
    assert command.returncode == 4
    assert "Traceback" not in errors
    assert "distributed" not in errors
    assert errors.splitlines()[-1].startswith(f"dumbbell: the connection to the scheduler at {site.address} was lost")


def _has_rows(file: Path) -> bool:
    if not file.exists():
        return False
    with closing(sqlite3.connect(file)) as database, suppress(sqlite3.OperationalError):
        return bool(database.execute("select count(*) from rows").fetchone()[0])
    return False


def certificates(folder: Path) -> tuple[dict[str, object], dict[str, str]]:
    """Dask's settings for TLS, and the same as environment variables."""
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    issued.private_key_and_cert_chain_pem.write_to_path(folder / "all.pem")
    tls = {"ca-file": str(folder / "ca.pem")}
    tls |= {
        f"{role}.{what}": str(folder / "all.pem")
        for role in ("scheduler", "worker", "client")
        for what in ("cert", "key")
    }
    variables = {
        f"DASK_DISTRIBUTED__COMM__TLS__{k.replace('.', '__').replace('-', '_').upper()}": v for k, v in tls.items()
    }
    return {f"distributed.comm.tls.{key}": value for key, value in tls.items()}, variables


def interrupted_while_running(rows: Iterator[Row], client: Client) -> None:
    """Send SIGINT once a worker runs a batch."""
    # A shell ignores SIGINT in background jobs, and so do their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt() -> None:
        if until_true(lambda: has_running_batch(client)):
            time.sleep(0.5)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    helper = threading.Thread(target=interrupt)
    helper.start()
    try:
        next(rows)
    finally:
        helper.join()


def has_running_batch(client: Client) -> bool:
    """Whether a worker runs a batch of a sweep."""
    return any(str(key).startswith(f"{run_tasks.__name__}-") for keys in client.processing().values() for key in keys)


def until_true(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.1)
    return False
