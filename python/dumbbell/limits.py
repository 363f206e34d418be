"""Every limit on what an input may take of this host: its name, its default, and why.

An input that needs more is refused before it runs, with the number. `DUMBBELL_LIMITS` in the environment raises or
lowers any of them for this process and those that it starts: `DUMBBELL_LIMITS=memory=16GB,flows=200000`. An experiment
can't. `docs/limits.md` is this table for people. What a server of the workbench allows is `workbench.limits`.
"""

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from dumbbell.errors import DumbbellError

__all__ = ["LIMITS", "MOST_DEPTH", "VARIABLE", "Limit", "TooLarge", "most", "raised", "read", "read_open", "shown"]

VARIABLE = "DUMBBELL_LIMITS"
MOST_DEPTH = 24
"""Tables within tables: more than any key has, and few enough for code that recurses; nothing raises it."""
PIECE = 1 << 20
"""Bytes that are read at once where a file has no length."""
_BYTES = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


@dataclass(frozen=True)
class Limit:
    """One of them."""

    name: str
    default: int
    what: str
    """What it counts."""
    why: str
    """Why this default."""
    in_bytes: bool = False


LIMITS = {
    limit.name: limit
    for limit in (
        Limit("memory", 8_000_000_000, "memory that one run is estimated to need, and that its simulation may hold",
              "a common host has it; 20 million samples of flows need it", in_bytes=True),
        Limit("packets", 100_000_000_000, "data packets that the bottleneck can carry in one run",
              "about ten hours of simulation on one core"),
        Limit("text", 1_000_000, "size of an experiment, a sweep or a tc script",
              "the largest built-in one has 8 kB; this much is read in a second", in_bytes=True),
        Limit("keys", 20_000, "keys and values of an experiment or a sweep",
              "a thousand groups with 20 keys each; editors of the workbench take 0.1 ms a key"),
        Limit("cases", 10_000, "cases of an experiment, and seeds of a case", "more are a sweep's"),
        Limit("expanded", 1_000_000, "keys of all cases of an experiment together",
              "each case is checked as an experiment of its own: about 10 µs and 1 kB a key"),
        Limit("runs", 100_000, "runs of one command: cases times seeds", "each has a folder of its own"),
        Limit("sweep-runs", 1_000_000, "runs of one sweep", "each is a row of a table in memory"),
        Limit("groups", 500, "groups of flows in one run",
              "each may have hosts of its own, whose routes grow with the square: some seconds for these"),
        Limit("flows", 100_000, "flows of one run", "about 10 kB and 0.2 ms of each in the plan and the simulation"),
        Limit("changes", 200_000, "changes of rate in one run, those of a trace included",
              "about 2 kB and 20 µs of each in the plan"),
        Limit("trace", 64_000_000, "size of a trace of rates", "Mahimahi's of a minute at 1 Gbit/s has 35 MB",
              in_bytes=True),
        Limit("log", 128_000_000, "size of a text or JSON log, unpacked",
              "JSON of nothing but brackets takes 30 times its size in memory", in_bytes=True),
        Limit("lines", 10_000_000, "lines of a text log or a trace", "each takes about 150 bytes besides its text"),
        Limit("capture", 2_000_000_000, "size of a packet capture, unpacked", "it is held in memory once or twice",
              in_bytes=True),
        Limit("capture-packets", 10_000_000, "packets of a capture", "about 400 bytes of each while they are sorted"),
        Limit("intervals", 20_000, "intervals of all flows that `stats --every` prints",
              "more than a person reads; the table takes about 1 ms of each"),
        Limit("manifest", 256_000_000, "size of a run.json or a sweep's manifest",
              "10,000 flows take 5 MB", in_bytes=True),
    )
}  # fmt: skip


def most(name: str) -> int:
    """How much is allowed. Raises `DumbbellError` for a `DUMBBELL_LIMITS` that can't be read."""
    return _changed(os.environ.get(VARIABLE, "")).get(name, LIMITS[name].default)


def raised(name: str, needed: int) -> str:
    """What to write to allow so much."""
    limit = LIMITS[name]
    return f"or allow it: {VARIABLE}={name}={_rounded_up(needed) if limit.in_bytes else needed}"


class TooLarge(OSError):
    """A file larger than its limit: to a reader, one that can't be read."""


def read(path: Path, name: str) -> bytes:
    """A file's content. Raises `OSError`, which is `TooLarge` where there is more than the limit allows."""
    with path.open("rb") as file:
        return read_open(file, name)


def read_open(file: BinaryIO, name: str) -> bytes:
    """The rest of an open file or pipe. Raises as `read` does."""
    allowed, content = most(name), bytearray()
    # Asked for as many bytes as are allowed, Python would take the memory for them at once. A pipe has no length.
    length = os.fstat(file.fileno()).st_size
    size = min(length or PIECE, allowed) + 1
    while len(content) <= allowed and (piece := file.read(size)):
        content += piece
    if len(content) > allowed:
        needed = max(length, len(content))
        raise TooLarge(f"larger than {shown(name)}, the limit of '{name}'; make it smaller, {raised(name, needed)}")
    return bytes(content)


def shown(name: str) -> str:
    """The limit as people read it."""
    return f"{_size(most(name))}" if LIMITS[name].in_bytes else f"{most(name):,}"


@lru_cache(maxsize=8)
def _changed(text: str) -> dict[str, int]:
    changed = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        if name not in LIMITS:
            raise DumbbellError(f"{VARIABLE}: no limit is called '{name}'; there is: {', '.join(LIMITS)}")
        match = re.fullmatch(r"([0-9]{1,15})(kB|MB|GB|TB|)", value)
        if match is None or (match[2] and not LIMITS[name].in_bytes):
            right = "a size such as 16GB" if LIMITS[name].in_bytes else "a whole number"
            raise DumbbellError(f"{VARIABLE}: '{value}' is no value of {name}; write {right}")
        changed[name] = int(match[1]) * _BYTES[match[2]]
    return changed


def _rounded_up(size: int) -> str:
    """In whole units, at least the size."""
    unit = next((unit for unit in ("GB", "MB", "kB") if size > 2 * _BYTES[unit]), "")
    return f"{-(-size // _BYTES[unit])}{unit}"


def _size(size: int) -> str:
    unit = next((unit for unit in ("GB", "MB", "kB") if size >= _BYTES[unit]), "")
    return f"{size / _BYTES[unit]:.3g} {unit or 'bytes'}"
