"""The workbench's jobs: progress, order, cancellation."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dumbbell.errors import EngineError
from dumbbell.web.handlers import Job, Jobs, Limits, TooManyJobs
from web.serving import TIMEOUT_S


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    """One job runs at a time, two may wait, two are kept."""
    queue = Jobs(Limits(jobs_waiting=2, jobs_kept=2), at_once=1)
    yield queue
    queue.close()


def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.005)


class BlockingWork:
    """Work that runs until it is released or cancelled."""

    def __init__(self) -> None:
        self.started, self.release, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, report: Callable[[float], None]) -> str:
        self.started.set()
        try:
            while not self.release.is_set():
                report(1.0)
                time.sleep(0.002)
        finally:
            self.ended.set()
        return "result"


def test_a_job_reports_its_progress_and_its_result(jobs: Jobs) -> None:
    work = BlockingWork()
    job = Job(work, 4.0)
    jobs.submit(job)
    wait_until(lambda: job.seconds == 1.0)
    assert (job.state, job.fraction_done, job.finished) == ("running", 0.25, False)
    work.release.set()
    wait_until(lambda: job.finished)
    assert (job.state, job.result) == ("done", "result")
    assert jobs.get(job.name) is job


def test_jobs_wait_in_order_and_too_many_are_refused(jobs: Jobs) -> None:
    first, others = BlockingWork(), [Job(BlockingWork(), 1.0) for _ in range(2)]
    jobs.submit(Job(first, 1.0))
    assert first.started.wait(TIMEOUT_S)
    for job in others:
        jobs.submit(job)
    assert [job.state for job in others] == ["waiting", "waiting"]
    assert [jobs.queue_position(job) for job in others] == [0, 1]
    with pytest.raises(TooManyJobs):
        jobs.submit(Job(BlockingWork(), 1.0))
    jobs.cancel(others[0])
    assert others[0].state == "cancelled"
    assert jobs.queue_position(others[1]) == 0


def test_cancelling_a_running_job_stops_its_work(jobs: Jobs) -> None:
    work = BlockingWork()
    job = Job(work, 1.0)
    jobs.submit(job)
    assert work.started.wait(TIMEOUT_S)
    jobs.cancel(job)
    assert work.ended.wait(TIMEOUT_S)
    wait_until(lambda: job.finished)
    assert job.state == "cancelled"
    assert job.result is None


def test_a_waiting_job_never_starts_after_it_was_cancelled(jobs: Jobs) -> None:
    first, second = BlockingWork(), BlockingWork()
    jobs.submit(Job(first, 1.0))
    waiting = Job(second, 1.0)
    jobs.submit(waiting)
    jobs.cancel(waiting)
    first.release.set()
    last = Job(lambda _report: 7, 1.0)
    jobs.submit(last)
    wait_until(lambda: last.finished)
    assert not second.started.is_set()


def test_a_job_keeps_the_error_of_its_work(jobs: Jobs) -> None:
    def work(_report: Callable[[float], None]) -> Any:
        raise EngineError("the guest crashed")

    job = Job(work, 1.0)
    jobs.submit(job)
    wait_until(lambda: job.finished)
    assert job.state == "failed"
    assert str(job.error) == "the guest crashed"


def test_an_internal_error_ends_its_own_job_only(jobs: Jobs) -> None:
    bad, good = Job(lambda _report: 1 // 0, 1.0), Job(lambda _report: 1, 1.0)
    jobs.submit(bad)
    jobs.submit(good)
    wait_until(lambda: good.finished)
    assert bad.state == "failed"
    assert "ZeroDivisionError" in str(bad.error)
    assert good.result == 1


def test_old_results_are_discarded_and_the_newest_kept(jobs: Jobs) -> None:
    discarded: list[int] = []
    submitted = []
    for number in range(5):
        job = Job(lambda _report: None, 1.0, discard=lambda number=number: discarded.append(number))  # type: ignore[misc]
        jobs.submit(job)
        wait_until(lambda job=job: job.finished)  # type: ignore[misc]
        submitted.append(job)
    assert discarded == [0, 1]
    assert [jobs.get(job.name) is not None for job in submitted] == [False, False, True, True, True]


def test_a_job_whose_progress_no_page_reads_ends() -> None:
    jobs = Jobs(Limits(unread_s=0.05), at_once=1)
    work = BlockingWork()
    job = Job(work, 1.0)
    jobs.submit(job)
    assert work.ended.wait(TIMEOUT_S)
    wait_until(lambda: job.finished)
    assert job.state == "cancelled"
    jobs.close()


def test_closing_ends_running_jobs_and_starts_none() -> None:
    jobs = Jobs(Limits(), at_once=1)
    work, other = BlockingWork(), BlockingWork()
    jobs.submit(Job(work, 1.0))
    assert work.started.wait(TIMEOUT_S)
    jobs.submit(Job(other, 1.0))
    jobs.close()
    assert work.ended.is_set()
    assert not other.started.is_set()
    with pytest.raises(TooManyJobs):
        jobs.submit(Job(BlockingWork(), 1.0))
