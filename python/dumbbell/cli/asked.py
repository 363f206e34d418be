"""Options that are quantities, and work that ends well at Ctrl-C."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from dumbbell.errors import ExperimentError
from dumbbell.spec.units import Wrong

__all__ = ["in_loop", "quantity"]

T = TypeVar("T")


def quantity(option: str, text: str, reads: Callable[[object], T]) -> T:
    """An option's value. Raises `ExperimentError` naming the option."""
    try:
        return reads(text)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key=f"--{option}", value=text, right=wrong.right) from None


def in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run it; Ctrl-C and SIGTERM cancel it, so that it can end in its own way."""

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        return await task

    return asyncio.run(watched())
