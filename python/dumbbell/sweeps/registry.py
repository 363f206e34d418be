"""Registry of a cluster's workers: their state, their missing kernels, and calls to single workers.

The first call requests a worker's build; workers of another build are refused with a message. `cluster` assigns
tasks. Every call is pinned to one worker.

The scheduler doesn't need Dumbbell installed: a call is `pickle.loads` of bytes that only the worker unpickles.
"""

import itertools
import logging
import pickle
import queue
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dask import config
from distributed import CancelledError, Client, Future, KilledWorker
from distributed.comm.core import CommClosedError

from dumbbell.errors import ClusterError, ClusterLost
from dumbbell.sweeps import cluster_worker
from dumbbell.sweeps.cluster_worker import WorkerPayload
from dumbbell.sweeps.identity import BUILD, TOOLS, Build, Tool, computes_identically, difference, remarks, tools, unlike

__all__ = ["AnswerLostError", "ClusterWorker", "WorkerDiedError", "WorkerRegistry", "connected"]

POLL_S = 0.5
"""Interval between polls of the scheduler's worker list."""
ANSWER_S = 30.0
"""Timeout of a query to the scheduler."""
RESULT_S = 5.0
"""Timeout for fetching a finished batch's rows (some kilobytes); the worker that holds them may have just died."""
CONNECT_S = 10.0
"""Timeout for connecting to the scheduler."""
DISMISS_S = 5.0
"""Timeout for telling workers to drop a sweep."""
SETTLE_S = 3.0
"""If all workers are refused, wait this long for others to connect."""
MOST_SENDING = 2
"""Maximum concurrent kernel transfers; each sends megabytes through the scheduler."""
CONNECTION_ERRORS = (CommClosedError, OSError, TimeoutError)


class AnswerLostError(Exception):
    """The answer or the worker was lost; the call may be repeated."""


class WorkerDiedError(Exception):
    """The worker died during the call."""


@dataclass(eq=False)
class ClusterWorker:
    """One worker process."""

    address: str
    home: str
    """Its scratch folder, which is unique, unlike the address, which may be reused."""
    threads: int
    tools: Mapping[str, Tool] = field(default_factory=dict)
    """The iproute2 programs on its host."""
    is_alike: bool = False
    """Has it the same build and libraries as this process, so that the cache may keep its rows? See also `tools`."""
    refused: str = ""
    """Why it gets no tasks."""
    accepted: bool = False
    missing: deque[str] = field(default_factory=deque)
    """Keys of kernels that it still needs."""
    payloads: set[str] = field(default_factory=set)
    """Keys of the sweeps that it is prepared for."""
    load: int = 0
    """Batches assigned to it."""
    alone: bool = False
    """Its only batch is a task that may have killed a worker."""


