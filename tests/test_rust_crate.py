"""The crate `dumbbell` and the Python package give the same tables for the same experiment and seed."""

import io
import subprocess
from pathlib import Path

import polars as pl
import pytest

import dumbbell as db

ROOT = Path(__file__).parents[1]
SLICES = "1000"
"""More than the run has."""
DRAWN = """
duration = "2s"
[path]
rtt = "20ms"
loss = "1%"
[path.bottleneck]
rate = "10mbit"
qdisc = "red limit 100000 avpkt 1000"
[[flows]]
cc = "cubic"
bytes = "20kB"
arrivals = "20/s"
[[flows]]
cc = "bbr"
count = 3
start_jitter = "100ms"
[[probes]]
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2**63 - 1])
def test_both_draw_the_same_starts_losses_and_marks(seed: int, tmp_path: Path) -> None:
    file = tmp_path / "drawn.toml"
    file.write_text(DRAWN, encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    example = ["cargo", "run", "--quiet", "--locked", "-p", "dumbbell", "--example", "tables", "--"]
    subprocess.run([*example, str(out), str(seed), SLICES, str(file)], cwd=ROOT, check=True)
    written = (out / "drawn.txt").read_text(encoding="utf-8")
    run = db.run(db.experiment(file), seed=seed)
    for name, text in zip(("flows", "queues", "probes"), written.strip().split("\n\n"), strict=True):
        expected: pl.DataFrame = getattr(run, name)
        columns = text.partition("\n")[0].split("\t")
        both = expected.select(columns)
        names = {column: pl.String for column, kind in both.schema.items() if kind in (pl.Categorical, pl.Enum)}
        both = both.cast(names)  # type: ignore[arg-type]
        assert pl.read_csv(io.StringIO(text), separator="\t", schema=both.schema).equals(both), name
        assert both.height > 20
