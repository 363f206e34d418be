"""Valid results, functions that damage them, and every command that reads them, called in this process.

A result of the simulator with the keys of other engines, imports and fetches added; a small sweep.
"""

import contextlib
import copy
import io
import json
import random
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell import api
from dumbbell.cli.app import app
from dumbbell.engines import Request
from dumbbell.engines.base import engine_called
from dumbbell.errors import DumbbellError
from dumbbell.results.reader import TABLES
from dumbbell.spec import read
from dumbbell.web.results import Opened
from sweep_fixtures import ran

EXPERIMENT: dict[str, Any] = {
    "title": "small",
    "duration": "2s",
    "expect": ["queue.drops > 0"],
    "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": "pfifo limit 30"}},
    "probes": [{"kind": "ping", "interval": "100ms"}, {"kind": "udp", "interval": "100ms"}],
    "flows": [{"cc": "cubic"}, {"cc": "bbr", "start": "500ms"}, {"name": "sized", "cc": "reno", "bytes": "100kB"}],
}
SWEEP = """
title = "Small"
seeds = "1..2"
metrics = ["groups.*.share", "utilization"]
[set]
"path.bottleneck.qdisc" = "bfifo limit {buffer}"
[experiment]
duration = "1s"
[experiment.path]
rtt = "20ms"
[experiment.path.bottleneck]
rate = "10mbit"
[[experiment.flows]]
cc = "bbr"
[[axes]]
"path.rtt" = ["5ms", "20ms"]
[[axes]]
buffer = ["1bdp", "4bdp"]
[[maps]]
x = "path.rtt"
y = "buffer"
value = "utilization"
"""
MORE: dict[str, Any] = {
    "kernel": {"name": "6.12", "release": "6.12.1", "version": "#1", "unseeded": True},
    "agent": {"version": "0.1.0", "sha256": "00"},
    "source": {
        "title": "A paper",
        "url": "https://example.org",
        "seen": [{"what": "drops", "value": 3, "metric": "queue.drops", "case": None}],
    },
    "programs": [
        {
            "name": "wget", "host": "receiver", "started_s": 0.1, "ended_s": 1.5, "status": 0, "signal": None,
            "stopped": False, "fault": None,
        }
    ],
    "import": {"files": [{"format": "ss", "sha256": "00", "epoch_s": 1.7e9, "begins_s": 0.0}]},
    "fetch": {
        "comparisons": [
            {"first": "cubic", "second": "bbr", "ratio": 0.9, "interval": [0.8, 1.1], "confidence": 0.95},
        ],
        "verdicts": ["cubic took 0.9 of bbr's time"],
    },
}  # fmt: skip


def make_run(folder: Path) -> Path:
    """A result of two seconds with three flows."""
    case = read(EXPERIMENT, folder.with_suffix(".toml"))[0]
    engine_called("sim", None).run(Request("small", case, 1, folder, ""), lambda _seconds: None)
    manifest = json.loads((folder / "run.json").read_text()) | MORE
    for number, flow in enumerate(manifest["flows"]):
        flow |= {"block": number, "url": "http://127.0.0.1/", "address": "127.0.0.1"}
    (folder / "run.json").write_text(json.dumps(manifest))
    return folder


def make_sweep(folder: Path) -> Path:
    """A sweep of four points and two seeds."""
    return ran(SWEEP, folder).folder


