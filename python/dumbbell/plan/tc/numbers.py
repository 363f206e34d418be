"""tc's units, roundings and ticks (iproute2 `tc/tc_core.c`, `lib/utils_math.c`)."""

from collections.abc import Collection, Mapping
from functools import lru_cache

from dumbbell.spec import units
from dumbbell.spec.units import Wrong

__all__ = [
    "ALWAYS",
    "MOST",
    "Options",
    "bytes_per_second",
    "chance",
    "count",
    "delay_ns",
    "first",
    "jiffies",
    "last",
    "micros",
    "size",
    "tick_ns",
    "ticks_for",
]

Options = Mapping[str, tuple[str, ...]]
"""What was written: each option with its arguments."""

ALWAYS = 2**32 - 1
"""A chance of 100 %, in netem's units."""
MOST = 2**32 - 1
TICK_NS = 64
"""What the kernel counts short times in (`PSCHED_SHIFT`)."""
JIFFY_US = 4_000
"""HZ 250."""
TICKS_PER_MICRO = 1000 / TICK_NS


# A sweep says the same few words in every run.


@lru_cache(maxsize=1024)
def bytes_per_second(word: str) -> int:
    """A rate as the kernel keeps it: whole bytes."""
    return units.rate_bps(word) // 8


def size(options: Options, *names: str, default: int = 0) -> int:
    """Bytes of the first of these options that was written, in the 32 bits that tc has for them."""
    word = first(options, *names)
    return default if word is None else _bytes(word)


def count(options: Options, *names: str, default: int = 0) -> int:
    """The same for a number."""
    word = first(options, *names)
    return default if word is None else _whole(word)


def first(options: Options, *names: str) -> str | None:
    """First argument of the first of these options that was written."""
    return next((options[name][0] for name in names if name in options), None)


def last(options: Options, words: Collection[str], default: str) -> str:
    """Of words that exclude each other the one that was written last."""
    return next((option for option in reversed(tuple(options)) if option in words), default)


@lru_cache(maxsize=1024)
def _bytes(word: str) -> int:
    return _small(units.tc_size_bytes(word), word)


@lru_cache(maxsize=1024)
def _whole(word: str) -> int:
    return _small(units.count(word), word)


def _small(number: int, word: str) -> int:
    if number > MOST:
        raise Wrong(f"a number that does not fit tc's 32 bits: '{word}'", f"at most {MOST}")
    return number


def chance(word: str) -> int:
    """A share in units of 2⁻³², rounded as tc rounds."""
    return round(float(word.removesuffix("%")) / 100 * ALWAYS)


@lru_cache(maxsize=1024)
def micros(word: str) -> int:
    """A time in whole microseconds: tc knows nothing shorter here."""
    if word.lower().endswith(("ns", "nsec", "nsecs")):
        raise Wrong(f"tc takes no time in nanoseconds here: '{word}'", "us, ms or s")
    return units.duration_ns(word) // 1000


def delay_ns(word: str) -> int:
    """A time that the kernel gets in ticks."""
    return tick_ns(micros(word))


def tick_ns(time_us: int) -> int:
    """Whole ticks of a time in microseconds, in nanoseconds."""
    return int(time_us * TICKS_PER_MICRO) * TICK_NS


def jiffies(time_us: int) -> int:
    """A time in whole jiffies, rounded up (`usecs_to_jiffies`)."""
    return -(-time_us // JIFFY_US)


def ticks_for(size_bytes: int, rate: int) -> int:
    """Ticks that so many bytes take (`tc_calc_xmittime`): whole microseconds first, then whole ticks."""
    return int(int(1e6 * (size_bytes / rate)) * TICKS_PER_MICRO)
