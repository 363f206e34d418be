"""The registry of a cluster's workers: lost replies are requested again; errors before the first worker."""

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


@pytest.mark.slow
def test_a_worker_whose_reply_is_lost_is_queried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker has finished its reply, and stops before the registry fetches it."""
    monkeypatch.setattr(registry, "RESULT_S", 0.5)
    messages: list[str] = []
    with Site(tmp_path) as site, site.workers(1) as (worker,), connected(site.address, messages.append) as client:
        client.wait_for_workers(1, timeout=TIMEOUT_S)
        registry_ = WorkerRegistry(client, site.address, messages.append, timeout_s=TIMEOUT_S)
        registry_.poll()
        (member,) = registry_.members.values()
        until = time.monotonic() + TIMEOUT_S
        while registry_._done.empty():
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(worker.pid, signal.SIGSTOP)
        registry_.finished(0)
        assert not member.accepted
        os.kill(worker.pid, signal.SIGCONT)
        while not member.accepted:
            assert (member.refused, messages) == ("", [])
            assert time.monotonic() < until
            registry_.finished(0.1)


def test_without_a_scheduler_the_error_gives_the_command_to_start_one() -> None:
    with pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9 .*dask scheduler"):
        connected("tcp://127.0.0.1:9", lambda _text: None, wait_s=0.3)


def test_an_invalid_cluster_is_refused() -> None:
    with pytest.raises(ClusterError, match="invalid cluster 'somewhere'; use tcp://scheduler:8786"):
        executor_for("somewhere")