RUN_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("stats", "BAD"), ("stats", "BAD", "--json"), ("stats", "BAD", "GOOD"), ("stats", "BAD", "--from", "0.5s"),
    ("report", "BAD", "-o", "OUT.html"), ("report", "GOOD", "BAD", "-o", "OUT.html"),
    ("compare", "GOOD", "BAD"), ("compare", "BAD", "GOOD", "-o", "OUT.html"),
    ("export", "BAD", "-o", "OUT"), ("export", "BAD", "-o", "OUT.jsonl"), ("export", "BAD", "-o", "OUT.flent.gz"),
    ("plot", "BAD", "-o", "OUT.json"), ("plot", "BAD", "-o", "OUT.svg"), ("api", "BAD"), ("open", "BAD"),
    *(("plot", "BAD", "--figure", name, "-o", "OUT.json") for name in (
        "delivered", "throughput", "cwnd", "rtt", "queue", "rates", "retransmits", "states", "fairness", "ping", "loss",
        "loss-rate", "bandwidth", "gains", "inflight", "groups", "rtt-cdf", "delay-cdf", "downloads", "phases",
    )),
    ("plot", "BAD", "GOOD", "--figure", "throughput-delay", "-o", "OUT.json"),
    ("plot", "BAD", "GOOD", "--figure", "throughput", "-o", "OUT.json"),
    ("plot", "BAD", "GOOD", "--figure", "box", "--metric", "utilization", "-o", "OUT.json"),
)  # fmt: skip
SWEEP_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("stats", "BAD"), ("stats", "BAD", "--json"), ("report", "BAD", "-o", "OUT.html"), ("api", "BAD"), ("open", "BAD"),
    ("export", "BAD", "-o", "OUT.csv"), ("sql", "BAD", "select status, count(*) from runs group by status"),
    ("sql", "BAD", "select * from runs"),
    ("map", "BAD", "--x", "path.rtt", "--y", "buffer", "--value", "utilization", "-o", "OUT.json"),
    ("map", "BAD", "--x", "buffer", "--value", "utilization", "--panels", "path.rtt", "-o", "OUT.svg"),
)  # fmt: skip