class WorkerRegistry:
    """All workers of one scheduler."""

    def __init__(self, client: Client, where: str, warn: Callable[[str], None], timeout_s: float | None) -> None:
        """`warn` gets messages for the user; `timeout_s` limits the time without a ready worker, None: no limit."""
        self.client = client
        self.where = where
        self.warn = warn
        self.timeout_s = timeout_s
        self.members: dict[tuple[str, str], ClusterWorker] = {}
        self.payload: WorkerPayload | None = None
        self.key = ""
        self.allowed_failures: int = config.get("distributed.scheduler.allowed-failures", 3)
        """A task fails after killing this many workers, the last time running alone; Dask's setting."""
        self._pending_calls: dict[str, tuple[Future, ClusterWorker, Callable[[Any], None], Callable[[], None]]] = {}
        """Calls made by this class: future, worker, handler of the answer, and a function that repeats the call."""
        self._done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._sending: dict[str, ClusterWorker] = {}
        self._polled_s = float("-inf")
        self._no_worker_since_s = time.monotonic()
        self._was_ready = False

    def set_payload(self, payload: WorkerPayload, key: str) -> None:
        """Prepare all workers, current and future, for this sweep; `key` is unique to it."""
        self.payload, self.key = payload, key
        self._no_worker_since_s = time.monotonic()
        for member in self.members.values():
            self.prepare(member)

    @property
    def ready(self) -> list[ClusterWorker]:
        """The workers that are prepared for the sweep."""
        return [member for member in self.members.values() if self.key in member.payloads]

    def poll(self) -> list[ClusterWorker]:
        """Update the worker list; returns workers that left since the last poll.

        Raises `ClusterError` when no worker is ready within the timeout.
        """
        now_s = time.monotonic()
        if now_s - self._polled_s < POLL_S:
            return []
        present = {(entry["local_directory"], address): entry for address, entry in self._workers().items()}
        self._polled_s = time.monotonic()
        left = [self.members.pop(who) for who in [*self.members] if who not in present]
        for member in left:
            self._forget(member)
        for (home, address), entry in present.items():
            if (home, address) not in self.members:
                member = self.members[home, address] = ClusterWorker(address, home, entry["nthreads"])
                self._call_worker(member, partial(self._on_description, member), cluster_worker.describe)
        self._check_timeout()
        return left

    def prepare(self, member: ClusterWorker) -> None:
        """Send a worker the kernels and files that it needs for the current sweep."""
        if not member.accepted or self.payload is None or self.key in member.payloads:
            return
        absent = set(TOOLS) - set(member.tools)
        if absent and self.payload.uses_iproute2:
            self.refuse(member, f"it has no {' and no '.join(sorted(absent))}; install iproute2 on its host")
        elif self.payload.uses_iproute2 and (other := unlike(tools(), member.tools)):
            self.refuse(member, f"it has {other}; install the same iproute2 on its host and restart the worker")
        elif self.payload.kernels:
            needed = {each.key: (each.name, each.hashes) for each in self.payload.kernels.values()}
            self._call_worker(member, partial(self._on_missing_kernels, member), cluster_worker.missing_kernels, needed)
        else:
            self._equip(member)

    def call(self, member: ClusterWorker, function: Callable[..., Any], *arguments: Any) -> Future:
        """Call a function on this worker only; `finished` returns the future when the call ends."""
        future = self.client.submit(
            pickle.loads, pickle.dumps(_Call(function, arguments)), workers=[member.address],
            allow_other_workers=False, pure=False, key=f"{function.__name__}-{next(_NUMBERS)}-{self.client.id}",
        )  # fmt: skip
        future.add_done_callback(self._done.put)
        return future

    def finished(self, wait_s: float) -> list[Future]:
        """Futures of calls that ended, except those made by this class; waits up to `wait_s` for the first."""
        ended = []
        try:
            ended.append(self._done.get(timeout=wait_s))
            while True:
                ended.append(self._done.get_nowait())
        except queue.Empty:
            pass
        others = [future for future in ended if future.key not in self._pending_calls]
        for future in ended:
            if future.key in self._pending_calls:
                _, member, then, repeat = self._pending_calls.pop(future.key)
                self._on_answer(member, future, then, repeat)
        return others

    def outcome(self, future: Future) -> Any:
        """The result of a call, or the exception that it or its transport raised, as a value."""
        try:
            return future.result(timeout=RESULT_S)
        except KilledWorker as error:
            return WorkerDiedError(str(error))
        except (CancelledError, *CONNECTION_ERRORS) as error:
            self._polled_s = float("-inf")
            return AnswerLostError(str(error))
        except Exception as error:  # Any error on the worker.
            return error

    def refuse(self, member: ClusterWorker, why: str) -> None:
        """Exclude a worker from now on."""
        member.refused, member.accepted = why, False
        member.payloads.clear()
        self.warn(f"worker {member.address} gets no runs: {why}")

    def dismiss(self, key: str) -> None:
        """Make all workers drop this sweep and abort its runs; the key can't be used afterwards."""
        # Also those that haven't confirmed the payload: it may be on its way.
        addresses = [member.address for member in self.members.values()]
        for member in self.members.values():
            member.payloads.discard(key)
        if addresses and self.client.status == "running":
            try:
                # Not as a task, which would queue behind the running one.
                self.client.sync(
                    self.client._run, pickle.loads, pickle.dumps(_Call(cluster_worker.dismiss, (key,))),
                    workers=addresses, on_error="ignore", callback_timeout=DISMISS_S,
                )  # fmt: skip
            except CONNECTION_ERRORS:
                return

    def _workers(self) -> dict[str, Any]:
        if self.client.status == "running":
            try:
                answer: dict[str, Any] = self.client.sync(_identity, self.client, callback_timeout=ANSWER_S)
            except CONNECTION_ERRORS:
                pass
            else:
                return answer["workers"]  # type: ignore[no-any-return]
        raise ClusterLost(f"the connection to the scheduler at {self.where} was lost; {_KEPT}")

    def _call_worker(
        self, member: ClusterWorker, then: Callable[[Any], None], function: Callable[..., Any], *arguments: Any
    ) -> None:
        future = self.call(member, function, *arguments)
        repeat = partial(self._call_worker, member, then, function, *arguments)
        self._pending_calls[future.key] = future, member, then, repeat

    def _on_answer(
        self, member: ClusterWorker, future: Future, then: Callable[[Any], None], repeat: Callable[[], None]
    ) -> None:
        answer = self.outcome(future)
        if member not in self.members.values():
            return
        if isinstance(answer, AnswerLostError | WorkerDiedError):
            # The worker is not at fault. If it died, the next poll removes it, and this call with it.
            repeat()
        elif isinstance(answer, ModuleNotFoundError | AttributeError):
            self.refuse(member, f"it has no Dumbbell of this build ({answer}); {_RIGHT}")
        elif isinstance(answer, Exception):
            self.refuse(member, f"{type(answer).__name__}: {answer}")
        else:
            then(answer)

    def _on_description(self, member: ClusterWorker, answer: tuple[Build, dict[str, Tool]]) -> None:
        build, worker_tools = answer
        if other := difference(BUILD, build):
            self.refuse(member, f"it runs another build: {other}; {_RIGHT}")
            return
        if noted := remarks(BUILD, build):
            self.warn(f"worker {member.address} has {noted}; results may differ in the last digits")
        member.accepted, member.tools, member.is_alike = True, worker_tools, computes_identically(build)
        self.prepare(member)

    def _on_missing_kernels(self, member: ClusterWorker, keys: list[str]) -> None:
        member.missing = deque(keys)
        self._send_next_bundle()
        if not keys:
            self._equip(member)

    def _send_next_bundle(self) -> None:
        """Start the next kernel transfers."""
        for member in self.members.values():
            if member.missing and len(self._sending) < MOST_SENDING and member not in self._sending.values():
                key = member.missing[0]
                assert self.payload is not None
                bundle = next(each for each in self.payload.kernels.values() if each.key == key)
                self._sending[f"{member.home} {key}"] = member
                self._call_worker(member, partial(self._on_bundle_stored, member), cluster_worker.keep_kernel, bundle)

    def _on_bundle_stored(self, member: ClusterWorker, _answer: None) -> None:
        self._sending = {key: each for key, each in self._sending.items() if each is not member}
        member.missing.popleft()
        if not member.missing:
            self._equip(member)
        self._send_next_bundle()

    def _equip(self, member: ClusterWorker) -> None:
        payload, key = self.payload, self.key
        assert payload is not None
        kernels = {name: (each.key, each.name, each.hashes) for name, each in payload.kernels.items()}
        then = partial(self._on_equipped, member, key)
        self._call_worker(member, then, cluster_worker.equip, key, payload.base, payload.files, kernels, member.home)

    def _on_equipped(self, member: ClusterWorker, key: str, _answer: None) -> None:
        member.payloads.add(key)
        self._was_ready = True

    def _forget(self, member: ClusterWorker) -> None:
        """Remove a worker that left, and its pending calls."""
        if not member.refused:
            self.warn(f"worker {member.address} disconnected; its runs go to other workers")
        for key in [key for key, (_, whose, *_) in self._pending_calls.items() if whose is member]:
            self._pending_calls.pop(key)[0].cancel(reason="its worker disconnected")
        self._sending = {key: each for key, each in self._sending.items() if each is not member}
        self._send_next_bundle()

    def _check_timeout(self) -> None:
        if self.ready:
            self._no_worker_since_s = time.monotonic()
            return
        without_worker_s = time.monotonic() - self._no_worker_since_s
        members = self.members.values()
        if (
            members
            and all(member.refused for member in members)
            and without_worker_s > SETTLE_S
            and not self._was_ready
        ):
            each = "".join(f"\n  {member.address}: {member.refused}" for member in members)
            raise ClusterError(f"no usable worker at {self.where}:{each}")
        if self.timeout_s is None or without_worker_s < self.timeout_s:
            return
        if self._was_ready:
            raise ClusterLost(f"no worker at {self.where} for {self.timeout_s:g} s; {_KEPT}")
        raise ClusterError(
            f"no worker connected to {self.where} within {self.timeout_s:g} s; start one with: dask worker {self.where}"
        )


class _Call:
    """A function call that runs when it is unpickled."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.function = function
        self.arguments = arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.function, self.arguments


def connected(address: str, warn: Callable[[str], None], wait_s: float = CONNECT_S) -> Client:
    """Connect to the scheduler at this address. Raises `ClusterError`."""
    # The client logs a lost scheduler with a traceback; `ClusterLost` says it in a sentence.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        try:
            client = Client(address, timeout=f"{wait_s:g}s", set_as_default=False)
        except (OSError, TimeoutError, ValueError, ImportError) as error:
            raise ClusterError(
                f"no Dask scheduler answers at {address} ({error}); start one with: dask scheduler"
            ) from None
    for warning in noted:
        if "Mismatched" in str(warning.message):
            warn(" ".join(str(warning.message).split()))
    return client


async def _identity(client: Client) -> Any:
    return await client.scheduler.identity(n_workers=-1)


_NUMBERS = itertools.count()
_RIGHT = "install the same Dumbbell there and restart the worker"
_KEPT = "completed rows are kept; continue with --resume"
