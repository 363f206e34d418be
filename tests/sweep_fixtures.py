"""Sweep folders for tests: run on the simulator, or written from a table of known numbers."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell._sim import MANIFEST_FORMAT as FORMAT
from dumbbell.spec.axes import Axis
from dumbbell.spec.sweep import parse_sweep
from dumbbell.sweeps.folder import LAST, Sweep, entry_of, load, write
from dumbbell.sweeps.runner import InProcessExecutor, NoProgress, SweepRequest, carry_out

TWO = """
title = "Who wins, BBR or CUBIC?"
seeds = "1..3"
metrics = ["groups.*.throughput_mbps", "groups.*.share", "queue.delay_ms.mean", "utilization"]

[set]
"path.bottleneck.qdisc" = "bfifo limit {buffer}"

[experiment]
duration = "5s"
[experiment.path]
rtt = "20ms"
[experiment.path.bottleneck]
rate = "10mbit"
[[experiment.flows]]
cc = "bbr"
start_jitter = "500ms"
[[experiment.flows]]
cc = "cubic"

[[axes]]
"path.rtt" = ["5ms", "20ms", "80ms"]
[[axes]]
buffer = ["0.5bdp", "1bdp", "4bdp", "16bdp"]
"""


def ran(text: str, folder: Path) -> Sweep:
    """Run a sweep file on the simulator: in this process, or in two workers if results are kept."""
    sweep = parse_sweep(text, folder.with_suffix(".toml"))
    executor = None if sweep.keep == "runs" else lambda _place, _cache: nullcontext(InProcessExecutor())
    request = SweepRequest(sweep, folder, jobs=2, use_cache=False, executor=executor)
    return load(carry_out(request, NoProgress()).folder)


def manifest(axes: Sequence[Axis], table: pl.DataFrame) -> dict[str, Any]:
    counts = {status: table.filter(pl.col("status") == status).height for status in ("ok", "invalid", "failed")}
    return {
        "format": FORMAT, "dumbbell": "0.1.0", "name": "made", "title": "Made", "command": "dumbbell sweep made.toml",
        "axes": [entry_of(each) for each in axes],
        "metrics": ["*"], "keep": "metrics", "window": None,
        "engines": {"sim": {"version": "0.1.0", "sha256": "00"}},
        "counts": {"wanted": table.height, **counts}, "maps": [], "source": None,
    }  # fmt: skip


Value = Callable[[Mapping[str, float], int], float | None]


def made(
    folder: Path, axes: Sequence[Axis], points: Sequence[Mapping[str, Any]], value: Callable[..., float | str | None],
    seeds: Sequence[int] = (1, 2, 3),
) -> Sweep:  # fmt: skip
    """Write a folder whose metric `v` is `value(point, seed)`; a text is the reason of a failed run."""
    rows = [(number, point, seed, value(point, seed)) for number, point in enumerate(points) for seed in seeds]
    columns: dict[str, pl.Series] = {
        "run": pl.Series(range(len(rows)), dtype=pl.Int64),
        "point": pl.Series([row[0] for row in rows], dtype=pl.Int64),
    }
    for axis in axes:
        if axis.key not in ("engine", "kernel"):
            columns[axis.key] = pl.Series([row[1][axis.key] for row in rows])
            if axis.unit:
                columns[axis.column] = pl.Series([axis.number(row[1][axis.key]) for row in rows], dtype=pl.Float64)
    last = {
        "engine": [row[1].get("engine", "sim") for row in rows],
        "kernel": [None for _ in rows],
        "seed": [row[2] for row in rows],
        "status": ["failed" if isinstance(row[3], str) else "ok" for row in rows],
        "reason": [row[3] if isinstance(row[3], str) else None for row in rows],
    }
    columns |= {name: pl.Series(last[name], dtype=kind) for name, kind in LAST.items()}
    columns["v"] = pl.Series([None if isinstance(row[3], str) else row[3] for row in rows], dtype=pl.Float64)
    table = pl.DataFrame(columns)
    folder.mkdir(parents=True)
    write(folder, manifest(axes, table), table)
    return load(folder)
