"""Work that ends well at Ctrl-C."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from dumbbell.signals import ENDING

__all__ = ["in_loop"]

T = TypeVar("T")


def in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run it; Ctrl-C and what else asks a command to end cancel it, so that it can end in its own way."""

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)
        for number in ENDING:
            if signal.getsignal(number) != signal.SIG_IGN:
                loop.add_signal_handler(number, task.cancel)
        return await task

    return asyncio.run(watched())
