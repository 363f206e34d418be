"""The workers of a cluster: who is here, who may work, what each still needs, and calls to one of them.

A worker is asked what it runs before anything else; one of another build is refused by name. Whom a task is given to,
`cluster` decides; each call goes to one worker, so that nobody who was not asked ever runs one.

The scheduler need not know Dumbbell: a call is `pickle.loads` of bytes, which only the worker unpacks.
"""

import itertools
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
from dumbbell.sweeps import hand
from dumbbell.sweeps.build import BUILD, Build, difference, remarks
from dumbbell.sweeps.identity import reckons_alike
from dumbbell.sweeps.outfit import Outfit
from dumbbell.sweeps.tools import TOOLS, Tool, tools, unlike

__all__ = ["AwayError", "DiedError", "Fleet", "Member", "connected"]

LOOK_S = 0.5
"""Between two looks at who is here."""
ANSWER_S = 30.0
"""How long a scheduler may take to answer."""
RESULT_S = 5.0
"""How long a finished batch's rows, some kilobytes, may take to come; the worker that holds them may just have died."""
CONNECT_S = 10.0
"""How long a scheduler may take to be there at all."""
DISMISS_S = 5.0
"""How long taking leave may take."""
SETTLE_S = 3.0
"""When all who are here are refused, others may still be on their way."""
CARRIERS = 2
"""Kernels on their way at once: each is megabytes that pass the scheduler."""
NEVER = (CommClosedError, OSError, TimeoutError)


class AwayError(Exception):
    """The answer got lost, or the worker; the call may be made again."""


class DiedError(Exception):
    """The worker ended while it was called."""


@dataclass(eq=False)
class Member:
    """One process that works."""

    address: str
    home: str
    """Its own folder, which no process before it had: an address may be used again."""
    threads: int
    tools: Mapping[str, Tool] = field(default_factory=dict)
    """Programs of the kernel engine that its machine has."""
    is_alike: bool = False
    """Does it reckon with what this machine has, so that its rows may stand in the cache? `tools` come beside."""
    refused: str = ""
    """Why it gets no task."""
    accepted: bool = False
    missing: deque[str] = field(default_factory=deque)
    """Keys of kernels that it still needs."""
    outfits: set[str] = field(default_factory=set)
    """Keys of those that it holds."""
    load: int = 0
    """Batches that it has."""
    alone: bool = False
    """Its only batch is a task that may have ended a worker."""


