"""The workers of a cluster: what becomes of one whose answers are lost, and errors before there are any."""

import os
import signal
import time
from pathlib import Path

import pytest

from dask_site import Site
from dumbbell.errors import ClusterError
from dumbbell.sweeps import registry
from dumbbell.sweeps.cluster import executor_for
from dumbbell.sweeps.registry import WorkerRegistry, connected

TIMEOUT_S = 60.0


def test_a_worker_whose_answer_is_lost_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has said what it runs, and stops before that is fetched."""
    monkeypatch.setattr(registry, "RESULT_S", 0.5)
    told: list[str] = []
    with Site(tmp_path) as site, site.workers(1) as (worker,), connected(site.address, told.append) as client:
        client.wait_for_workers(1, timeout=TIMEOUT_S)
        those = WorkerRegistry(client, site.address, told.append, timeout_s=TIMEOUT_S)
        those.poll()
        (member,) = those.members.values()
        until = time.monotonic() + TIMEOUT_S
        while those._done.empty():
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(worker.pid, signal.SIGSTOP)
        those.finished(0)
        assert not member.accepted
        os.kill(worker.pid, signal.SIGCONT)
        while not member.accepted:
            assert (member.refused, told) == ("", [])
            assert time.monotonic() < until
            those.finished(0.1)


def test_where_no_scheduler_is_the_error_says_how_to_start_one() -> None:
    with pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9 .*dask scheduler"):
        connected("tcp://127.0.0.1:9", lambda _text: None, wait_s=0.3)


def test_what_is_no_cluster_is_refused() -> None:
    with pytest.raises(ClusterError, match="invalid cluster 'somewhere'; use tcp://scheduler:8786"):
        executor_for("somewhere")
