"""Every limit on the resources that an input may use: its name, its default and the reason.

An input above a limit is refused before it runs. The environment variable `DUMBBELL_LIMITS` raises or lowers limits for
this process and its children: `DUMBBELL_LIMITS=memory=16GB,flows=200000`. An experiment file can't change them.
`docs/limits.md` documents this table. The workbench server has its own limits in `web.handlers`.
"""

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from dumbbell import _sim
from dumbbell.errors import DumbbellError

__all__ = ["LIMITS", "VARIABLE", "Limit", "TooLarge", "most", "raised", "read", "read_open", "shown"]

VARIABLE = "DUMBBELL_LIMITS"
PIECE = 1 << 20
"""Read size for files without a known length, such as pipes."""
PLAN = _sim.PLAN_LIMITS
"""Defaults that `crates/experiment` declares, by name: what one run may use."""
TEXT = _sim.LIMITS
"""The same: what a text may use."""
_BYTES = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


@dataclass(frozen=True)
class Limit:
    """One limit."""

    name: str
    default: int
    what: str
    """The quantity that it limits."""
    why: str
    """The reason for the default."""
    in_bytes: bool = False


LIMITS = {
    limit.name: limit
    for limit in (
        Limit("memory", PLAN["memory"], "estimated memory of one run, and the most that its simulation may allocate",
              "common hosts have this much; 20 million flow samples need it", in_bytes=True),
        Limit("packets", PLAN["packets"], "data packets that the bottleneck can carry in one run",
              "about ten hours of simulation on one core"),
        Limit("text", TEXT["text"], "size of an experiment, a sweep or a tc script",
              "the largest built-in one has 8 kB; this much is parsed in a second", in_bytes=True),
        Limit("keys", TEXT["keys"], "keys and values of an experiment or a sweep",
              "a thousand groups with 20 keys each; the workbench editor takes 0.1 ms per key"),
        Limit("cases", TEXT["cases"], "cases of an experiment, and seeds of a case", "use a sweep for more"),
        Limit("expanded", TEXT["expanded"], "keys of all cases of an experiment together",
              "each case is checked as a separate experiment: about 10 µs and 1 kB per key"),
        Limit("runs", 100_000, "runs of one command: cases times seeds", "each writes a folder"),
        Limit("sweep-runs", 1_000_000, "runs of one sweep", "each is a row of a table in memory"),
        Limit("groups", PLAN["groups"], "groups of flows in one run",
              "each may have its own hosts, and routes grow with the square: some seconds for 500"),
        Limit("flows", PLAN["flows"], "flows of one run",
              "each takes about 10 kB and 0.2 ms in the plan and the simulation"),
        Limit("changes", TEXT["changes"], "rate changes in one run, including those of a trace",
              "each takes about 2 kB and 20 µs in the plan"),
        Limit("trace", 64_000_000, "size of a rate trace", "a Mahimahi trace of one minute at 1 Gbit/s has 35 MB",
              in_bytes=True),
        Limit("log", 128_000_000, "size of a text or JSON log, unpacked",
              "nested JSON brackets take 30 times their size in memory", in_bytes=True),
        Limit("lines", TEXT["lines"], "lines of a text log or a trace", "each takes about 150 bytes plus its text"),
        Limit("capture", 2_000_000_000, "size of a packet capture, unpacked", "memory holds it once or twice",
              in_bytes=True),
        Limit("capture-packets", 10_000_000, "packets of a capture", "each takes about 400 bytes during sorting"),
        Limit("qlog-rows", 5_000_000, "rows of one connection of a qlog, whose size has no limit",
              "each takes about 1 kB while the result is written"),
        Limit("intervals", 20_000, "intervals of all flows that `stats --every` prints",
              "each takes about 1 ms; a longer table is unreadable"),
        Limit("manifest", 256_000_000, "size of a run.json or a sweep's manifest",
              "10,000 flows take 5 MB", in_bytes=True),
    )
}  # fmt: skip


def most(name: str) -> int:
    """The value of a limit. Raises `DumbbellError` if `DUMBBELL_LIMITS` is invalid."""
    return _changed(os.environ.get(VARIABLE, "")).get(name, LIMITS[name].default)


def raised(name: str, needed: int) -> str:
    """The hint that raises a limit to `needed`."""
    limit = LIMITS[name]
    return f"or allow it: {VARIABLE}={name}={_rounded_up(needed) if limit.in_bytes else needed}"


class TooLarge(OSError):
    """The file exceeds its limit. An `OSError`, so that readers treat it as unreadable."""


def read(path: Path, name: str) -> bytes:
    """A file's content. Raises `OSError`, and `TooLarge` above the limit."""
    with path.open("rb") as file:
        return read_open(file, name)


def read_open(file: BinaryIO, name: str) -> bytes:
    """The rest of an open file or pipe. Raises as `read` does."""
    allowed, content = most(name), bytearray()
    # `read(allowed)` would allocate that much at once. A pipe has no length.
    length = os.fstat(file.fileno()).st_size
    size = min(length or PIECE, allowed) + 1
    while len(content) <= allowed and (piece := file.read(size)):
        content += piece
    if len(content) > allowed:
        needed = max(length, len(content))
        raise TooLarge(f"larger than {shown(name)}, the limit '{name}'; make it smaller, {raised(name, needed)}")
    return bytes(content)


def shown(name: str) -> str:
    """The limit, formatted."""
    return f"{_size(most(name))}" if LIMITS[name].in_bytes else f"{most(name):,}"


@lru_cache(maxsize=8)
def _changed(text: str) -> dict[str, int]:
    changed = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        if name not in LIMITS:
            raise DumbbellError(f"{VARIABLE}: unknown limit '{name}'; known limits: {', '.join(LIMITS)}")
        match = re.fullmatch(r"([0-9]{1,15})(kB|MB|GB|TB|)", value)
        if match is None or (match[2] and not LIMITS[name].in_bytes):
            right = "a size such as 16GB" if LIMITS[name].in_bytes else "a whole number"
            raise DumbbellError(f"{VARIABLE}: invalid value '{value}' for {name}; write {right}")
        changed[name] = int(match[1]) * _BYTES[match[2]]
    return changed


def _rounded_up(size: int) -> str:
    """The size rounded up to a whole unit."""
    unit = next((unit for unit in ("GB", "MB", "kB") if size > 2 * _BYTES[unit]), "")
    return f"{-(-size // _BYTES[unit])}{unit}"


def _size(size: int) -> str:
    unit = next((unit for unit in ("GB", "MB", "kB") if size >= _BYTES[unit]), "")
    return f"{size / _BYTES[unit]:.3g} {unit or 'bytes'}"