class Fleet:
    """Everybody at one scheduler."""

    def __init__(self, client: Client, where: str, told: Callable[[str], None], patience_s: float | None) -> None:
        """`told` hears what people should know; `patience_s` is how long nobody may be ready, None for ever."""
        self.client = client
        self.where = where
        self.told = told
        self.patience_s = patience_s
        self.members: dict[tuple[str, str], Member] = {}
        self.wanted: Outfit | None = None
        self.key = ""
        self.allowed_failures: int = config.get("distributed.scheduler.allowed-failures", 3)
        """A task that ended so many workers, the last one alone, has failed; Dask's own setting."""
        self._errands: dict[str, tuple[Future, Member, Callable[[Any], None], Callable[[], None]]] = {}
        """Calls of this class's own: whose, what is done with the answer, and what makes the call again."""
        self._done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._carrying: dict[str, Member] = {}
        self._looked_s = float("-inf")
        self._alone_since_s = time.monotonic()
        self._ever = False

    def outfit(self, outfit: Outfit, key: str) -> None:
        """What everybody needs from now on; `key` is nobody else's."""
        self.wanted, self.key = outfit, key
        self._alone_since_s = time.monotonic()
        for member in self.members.values():
            self.prepare(member)

    @property
    def ready(self) -> list[Member]:
        """Those who may work."""
        return [member for member in self.members.values() if self.key in member.outfits]

    def look(self) -> list[Member]:
        """Who left since the last look. Raises `ClusterError` when there is nobody to wait for any more."""
        now_s = time.monotonic()
        if now_s - self._looked_s < LOOK_S:
            return []
        here = {(told["local_directory"], address): told for address, told in self._workers().items()}
        self._looked_s = time.monotonic()
        left = [self.members.pop(who) for who in [*self.members] if who not in here]
        for member in left:
            self._forget(member)
        for (home, address), told in here.items():
            if (home, address) not in self.members:
                member = self.members[home, address] = Member(address, home, told["nthreads"])
                self._errand(member, partial(self._introduced, member), hand.introduce)
        self._judge_patience()
        return left

    def prepare(self, member: Member) -> None:
        """Give a worker what it lacks of the outfit that is wanted."""
        if not member.accepted or self.wanted is None or self.key in member.outfits:
            return
        absent = set(TOOLS) - set(member.tools)
        if absent and "kernel" in self.wanted.needs:
            self.refuse(member, f"it has no {' and no '.join(sorted(absent))}; install iproute2 on its machine")
        elif "kernel" in self.wanted.needs and (other := unlike(tools(), member.tools)):
            self.refuse(member, f"it has {other}; install the same iproute2 on its machine, and start the worker again")
        elif self.wanted.kernels:
            wanted = {each.key: (each.name, each.hashes) for each in self.wanted.kernels.values()}
            self._errand(member, partial(self._lacks, member), hand.lacking, wanted)
        else:
            self._equip(member)

    def call(self, member: Member, function: Callable[..., Any], *arguments: Any) -> Future:
        """Let this worker, and no other, call a function; its end comes out of `finished`."""
        future = self.client.submit(
            pickle.loads, pickle.dumps(_Call(function, arguments)), workers=[member.address],
            allow_other_workers=False, pure=False, key=f"{function.__name__}-{next(_NUMBERS)}-{self.client.id}",
        )  # fmt: skip
        future.add_done_callback(self._done.put)
        return future

    def finished(self, wait_s: float) -> list[Future]:
        """Calls that ended, but for this class's own; waits for the first one."""
        ended = []
        try:
            ended.append(self._done.get(timeout=wait_s))
            while True:
                ended.append(self._done.get_nowait())
        except queue.Empty:
            pass
        others = [future for future in ended if future.key not in self._errands]
        for future in ended:
            if future.key in self._errands:
                _, member, then, again = self._errands.pop(future.key)
                self._answered(member, future, then, again)
        return others

    def outcome(self, future: Future) -> Any:
        """What a call returned; the error that it raised, or that kept it from being called, as a value."""
        try:
            return future.result(timeout=RESULT_S)
        except KilledWorker as error:
            return DiedError(str(error))
        except (CancelledError, *NEVER) as error:
            self._looked_s = float("-inf")
            return AwayError(str(error))
        except Exception as error:  # Whatever went wrong there.
            return error

    def refuse(self, member: Member, why: str) -> None:
        """It gets no task from now on."""
        member.refused, member.accepted = why, False
        member.outfits.clear()
        self.told(f"worker {member.address} gets no runs: {why}")

    def dismiss(self, key: str) -> None:
        """Everybody forgets this outfit, and what still runs of it ends."""
        addresses = [member.address for member in self.members.values() if key in member.outfits]
        for member in self.members.values():
            member.outfits.discard(key)
        if addresses and self.client.status == "running":
            try:
                # Not as a task, which would wait for the one that runs.
                self.client.sync(
                    self.client._run, pickle.loads, pickle.dumps(_Call(hand.dismiss, (key,))), workers=addresses,
                    on_error="ignore", callback_timeout=DISMISS_S,
                )  # fmt: skip
            except NEVER:
                return

    def _workers(self) -> dict[str, Any]:
        if self.client.status == "running":
            try:
                asked: dict[str, Any] = self.client.sync(_identity, self.client, callback_timeout=ANSWER_S)
            except NEVER:
                pass
            else:
                return asked["workers"]  # type: ignore[no-any-return]
        raise ClusterLost(f"the scheduler at {self.where} is gone; {_KEPT}")

    def _errand(
        self, member: Member, then: Callable[[Any], None], function: Callable[..., Any], *arguments: Any
    ) -> None:
        future = self.call(member, function, *arguments)
        again = partial(self._errand, member, then, function, *arguments)
        self._errands[future.key] = future, member, then, again

    def _answered(self, member: Member, future: Future, then: Callable[[Any], None], again: Callable[[], None]) -> None:
        answer = self.outcome(future)
        if member not in self.members.values():
            return
        if isinstance(answer, AwayError | DiedError):
            # Its answer is not its fault. One that died is missed at the next look, which ends this call too.
            again()
        elif isinstance(answer, ModuleNotFoundError | AttributeError):
            self.refuse(member, f"it has no Dumbbell of this build ({answer}); {_RIGHT}")
        elif isinstance(answer, Exception):
            self.refuse(member, f"{type(answer).__name__}: {answer}")
        else:
            then(answer)

    def _introduced(self, member: Member, answer: tuple[Build, dict[str, Tool]]) -> None:
        build, held = answer
        if other := difference(BUILD, build):
            self.refuse(member, f"it runs another build: {other}; {_RIGHT}")
            return
        if noted := remarks(BUILD, build):
            self.told(f"worker {member.address} has {noted}; results may differ in the last digits")
        member.accepted, member.tools, member.is_alike = True, held, reckons_alike(build)
        self.prepare(member)

    def _lacks(self, member: Member, keys: list[str]) -> None:
        member.missing = deque(keys)
        self._carry_on()
        if not keys:
            self._equip(member)

    def _carry_on(self) -> None:
        """Let the next ones have their kernels."""
        for member in self.members.values():
            if member.missing and len(self._carrying) < CARRIERS and member not in self._carrying.values():
                key = member.missing[0]
                assert self.wanted is not None
                luggage = next(each for each in self.wanted.kernels.values() if each.key == key)
                self._carrying[f"{member.home} {key}"] = member
                self._errand(member, partial(self._carried, member), hand.keep_kernel, luggage)

    def _carried(self, member: Member, _answer: None) -> None:
        self._carrying = {key: each for key, each in self._carrying.items() if each is not member}
        member.missing.popleft()
        if not member.missing:
            self._equip(member)
        self._carry_on()

    def _equip(self, member: Member) -> None:
        outfit, key = self.wanted, self.key
        assert outfit is not None
        kernels = {name: (each.key, each.name, each.hashes) for name, each in outfit.kernels.items()}
        then = partial(self._equipped, member, key)
        self._errand(member, then, hand.equip, key, outfit.base, outfit.files, kernels)

    def _equipped(self, member: Member, key: str, _answer: None) -> None:
        member.outfits.add(key)
        self._ever = True

    def _forget(self, member: Member) -> None:
        """It is gone: nothing of it is waited for. Reported only here, and also when it had no batch just then."""
        if not member.refused:
            self.told(f"worker {member.address} is gone; its runs go to others")
        for key in [key for key, (_, whose, *_) in self._errands.items() if whose is member]:
            self._errands.pop(key)[0].cancel(reason="its worker is gone")
        self._carrying = {key: each for key, each in self._carrying.items() if each is not member}
        self._carry_on()

    def _judge_patience(self) -> None:
        if self.ready:
            self._alone_since_s = time.monotonic()
            return
        alone_s = time.monotonic() - self._alone_since_s
        everybody = self.members.values()
        if everybody and all(member.refused for member in everybody) and alone_s > SETTLE_S and not self._ever:
            each = "".join(f"\n  {member.address}: {member.refused}" for member in everybody)
            raise ClusterError(f"no worker at {self.where} can be used:{each}")
        if self.patience_s is None or alone_s < self.patience_s:
            return
        if self._ever:
            raise ClusterLost(f"for {self.patience_s:g} s no worker has been left at {self.where}; {_KEPT}")
        raise ClusterError(
            f"for {self.patience_s:g} s no worker has come to {self.where}; start one with: dask worker {self.where}"
        )


class _Call:
    """A call that happens where it is unpacked."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.function = function
        self.arguments = arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.function, self.arguments


def connected(address: str, told: Callable[[str], None], wait_s: float = CONNECT_S) -> Client:
    """A client of the scheduler at this address. Raises `ClusterError`."""
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
            told(" ".join(str(warning.message).split()))
    return client


async def _identity(client: Client) -> Any:
    return await client.scheduler.identity(n_workers=-1)


_NUMBERS = itertools.count()
_RIGHT = "install the same Dumbbell there, and start the worker again"
_KEPT = "the rows that came are kept: go on with --resume"
