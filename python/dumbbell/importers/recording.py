"""Record samples of live connections as a result folder, for `dumbbell watch --out`.

Each connection is a flow, named by its controller and its order of appearance. The manifest is that of an import whose
log is the kernel itself, so figures, reports and metrics work as for an `ss` log. Rows are written to disk as they
arrive, so memory is bounded; the folder appears complete at the end, or not at all.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.host.tcp_connections import Frame
from dumbbell.importers.log_model import EMPTY
from dumbbell.importers.merge import manifest
from dumbbell.importers.ss_fields import EXTRA
from dumbbell.linux import STATES
from dumbbell.publish import staged
from dumbbell.results import result
from dumbbell.results.parquet import write_table
from dumbbell.results.reader import FLOWS

__all__ = ["Recording", "recorded"]

NS = 1_000_000_000
PART_ROWS = 100_000
"""Rows to buffer in memory before writing them, about 60 MB."""
OF_UDP = ("datagrams_lost", "jitter_ns", "one_way_delay_ns")
NOT_ROWS = ("time_ns", "flow", "group", "state", "bytes_received", *OF_UDP)
"""Columns of a flow's table that are not plain columns of a sample."""
COUNTED = ("bytes_acked", "socket_bytes_received", "retrans_packets", "data_segs_out")
ENDS = ("cc", "local_address", "local_port", "peer_address", "peer_port")
KEPT = {name: kind for name, kind in {**FLOWS, **EXTRA}.items() if name not in NOT_ROWS}
KEYS = {"cookie": pl.Int64, "flow": pl.String, "group": pl.String, "receives": pl.Boolean}


@dataclass
class Recording:
    """Adds samples and writes them as the tables and the manifest of a run."""

    folder: Path
    samples: int = 0
    _start: tuple[int, int] | None = None
    """CLOCK_MONOTONIC and CLOCK_REALTIME of the first sample."""
    _last_ns: int = 0
    _known: pl.Series = field(default_factory=lambda: pl.Series([], dtype=pl.Int64))
    """Cookies of all connections that ever matched."""
    _waiting: list[pl.DataFrame] = field(default_factory=list)
    _parts: list[Path] = field(default_factory=list)
    _digest: Any = field(default_factory=hashlib.sha256)

    def take(self, frame: Frame, table: pl.DataFrame, matching: pl.Series) -> None:
        """Add a sample from `host.tcp_connections`; a connection is kept from its first sample in `matching`."""
        if self._start is None:
            self._start = (frame.monotonic_ns, frame.realtime_ns)
        self._last_ns = frame.monotonic_ns - self._start[0]
        self.samples += 1
        self._digest.update(frame.records.tobytes())
        self._known = pl.concat([self._known, matching]).unique()
        self._waiting.append(_rows(table.filter(pl.col("cookie").is_in(self._known.implode())), self._last_ns))
        if sum(map(len, self._waiting)) >= PART_ROWS:
            self._write_out()

    def finish(self, name: str, command: str, facts: dict[str, Any]) -> None:
        """Write the tables and the manifest."""
        self._write_out()
        flows, keys = self._flows()
        tables = {"flows": self._table(keys), "queues": EMPTY["queues"], "probes": EMPTY["probes"]}
        result.write(self.folder, self._manifest(name, command, flows, facts), tables, {"flows": EXTRA})
        for part in self._parts:
            part.unlink()

    def _write_out(self) -> None:
        if self._waiting:
            part = self.folder / f".part-{len(self._parts)}.parquet"
            write_table(pl.concat(self._waiting), part)
            self._parts.append(part)
            self._waiting.clear()

    def _flows(self) -> tuple[list[dict[str, Any]], pl.DataFrame]:
        """The manifest's flow entries in order of appearance, and each cookie's name, group and role."""
        if not self._parts:
            return [], pl.DataFrame(schema=KEYS)
        columns = pl.exclude("cookie", "time_ns")
        lives = (
            pl.scan_parquet(self._parts)
            .select("cookie", "time_ns", *ENDS, *COUNTED)
            .group_by("cookie", maintain_order=True)
            .agg(
                columns.last(),
                columns.first().name.prefix("first_"),
                pl.col("time_ns").min().alias("start_ns"),
                pl.col("time_ns").max().alias("stop_ns"),
            )
            .collect()
            .to_dicts()
        )
        names = _names([str(life["cc"] or "unknown") for life in lives])
        entries = [_entry(name, life) for name, life in zip(names, lives, strict=True)]
        keys = [
            (life["cookie"], entry["name"], entry["group"], _receives(life))
            for life, entry in zip(lives, entries, strict=True)
        ]
        return entries, pl.DataFrame(keys, schema=KEYS, orient="row")

    def _table(self, keys: pl.DataFrame) -> pl.DataFrame | pl.LazyFrame:
        if not self._parts:
            return EMPTY["flows"]
        rows = pl.scan_parquet(self._parts).join(keys.lazy(), on="cookie", how="left", maintain_order="left")
        # As for an ss log: bytes received by a sender's socket are not what its flow delivered.
        received = pl.when("receives").then("socket_bytes_received").alias("bytes_received")
        of_udp = [pl.lit(None, FLOWS[name]).alias(name) for name in OF_UDP]
        rows = rows.with_columns(received, *of_udp)
        there = rows.collect_schema()
        kept = {name: kind for name, kind in {**FLOWS, **EXTRA}.items() if name in FLOWS or name in there}
        return rows.select(pl.col(name).cast(kind) for name, kind in kept.items())

    def _manifest(self, name: str, command: str, flows: list[dict[str, Any]], facts: dict[str, Any]) -> dict[str, Any]:
        file = {
            "file": "connections of this host", "sha256": self._digest.hexdigest(), "size_bytes": None,
            "format": "sock_diag", "begins_s": 0.0, "epoch_s": None if self._start is None else self._start[1] / NS,
            "rounding": "", "facts": {**facts, "samples": self.samples},
            "missing": {"flows": [], "queues": "all", "probes": "all"},
        }  # fmt: skip
        title = f"connections of {facts['host']}" + (f": {facts['filter']}" if facts["filter"] else "")
        record = manifest(name=name, title=title, command=command, duration_s=self._last_ns / NS, flows=flows)
        return record | {"import": {"files": [file], "aligned": "clock"}}


