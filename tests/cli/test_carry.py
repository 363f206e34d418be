"""Parallel runs of one command, and an interrupt while they start."""

import signal
import threading
import time
from pathlib import Path

import pytest

from dumbbell.cli.runs import execute_runs
from dumbbell.cli.streams import Interrupted
from dumbbell.engines import Request
from dumbbell.engines.base import Progress
from dumbbell.engines.sim import Simulator
from dumbbell.publish import staged
from dumbbell.spec import find, load

HOURS = ["duration=100000s", "sample=1s"]
MOMENT_S = 1


class Late(Simulator):
    """Starts when the folder has been removed, or after MOMENT_S."""

    def __init__(self) -> None:
        self.called = threading.Event()

    def run(self, request: Request, progress: Progress) -> Path:
        self.called.set()
        until = time.monotonic() + MOMENT_S
        while request.out.parent.exists() and time.monotonic() < until:
            time.sleep(0.01)
        return super().run(request, progress)


@pytest.mark.slow(keep="1")
@pytest.mark.parametrize("thread", [1, 2])
def test_an_interrupt_while_a_thread_starts_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thread: int
) -> None:
    """The pool has not registered that thread yet; the thread must not write into a folder that has been removed."""
    engine, started = Late(), list[threading.Thread]()
    begin = threading.Thread.start

    def interrupted(self: threading.Thread) -> None:
        begin(self)
        started.append(self)
        if len(started) == thread:
            engine.called.wait(MOMENT_S)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    case = load(find("cyclic"), HOURS)[0]
    with pytest.raises(Interrupted), staged(tmp_path / "run") as folder:
        execute_runs([(engine, Request("cyclic", case, n, folder / f"{n}", "again")) for n in (1, 2, 3)], 2)
    for each in started:
        each.join()
    assert len(started) == thread
    assert list(tmp_path.iterdir()) == []
