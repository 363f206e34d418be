"""Sweeps on a Dask cluster with real workers on this host."""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from dask import config
from distributed import Client

import dumbbell
from dask_site import Site, children
from dumbbell.errors import ClusterError, ClusterLost
from dumbbell.kernels import find
from dumbbell.spec.sweep import Sweep, parse_sweep
from dumbbell.sweeps.cache import Cache
from dumbbell.sweeps.cluster import Cluster
from dumbbell.sweeps.cluster_worker import run_tasks
from dumbbell.sweeps.pending import next_round
from dumbbell.sweeps.pool import Local
from dumbbell.sweeps.registry import WorkerRegistry, connected
from dumbbell.sweeps.scheduler import InProcessExecutor, run_sweep
from dumbbell.sweeps.table import table_of
from dumbbell.sweeps.task import Row, base_of

SWEEP = """
title = "Small"
seeds = "1..3"
metrics = ["groups.*", "utilisation"]
[experiment]
duration = "1s"
path.rtt = "20ms"
path.loss = "0.1%"
path.bottleneck.trace = "steps.trace"
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
POISON = """
import os
from dumbbell.sweeps import cluster_worker
from dumbbell.sweeps.task_runner import run_task

def deadly(base, task, *rest, **named):
    if (task.point, task.seed) == (1, 13):
        os.kill(os.getpid(), 9)
    return run_task(base, task, *rest, **named)

cluster_worker.run_task = deadly
"""
OTHER_TOOLS = """
from dumbbell.sweeps import iproute2

iproute2.PATH = "{folder}:" + iproute2.PATH
"""
OTHER_LIBRARY = """
from dataclasses import replace
from dumbbell.sweeps import cluster_worker

libraries = dict(cluster_worker.BUILD.libraries) | {"numpy": "0.1"}
cluster_worker.BUILD = replace(cluster_worker.BUILD, libraries=tuple(libraries.items()))
"""
POISONED = 13


class Staff:
    """Two workers, one with a nanny, with an empty cache and a folder of their own for what is temporary."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.cache, self.temporary = folder / "cache", folder / "temporary"
        self.temporary.mkdir()
        (folder / "poison.py").write_text(POISON)
        self._site = site
        self._words = ("--preload", str(folder / "poison.py"))
        self._named = {"DUMBBELL_CACHE": str(self.cache), "TMPDIR": str(self.temporary)}
        self._stack = ExitStack()
        self.nanny: subprocess.Popen[bytes]
        (self.nanny,) = self._stack.enter_context(site.workers(1, *self._words, nanny=True, environment=self._named))
        self.plain = self._plain()

    def complete(self) -> None:
        """A test may have ended one; nannies see to theirs."""
        if self.plain.poll() is not None:
            self.plain = self._plain()

    def worker_payloads(self) -> set[Path]:
        """What workers have of sweeps; those of one that a test killed are still there."""
        return set(self.temporary.glob("dumbbell-payload-*"))

    def close(self) -> None:
        self._stack.close()

    def _plain(self) -> "subprocess.Popen[bytes]":
        plain: subprocess.Popen[bytes]
        (plain,) = self._stack.enter_context(self._site.workers(1, *self._words, environment=self._named))
        return plain


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="module")
def hired(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Staff]:
    staff = Staff(site, tmp_path_factory.mktemp("staff"))
    yield staff
    staff.close()


@pytest.fixture
def staff(hired: Staff) -> Staff:
    hired.complete()
    return hired


@pytest.fixture
def small(tmp_path: Path) -> Sweep:
    folder = tmp_path / "asked"
    folder.mkdir()
    (folder / "steps.trace").write_text("".join(f"{time_ms}\n" for time_ms in range(1, 101)))
    return parse_sweep(SWEEP, folder / "small.toml")


def executor_at(site: Site, told: list[str] | None = None, cache: Cache | None = None) -> Cluster:
    hears = (told if told is not None else []).append
    return Cluster(WorkerRegistry(connected(site.address, hears), site.address, hears, timeout_s=60.0), cache)


def table(rows: list[Row], sweep: Sweep, path: Path) -> bytes:
    table_of(rows, sweep.every_axis).write_parquet(path)
    return path.read_bytes()


def by_place(rows: list[Row]) -> Counter[tuple[int, int]]:
    return Counter((row.point, row.seed) for row in rows)


def local(sweep: Sweep) -> list[Row]:
    return run_sweep(sweep, InProcessExecutor(), lambda _row: None)