def call(command: Sequence[str], bad: Path, good: Path, out: Path) -> str | None:
    """Message of a command's error, None if it succeeds. Any exception but `DumbbellError` is a bug."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    arguments = [word.replace("BAD", str(bad)).replace("GOOD", str(good)) for word in command]
    arguments = [str(out / word) if word.startswith("OUT") else word for word in arguments]
    try:
        with contextlib.redirect_stdout(_bytes()), contextlib.redirect_stderr(io.StringIO()):
            if arguments[0] == "api":
                loaded = api.load_sweep(bad) if (bad / "sweep.json").exists() else api.load(bad)
                assert repr(loaded)
                assert loaded._repr_html_()
            elif arguments[0] == "open":
                for item in Opened(bad.parent, [bad]).things:
                    item.report()
                    item.experiment(0, 1)
            else:
                app(arguments, standalone_mode=False)
    except DumbbellError as error:
        text = str(error)
        text.encode()
        return text
    return None


def _bytes() -> io.TextIOWrapper:
    """Standard output encoded in UTF-8, as a terminal's: text that cannot be encoded raises an error."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 7, 1e-300, -0.5, 0.3, 1e9, 1e15, 1e300, -1e300, 2**31, 2**62, 2**63, 2**64, 10**30,
    "", "abc", "1", "cubic", "sim", "import", "fetch", "a\x00b", "\x1b[31m", "\ud800", "\u202e", "x" * 5000,
    "</script>", "pfifo limit 99999999999999999999", "limit", "20ms", [], {}, [[]], [None], [1, 2], {"a": 1},
    [[0, -1]], [[0, 1], [0, 2]], {"name": None}, float("nan"), float("inf"), 10**5000,
)  # fmt: skip


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a document."""
    if at:
        yield at
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from paths(inner, (*at, key))


def damage_document(document: Any, rng: random.Random) -> str:
    """The document as text, with a few values deleted, replaced, repeated, nested or exchanged."""
    copied = json.loads(json.dumps(document))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        all_paths = list(paths(copied))
        if not all_paths:
            break
        *parents, last = rng.choice(all_paths)
        parent = copied
        for step in parents:
            parent = parent[step]
        kind = rng.randrange(7)
        if kind == 0:
            del parent[last]
        elif kind == 1 and isinstance(parent, list):
            parent.append(copy.deepcopy(parent[last]))
        elif kind == 2:
            parent[last] = [parent[last]]
        elif kind == 3:
            for _level in range(rng.choice((3, 20, 100))):
                parent[last] = [parent[last]]
        elif kind == 4 and isinstance(parent[last], int | float):
            parent[last] *= rng.choice((-1, 10**3, 10**9, 10**18))
        else:
            parent[last] = copy.deepcopy(rng.choice(VALUES))
    with _all_digits():
        text = json.dumps(copied)
    if rng.random() < 0.05:
        text = text[: rng.randrange(len(text))]
    return text


@contextlib.contextmanager
def _all_digits() -> Iterator[None]:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(limit)


def damage_table(file: Path, rng: random.Random) -> None:
    """Change a column or a cell of the table, or bytes of its file."""
    if rng.random() < 0.3:
        _damage_bytes(file, rng)
        return
    table = pl.read_parquet(file)
    name = rng.choice(table.columns)
    column = table[name]
    changes = (
        lambda: table.drop(name),
        lambda: table.with_columns(column.cast(rng.choice((pl.String, pl.Int64, pl.UInt8, pl.Float64)), strict=False)),
        lambda: table.with_columns(pl.lit(None, dtype=column.dtype).alias(name)),
        lambda: table.with_columns(_with_values_replaced(column, rng)),
        lambda: table.with_columns(_with_values_replaced(column, rng)),
        lambda: table.with_columns(pl.concat_list(pl.lit(1)).alias(name)),
        lambda: table.with_columns(pl.lit(b"x").alias("more")),
        lambda: table.head(rng.randrange(3)),
        table.reverse,
        lambda: table.sample(fraction=1.0, shuffle=True, seed=1),
        lambda: pl.concat([table, table]),
        lambda: (
            table.with_columns((column * rng.choice((-1, 0, 10**3, 10**9))).alias(name))
            if column.dtype == pl.Int64
            else table
        ),
    )
    rng.choice(changes)().write_parquet(file)


def _with_values_replaced(column: pl.Series, rng: random.Random) -> pl.Series:
    """A value of a few rows replaced."""
    if not len(column):
        return column
    at = sorted({rng.randrange(len(column)) for _ in range(rng.choice((1, 5)))})
    if column.dtype == pl.String:
        new: Any = rng.choice((None, "", "nobody", "a\x00\x1b[31m", "x" * 10_000, "bottleneck"))
    elif column.dtype == pl.Float64:
        new = rng.choice((None, -1.0, 0.0, 1e308, float("nan"), float("inf")))
    elif column.dtype == pl.Boolean:
        new = rng.choice((None, True, False))
    else:
        most = {"Int64": 2**63 - 1, "UInt32": 2**32 - 1, "UInt16": 2**16 - 1}.get(str(column.dtype), 255)
        new = rng.choice((None, 0, 1, most, most // 2, -1 if column.dtype == pl.Int64 else 0, most // 2 - 10))
    return column.scatter(at, new)


def _damage_bytes(file: Path, rng: random.Random) -> None:
    data = bytearray(file.read_bytes())
    kind = rng.randrange(4)
    if kind == 0:
        data = data[: rng.randrange(len(data))]
    elif kind == 1:  # The footer, which holds all sizes.
        for _ in range(rng.randrange(1, 5)):
            data[-rng.randrange(5, min(2000, len(data)))] = rng.randrange(256)
    elif kind == 2:
        for _ in range(rng.randrange(1, 20)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    else:
        data += data[: rng.randrange(100)]
    file.write_bytes(data)


def damaged_run(good: Path, folder: Path, rng: random.Random) -> None:
    """A copy of a run with its manifest, or a table, or both damaged."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(good, folder)
    what = rng.randrange(5)
    if what < 4:
        document = json.loads((good / "run.json").read_text())
        document["engine"] = rng.choice(("sim", "sim", "kernel", "import", "fetch"))
        (folder / "run.json").write_text(damage_document(document, rng))
    if what >= 3:
        damage_table(folder / f"{rng.choice(list(TABLES))}.parquet", rng)


def damaged_sweep(good: Path, folder: Path, rng: random.Random) -> None:
    """A copy of a sweep with its manifest or its table damaged."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(good, folder)
    if rng.randrange(3):
        (folder / "sweep.json").write_text(damage_document(json.loads((good / "sweep.json").read_text()), rng))
    else:
        damage_table(folder / "runs.parquet", rng)