@contextmanager
def recorded(out: Path, filter_: str, every_ns: int, command: str, netns: str | None = None) -> Iterator[Recording]:
    """Record into the folder `out`, which appears when the block succeeds. Raises `OutputError` as `staged` does."""
    uname = os.uname()
    facts = {"host": uname.nodename, "release": uname.release, "netns": netns, "filter": filter_}
    with staged(out) as folder:
        recording = Recording(folder)
        yield recording
        recording.finish(out.name, command, {**facts, "interval_s": every_ns / NS})


def _rows(table: pl.DataFrame, time_ns: int) -> pl.DataFrame:
    """A sample's rows in the form of a part file."""
    numbers = {name: number for number, name in enumerate(STATES)}
    return table.select(
        "cookie",
        pl.lit(time_ns, pl.Int64).alias("time_ns"),
        pl.col("state").replace_strict(numbers, return_dtype=pl.UInt8),
        *(pl.col(name).cast(kind) for name, kind in KEPT.items() if name in table.columns),
        *ENDS,
    )


def _names(bases: Sequence[str]) -> list[str]:
    """The base names, numbered where equal."""
    alike, seen = Counter(bases), Counter[str]()
    names = []
    for base in bases:
        seen[base] += 1
        names.append(f"{base}-{seen[base]}" if alike[base] > 1 else base)
    return names


def _receives(life: dict[str, Any]) -> bool:
    return (life["socket_bytes_received"] or 0) > (life["bytes_acked"] or 0)


def _entry(name: str, life: dict[str, Any]) -> dict[str, Any]:
    """A flow's manifest entry; counters cover the time of the recording."""
    receives = _receives(life)
    grown = {column: (life[column] or 0) - (life[f"first_{column}"] or 0) for column in COUNTED}
    ends = " ".join(f"{life[f'{end}_address']}:{life[f'{end}_port']}" for end in ("local", "peer"))
    return {
        "name": name, "group": life["cc"] or name, "kind": "tcp", "cc": life["cc"], "cc_asked": life["cc"],
        "start_s": life["start_ns"] / NS, "stop_s": life["stop_ns"] / NS, "bytes_asked": None, "bytes_received": None,
        "fct_s": None, "retransmits": None if receives else grown["retrans_packets"],
        "data_segs_out": None if receives else grown["data_segs_out"], "connected": True, "completed": False,
        "error": None, "label": ends,
        "seen": {"socket": ends, "side": "receiver" if receives else "sender", "controllers": [life["cc"]]},
    }  # fmt: skip