def test_another_build_is_refused_by_name_before_anything_runs(small: Sweep, tmp_path: Path) -> None:
    other = tmp_path / "other" / "dumbbell"
    shutil.copytree(Path(dumbbell.__file__).parent, other, ignore=shutil.ignore_patterns("__pycache__"))
    source = other / "analysis" / "measures.py"
    source.write_text(f"{source.read_text()}\n# One line more.\n")
    told: list[str] = []
    with (
        Site(tmp_path) as site,
        site.workers(1, environment={"PYTHONPATH": str(other.parent)}),
        site.workers(1, environment=site.without),
        executor_at(site, told) as executor,
    ):
        # Both are there first: the sweep would end as soon as the first is refused.
        executor._registry.client.wait_for_workers(2, timeout=60)
        with pytest.raises(ClusterError, match=r"no usable worker at tcp://.*:\n  tcp://") as refused:
            run_sweep(small, executor, lambda _row: None)
        assert not isinstance(refused.value, ClusterLost)
        with site.workers(1):
            executor._registry.client.wait_for_workers(3, timeout=60)
            assert {row.status for row in run_sweep(small, executor, lambda _row: None)} == {"ok"}
    texts = [text for text in told if "gets no runs" in text]
    assert len(texts) == 2, told
    assert any(
        "it runs another build: different sources in analysis; install the same Dumbbell" in text for text in texts
    )
    assert any("it has no Dumbbell of this build (there is no Dumbbell here)" in text for text in texts)
    assert all(text.startswith("worker tcp://127.0.0.1:") for text in texts)


def test_the_table_is_the_local_one_to_the_byte_and_files_travel(
    site: Site, staff: Staff, small: Sweep, tmp_path: Path
) -> None:
    before = staff.worker_payloads()
    with executor_at(site) as executor:
        rows = run_sweep(small, executor, lambda _row: None)
        again = run_sweep(small, executor, lambda _row: None)
    ours = local(small)
    assert {row.status for row in rows} == {"ok"}
    assert table(rows, small, tmp_path / "theirs") == table(ours, small, tmp_path / "ours")
    assert table(again, small, tmp_path / "again") == table(ours, small, tmp_path / "ours")
    assert until_true(lambda: staff.worker_payloads() == before)


@pytest.mark.usefixtures("staff")
def test_what_one_sweep_ran_no_other_runs_again_here_or_there(site: Site, small: Sweep, tmp_path: Path) -> None:
    some = replace(small, seeds=(1, 2))
    with Cache(tmp_path / "rows.sqlite") as cache, executor_at(site, cache=cache) as executor:
        assert not any(row.cached for row in run_sweep(some, executor, lambda _row: None))
        rows = run_sweep(small, executor, lambda _row: None)
    assert sorted(row.seed for row in rows if not row.cached) == [3] * 4
    with Cache(tmp_path / "rows.sqlite") as cache, Local(1, tmp_path, None, cache) as pool:
        ours = run_sweep(small, pool, lambda _row: None)
    assert all(row.cached for row in ours)
    assert table(ours, small, tmp_path / "ours") == table(rows, small, tmp_path / "theirs")
    assert ours == local(small)


@pytest.mark.kernel
def test_a_worker_without_the_kernel_gets_it_once(site: Site, staff: Staff, tmp_path: Path) -> None:
    sweep = parse_sweep(KERNEL, tmp_path / "kernel.toml")
    assert not staff.cache.exists()
    with executor_at(site) as executor:
        rows = run_sweep(sweep, executor, lambda _row: None)
    (sent,) = staff.cache.glob("sent/*/*/linux")
    assert sent.parent.name == find().name
    assert sent.read_bytes() == find().binary.read_bytes()
    arrived_ns = sent.stat().st_mtime_ns
    with executor_at(site) as executor:
        again = run_sweep(sweep, executor, lambda _row: None)
    assert sent.stat().st_mtime_ns == arrived_ns
    ours = table(local(sweep), sweep, tmp_path / "ours")
    assert {row.status for row in rows} == {"ok"}
    assert table(rows, sweep, tmp_path / "theirs") == table(again, sweep, tmp_path / "again") == ours


@pytest.mark.kernel
@pytest.mark.usefixtures("staff")
def test_runs_of_guests_are_remembered_too(site: Site, tmp_path: Path) -> None:
    sweep = parse_sweep(KERNEL, tmp_path / "kernel.toml")
    with Cache(tmp_path / "rows.sqlite") as cache, executor_at(site, cache=cache) as executor:
        rows = run_sweep(sweep, executor, lambda _row: None)
        again = run_sweep(sweep, executor, lambda _row: None)
    assert {row.cached for row in rows} == {False}
    assert {row.cached for row in again} == {True}
    assert rows == again


@pytest.mark.kernel
def test_a_worker_with_another_iproute2_gets_no_guests_and_another_library_s_rows_are_not_kept(
    small: Sweep, tmp_path: Path
) -> None:
    """Both in one worker, whose `ip` is another program and whose build says another numpy."""
    other = tmp_path / "bin" / "ip"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho ip utility, iproute2-0.9.8, libbpf 0.1\n")
    other.chmod(0o755)
    (tmp_path / "other.py").write_text(OTHER_TOOLS.replace("{folder}", str(other.parent)) + OTHER_LIBRARY)
    told: list[str] = []
    said = r"it has ip of iproute2-0\.9\.8 instead of iproute2-\S+; install the same iproute2 on its host"
    with (
        Site(tmp_path) as site,
        site.workers(1, "--preload", str(tmp_path / "other.py")),
        Cache(tmp_path / "rows.sqlite") as cache,
    ):
        with executor_at(site, cache=cache) as executor, pytest.raises(ClusterError, match=said):
            run_sweep(parse_sweep(KERNEL, tmp_path / "kernel.toml"), executor, lambda _row: None)
        with executor_at(site, told, cache) as executor:
            assert {row.cached for row in run_sweep(small, executor, lambda _row: None)} == {False}
            assert {row.cached for row in run_sweep(small, executor, lambda _row: None)} == {False}
    assert any("has numpy 0.1 instead of" in text for text in told)


