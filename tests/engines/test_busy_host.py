"""The engine `host` while real-time programs take every core: a flow that waits for the agent makes the run invalid."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dumbbell.engines import HostEngine, Request
from dumbbell.engines.base import Permissions
from dumbbell.results import result
from dumbbell.spec import parse
from engines.on_host import host_engine_error, plain

HOG = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
print("ready", flush=True)
began = float(sys.stdin.readline())
for burst in range(2):
    while time.monotonic() < began + burst: time.sleep(0.001)
    while time.monotonic() < began + burst + 0.8: pass
"""
"""Takes one core, before the agent (priority 1), for 0.8 s of each of two seconds, and ends."""
START_S = 1.0
"""When the hogs begin: after the run's setup."""


@pytest.fixture
def hogs(as_root: None) -> Iterator[list[subprocess.Popen[str]]]:
    del as_root
    if reason := host_engine_error():
        pytest.skip(reason)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", HOG, str(core)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for core in sorted(os.sched_getaffinity(0))
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@pytest.mark.slow
def test_a_flow_that_waits_for_the_agent_makes_a_run_invalid(hogs: list[subprocess.Popen[str]], tmp_path: Path) -> None:
    """Samples are a second apart, and no timer is that late: only the flow shows that the agent was."""
    started: list[float] = []

    def progress(passed_s: float) -> None:
        if passed_s > START_S and not started:
            started.append(time.monotonic())
            for hog in hogs:
                assert hog.stdin is not None
                hog.stdin.write(f"{started[0]}\n")
                hog.stdin.flush()

    text = plain("4s").replace("[path]", 'sample = "1s"\n[path]', 1)
    case = parse(text, Path("experiment.toml"))[0]
    run = result.load(HostEngine(Permissions(host=True)).run(Request("x", case, 1, tmp_path / "run"), progress))
    assert started
    assert not run.manifest.valid
    assert [reason for reason in run.manifest.invalid if reason.startswith("flow 'cubic' waited for the agent in")]
    assert run.manifest.machine["late_p99_s"] > 0.1
    # More timers than samples and probes: 400 heartbeats.
    assert run.manifest.machine["timers"] > 300
