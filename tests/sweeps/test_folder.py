"""A sweep's folder: what was written is read again, and what doesn't fit is said."""

import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from dumbbell.errors import ResultError
from dumbbell.spec.axes import axis
from dumbbell.sweeps.folder import MANIFEST, TABLE, Sweep, is_sweep, load, write
from dumbbell.sweeps.query import query
from dumbbell.sweeps.ranges import summary
from sweep_fixtures import TWO, made, ran


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return ran(TWO, tmp_path_factory.mktemp("sweeps") / "two")


def test_a_sweep_that_ran_is_read_as_it_was_written(two: Sweep) -> None:
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


def test_a_folder_that_is_none_says_so(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"not a finished sweep: it has no sweep\.json$"):
        load(tmp_path)
    (tmp_path / "rows.sqlite").touch()
    with pytest.raises(ResultError, match="complete it with --resume"):
        load(tmp_path)


COUNTS = '"counts": {"ok": 0, "invalid": 0, "failed": 0}'


@pytest.mark.parametrize(
    ("text", "said"),
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
def test_a_certificate_that_does_not_fit_says_where(text: str, said: str, tmp_path: Path) -> None:
    folder = small(tmp_path / "made").folder
    (folder / MANIFEST).write_text(text)
    with pytest.raises(ResultError) as error:
        load(folder)
    assert said in str(error.value)


def test_a_table_that_does_not_fit_says_where(tmp_path: Path) -> None:
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


def test_what_a_sweep_holds_is_told(two: Sweep) -> None:
    numbers = json.loads(json.dumps(summary(two)))
    assert numbers["counts"] == {"wanted": 36, "ok": 36, "invalid": 0, "failed": 0}
    assert numbers["points"] == 12
    assert numbers["axes"][1]["values"] == ["0.5bdp", "1bdp", "4bdp", "16bdp"]
    assert numbers["metrics"]["utilisation"]["n"] == 36
    assert 0.9 < numbers["metrics"]["utilisation"]["mean"] < 1


def test_reasons_are_counted(tmp_path: Path) -> None:
    rtt = axis("path.rtt", ["5ms", "9ms"])
    points = [{"path.rtt": value} for value in rtt.values]
    sweep = made(tmp_path / "made", [rtt], points, lambda _point, seed: 1.0 if seed == 1 else "guest hang")
    assert summary(sweep)["reasons"] == [{"status": "failed", "reason": "guest hang", "runs": 4, "point": 0}]


def test_sql_sees_the_table_and_needs_no_quotes_for_dots(two: Sweep) -> None:
    text = "select path.rtt, avg(groups.bbr.share) as share from runs where seed < 3 group by path.rtt order by share"
    found = query(two.runs, text)
    wanted = two.runs.filter(pl.col("seed") < 3).group_by("path.rtt").agg(share=pl.col("groups.bbr.share").mean())
    assert_frame_equal(found, wanted.sort("share"))
    joined = query(two.runs, "select a.path.rtt from runs a join runs b on a.run = b.run + 1 limit 1")
    assert joined.columns == ["path.rtt"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select shar from runs", 'unable to find column "shar"; the table is runs, its columns: run, point'),
        ("select 1 from nothing", "nothing"),
        ("select", "SQL"),
        ("", "SQL"),
    ],
)
def test_sql_that_is_wrong_says_which_columns_there_are(two: Sweep, text: str, said: str) -> None:
    with pytest.raises(ResultError) as error:
        query(two.runs, text)
    assert said in str(error.value)