@pytest.mark.kernel
@pytest.mark.usefixtures("staff")
def test_a_kernel_that_is_not_here_fails_as_it_would_without_a_cluster(site: Site, tmp_path: Path) -> None:
    sweep = parse_sweep(f'kernel = "none-such"\n{KERNEL}', tmp_path / "kernel.toml")
    with executor_at(site) as executor:
        rows = run_sweep(sweep, executor, lambda _row: None)
    assert {row.status for row in rows} == {"failed"}
    assert sorted(rows, key=lambda row: row.seed) == local(sweep)


def test_an_interrupt_ends_what_runs_and_workers_forget(site: Site, staff: Staff, tmp_path: Path) -> None:
    text = SWEEP.replace('"1s"', '"3000s"').replace('trace = "steps.trace"', 'rate = "1gbit"')
    sweep = parse_sweep(text, tmp_path / "long.toml")
    before = staff.worker_payloads()
    with executor_at(site) as executor:
        client = executor._registry.client
        rows = executor.rows(base_of(sweep), next_round(sweep, []))
        with pytest.raises(KeyboardInterrupt):
            interrupted_while_running(rows, client)
        assert until_true(lambda: not busy(client))
        assert until_true(lambda: staff.worker_payloads() == before)


def test_a_killed_worker_loses_nothing_and_nothing_comes_twice(
    site: Site, staff: Staff, small: Sweep, tmp_path: Path
) -> None:
    told: list[str] = []
    with executor_at(site, told) as executor:
        # A nanny gives up a worker that dies while it starts.
        executor._registry.client.wait_for_workers(2, timeout=60)
        rows = executor.rows(base_of(small), next_round(small, []))
        came = [next(rows)]
        # Both have done what they had: a quick machine does it before they can be killed.
        assert until_true(lambda: not busy(executor._registry.client))
        for worker in (*children(staff.nanny), staff.plain.pid):
            os.kill(worker, signal.SIGKILL)
        came += rows
    assert set(by_place(came).values()) == {1}
    gone = [text.split()[1] for text in told if text.endswith(" disconnected; its runs go to other workers")]
    assert len(set(gone)) == len(gone) == 2, told
    assert table(came, small, tmp_path / "theirs") == table(local(small), small, tmp_path / "ours")


@pytest.mark.usefixtures("staff")
def test_a_task_that_ends_its_workers_is_a_failed_row_and_no_other_is_blamed(site: Site, small: Sweep) -> None:
    with_poison = replace(small, seeds=(1, POISONED))
    with config.set({"distributed.scheduler.allowed-failures": 2}), executor_at(site) as executor:
        rows = run_sweep(with_poison, executor, lambda _row: None)
    failed = [(row.point, row.seed, row.reason) for row in rows if row.status == "failed"]
    assert failed == [(1, POISONED, "its worker died, 2 times")]
    good = {(row.point, row.seed): row for row in local(with_poison)}
    assert all(row == good[row.point, row.seed] for row in rows if row.status == "ok")
    assert by_place(rows) == Counter(good.keys())


def test_a_scheduler_that_goes_away_ends_the_sweep_and_what_came_is_kept(small: Sweep, tmp_path: Path) -> None:
    """Over TLS, by Dask's own settings."""
    secure, named = certificates(tmp_path)
    came = []
    with (
        Site(tmp_path, named, secure=True) as site,
        site.workers(1, environment=named),
        config.set(secure),
        executor_at(site) as executor,
    ):
        rows = executor.rows(base_of(small), next_round(small, []))
        came.append(next(rows))
        os.kill(site.scheduler.pid, signal.SIGKILL)
        with pytest.raises(ClusterLost, match=r"^the connection to the scheduler at tls://.* was lost; .*--resume$"):
            came += rows
    assert set(by_place(came).values()) == {1}


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
    named = {
        f"DASK_DISTRIBUTED__COMM__TLS__{k.replace('.', '__').replace('-', '_').upper()}": v for k, v in tls.items()
    }
    return {f"distributed.comm.tls.{key}": value for key, value in tls.items()}, named


def interrupted_while_running(rows: Iterator[Row], client: Client) -> None:
    """Ctrl-C, once workers are at it."""
    # A shell ignores SIGINT in background jobs, and so do their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt() -> None:
        if until_true(lambda: busy(client)):
            time.sleep(0.5)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    helper = threading.Thread(target=interrupt)
    helper.start()
    try:
        next(rows)
    finally:
        helper.join()


def busy(client: Client) -> bool:
    """Is a batch of a sweep at a worker?"""
    return any(str(key).startswith(f"{run_tasks.__name__}-") for keys in client.processing().values() for key in keys)


def until_true(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.1)
    return False
