"""Run a coroutine that signals cancel."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from dumbbell.signals import ENDING

__all__ = ["run_until_signal"]

T = TypeVar("T")


def run_until_signal(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine; Ctrl-C and other terminating signals cancel it, so that it can clean up."""

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)
        for number in ENDING:
            if signal.getsignal(number) != signal.SIG_IGN:
                loop.add_signal_handler(number, task.cancel)
        return await task

    return asyncio.run(watched())
