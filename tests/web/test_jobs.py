"""The workbench's jobs: progress, order, cancellation."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dumbbell.errors import EngineError
from dumbbell.web.jobs import Job, Jobs, TooMany
from dumbbell.web.page_limits import Limits
from web.serving import PATIENCE_S


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    """One at a time, two may wait, two are kept."""
    made = Jobs(Limits(jobs_waiting=2, jobs_kept=2), at_once=1)
    yield made
    made.close()


def until(true: Callable[[], bool]) -> None:
    while not true():
        time.sleep(0.005)


class Turning:
    """Work that goes on until it is let go or cancelled, and says which."""

    def __init__(self) -> None:
        self.began, self.go, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, told: Callable[[float], None]) -> str:
        self.began.set()
        try:
            while not self.go.is_set():
                told(1.0)
                time.sleep(0.002)
        finally:
            self.ended.set()
        return "came out"


def test_a_job_tells_how_far_it_is_and_what_came_out(jobs: Jobs) -> None:
    work = Turning()
    job = Job(work, 4.0)
    jobs.begin(job)
    until(lambda: job.seconds == 1.0)
    assert (job.state, job.share, job.over) == ("running", 0.25, False)
    work.go.set()
    until(lambda: job.over)
    assert (job.state, job.result) == ("done", "came out")
    assert jobs.called(job.name) is job


def test_others_wait_in_their_order_and_too_many_are_refused(jobs: Jobs) -> None:
    first, others = Turning(), [Job(Turning(), 1.0) for _ in range(2)]
    jobs.begin(Job(first, 1.0))
    assert first.began.wait(PATIENCE_S)
    for job in others:
        jobs.begin(job)
    assert [job.state for job in others] == ["waiting", "waiting"]
    assert [jobs.before(job) for job in others] == [0, 1]
    with pytest.raises(TooMany):
        jobs.begin(Job(Turning(), 1.0))
    jobs.cancel(others[0])
    assert others[0].state == "cancelled"
    assert jobs.before(others[1]) == 0


def test_a_cancelled_job_leaves_its_work_at_once(jobs: Jobs) -> None:
    work = Turning()
    job = Job(work, 1.0)
    jobs.begin(job)
    assert work.began.wait(PATIENCE_S)
    jobs.cancel(job)
    assert work.ended.wait(PATIENCE_S)
    until(lambda: job.over)
    assert job.state == "cancelled"
    assert job.result is None


def test_a_job_that_waits_is_never_begun_once_it_is_cancelled(jobs: Jobs) -> None:
    first, second = Turning(), Turning()
    jobs.begin(Job(first, 1.0))
    waiting = Job(second, 1.0)
    jobs.begin(waiting)
    jobs.cancel(waiting)
    first.go.set()
    last = Job(lambda _told: 7, 1.0)
    jobs.begin(last)
    until(lambda: last.over)
    assert not second.began.is_set()


def test_an_error_is_what_the_job_ends_with(jobs: Jobs) -> None:
    def work(_told: Callable[[float], None]) -> Any:
        raise EngineError("the guest fell over")

    job = Job(work, 1.0)
    jobs.begin(job)
    until(lambda: job.over)
    assert job.state == "failed"
    assert str(job.error) == "the guest fell over"


def test_a_fault_of_our_own_ends_the_job_too_and_not_the_others(jobs: Jobs) -> None:
    bad, good = Job(lambda _told: 1 // 0, 1.0), Job(lambda _told: 1, 1.0)
    jobs.begin(bad)
    jobs.begin(good)
    until(lambda: good.over)
    assert bad.state == "failed"
    assert "ZeroDivisionError" in str(bad.error)
    assert good.result == 1


def test_old_results_are_forgotten_and_the_newest_kept(jobs: Jobs) -> None:
    gone: list[int] = []
    made = []
    for number in range(5):
        job = Job(lambda _told: None, 1.0, forget=lambda number=number: gone.append(number))  # type: ignore[misc]
        jobs.begin(job)
        until(lambda job=job: job.over)  # type: ignore[misc]
        made.append(job)
    assert gone == [0, 1]
    assert [jobs.called(job.name) is not None for job in made] == [False, False, True, True, True]


def test_a_job_that_nobody_listens_to_ends() -> None:
    jobs = Jobs(Limits(unheard_s=0.05), at_once=1)
    work = Turning()
    job = Job(work, 1.0)
    jobs.begin(job)
    assert work.ended.wait(PATIENCE_S)
    until(lambda: job.over)
    assert job.state == "cancelled"
    jobs.close()


def test_closing_ends_all_and_begins_none() -> None:
    jobs = Jobs(Limits(), at_once=1)
    work, other = Turning(), Turning()
    jobs.begin(Job(work, 1.0))
    assert work.began.wait(PATIENCE_S)
    jobs.begin(Job(other, 1.0))
    jobs.close()
    assert work.ended.is_set()
    assert not other.began.is_set()
    with pytest.raises(TooMany):
        jobs.begin(Job(Turning(), 1.0))
