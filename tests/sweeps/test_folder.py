"""A sweep's folder is read as it was written; invalid files are errors."""

import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from dumbbell.errors import ResultError
from dumbbell.spec.axes import axis
from dumbbell.sweeps.folder import MANIFEST, TABLE, Sweep, is_sweep, load, query, summary, write
from sweep_fixtures import TWO, made, ran


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return ran(TWO, tmp_path_factory.mktemp("sweeps") / "two")


def test_a_finished_sweep_is_read_as_it_was_written(two: Sweep) -> None:
    assert is_sweep(two.folder)
    assert not is_sweep(two.folder.parent)
    assert two.runs.height == 36
    assert two.runs.columns[:6] == ["run", "point", "path.rtt", "path.rtt_ms", "buffer", "buffer_bdp"]
    assert list(two.axes) == ["path.rtt", "buffer"]
    assert two.axes["buffer"].numbers == (0.5, 1.0, 4.0, 16.0)
    assert two.axes["path.rtt"].column == "path.rtt_ms"
    assert two.metrics[:2] == ["groups.bbr.throughput_mbps", "groups.bbr.share"]
    assert two.definition.seeds == (1, 2, 3)
    assert two.definition.set == {"path.bottleneck.qdisc": "bfifo limit {buffer}"}


def test_the_same_table_gives_the_same_bytes(two: Sweep, tmp_path: Path) -> None:
    write(tmp_path, two.manifest, two.runs)
    assert (tmp_path / TABLE).read_bytes() == (two.folder / TABLE).read_bytes()
    assert (tmp_path / MANIFEST).read_bytes() == (two.folder / MANIFEST).read_bytes()


def small(folder: Path) -> Sweep:
    rtt = axis("path.rtt", ["5ms", "9ms"])
    return made(folder, [rtt], [{"path.rtt": "5ms"}, {"path.rtt": "9ms"}], lambda _point, seed: float(seed))


def test_a_folder_without_a_finished_sweep_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"not a finished sweep: it has no sweep\.json$"):
        load(tmp_path)
    (tmp_path / "rows.sqlite").touch()
    with pytest.raises(ResultError, match="complete it with --resume"):
        load(tmp_path)


COUNTS = '"counts": {"ok": 0, "invalid": 0, "failed": 0}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "can't be read"),
        ("{}", "it has no 'format'"),
        ('{"format": 99}', "format 99 is newer"),
        ('{"format": 1}', "`axes` is missing; a list"),
        (
            f'{{"format": 1, "axes": [{{"key": "a", "scale": "cubic", "values": []}}], {COUNTS}}}',
            "unknown scale 'cubic'",
        ),
        (
            '{"format": 1, "axes": [], "counts": {"ok": 0, "invalid": 0, "failed": 0}}',
            "column 3 is 'path.rtt', String; 'engine'",
        ),
    ],
)
def test_an_invalid_manifest_is_an_error_with_its_position(text: str, message: str, tmp_path: Path) -> None:
    folder = small(tmp_path / "made").folder
    (folder / MANIFEST).write_text(text)
    with pytest.raises(ResultError) as error:
        load(folder)
    assert message in str(error.value)


def test_an_invalid_table_is_an_error_with_its_column(tmp_path: Path) -> None:
    sweep = small(tmp_path / "made")

    def broken(table: pl.DataFrame) -> str:
        table.write_parquet(sweep.folder / TABLE)
        with pytest.raises(ResultError) as error:
            load(sweep.folder)
        return str(error.value)

    assert "column 4 is 'engine', String; 'path.rtt_ms', Float64 is expected" in broken(sweep.runs.drop("path.rtt_ms"))
    assert "column 8 is 'status', Int32" in broken(sweep.runs.with_columns(status=pl.lit(1)))
    assert "unknown status 'done'" in broken(sweep.runs.with_columns(status=pl.lit("done")))
    assert "0 runs are ok, but sweep.json has 6" in broken(sweep.runs.with_columns(status=pl.lit("failed")))
    assert "the metric is 'v', String; Float64 is expected" in broken(sweep.runs.with_columns(v=pl.lit("much")))
    (sweep.folder / TABLE).write_bytes(b"PAR1")
    with pytest.raises(ResultError, match="can't be read"):
        load(sweep.folder)


def test_the_summary_has_counts_axes_and_metrics(two: Sweep) -> None:
    numbers = json.loads(json.dumps(summary(two)))
    assert numbers["counts"] == {"wanted": 36, "ok": 36, "invalid": 0, "failed": 0}
    assert numbers["points"] == 12
    assert numbers["axes"][1]["values"] == ["0.5bdp", "1bdp", "4bdp", "16bdp"]
    assert numbers["metrics"]["utilization"]["n"] == 36
    assert 0.9 < numbers["metrics"]["utilization"]["mean"] < 1


def test_reasons_are_counted(tmp_path: Path) -> None:
    rtt = axis("path.rtt", ["5ms", "9ms"])
    points = [{"path.rtt": value} for value in rtt.values]
    sweep = made(tmp_path / "made", [rtt], points, lambda _point, seed: 1.0 if seed == 1 else "guest hang")
    assert summary(sweep)["reasons"] == [{"status": "failed", "reason": "guest hang", "runs": 4, "point": 0}]


def test_sql_reads_the_table_and_needs_no_quotes_for_dots(two: Sweep) -> None:
    text = "select path.rtt, avg(groups.bbr.share) as share from runs where seed < 3 group by path.rtt order by share"
    found = query(two.runs, text)
    expected = two.runs.filter(pl.col("seed") < 3).group_by("path.rtt").agg(share=pl.col("groups.bbr.share").mean())
    assert_frame_equal(found, expected.sort("share"))
    joined = query(two.runs, "select a.path.rtt from runs a join runs b on a.run = b.run limit 1")
    assert joined.columns == ["path.rtt"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select shar from runs", 'unable to find column "shar"; the table is runs, its columns: run, point'),
        ("select 1 from nothing", "nothing"),
        ("select", "SQL"),
        ("", "SQL"),
    ],
)
def test_invalid_sql_is_an_error_that_lists_the_columns(two: Sweep, text: str, message: str) -> None:
    with pytest.raises(ResultError) as error:
        query(two.runs, text)
    assert message in str(error.value)
