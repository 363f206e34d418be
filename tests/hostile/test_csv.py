"""No cell of an exported table is a formula for a spreadsheet, and import restores what was exported."""

import csv
from pathlib import Path

import polars as pl
import pytest
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from dumbbell.exporters import export_run, write_table
from dumbbell.importers import Options, import_files
from dumbbell.importers.dumbbell_export import harmless, restored
from dumbbell.importers.log_model import rows
from dumbbell.results.reader import TABLES
from dumbbell.results.result import load
from dumbbell.spec.axes import axis
from hostile.fuzzing import search
from hostile.planted import run_command
from sweep_fixtures import made
from synthetic import Bench, Flow

FORMULAS = ("=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1", "'", "''=1", "=", "-", "'=cmd|' /C calc'!A0")
FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
TEXT = st.one_of(
    st.sampled_from(FORMULAS),
    st.text(st.sampled_from("'=+-@\t\r\n\",;＝ a"), max_size=4),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)


def cells(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.reader(text))


@pytest.mark.parametrize("text", FORMULAS)
def test_texts_of_a_run_are_no_formulas_in_csv_and_are_restored_by_import(tmp_path: Path, text: str) -> None:
    run = load(Bench(flows=[Flow(text, text)], duration_s=0.1, qdisc=f"{text} x").make_folder(tmp_path / "run"))
    export_run(run, tmp_path / "csv", "csv")
    for name in TABLES:
        texts = [kind == pl.String for kind in run.table(name).frame().dtypes]
        for row in cells(tmp_path / "csv" / f"{name}.csv"):
            assert not [
                cell for cell, is_text in zip(row, texts, strict=True) if is_text and cell.startswith(FORMULA_STARTS)
            ]
    imported = load(import_files([tmp_path / "csv"], tmp_path / "imported", Options()))
    for name in TABLES:
        assert_frame_equal(getattr(imported, name), getattr(run, name))
    assert imported.manifest.flows == run.manifest.flows


def test_numbers_are_not_escaped(tmp_path: Path) -> None:
    table = pl.DataFrame({"i": [-1, 1], "f": [-0.5, 1e-300], "b": [True, None], "t": ["-1", "1"]})
    write_table(table, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == '"i","f","b","t"\n-1,-0.5,"true","\'-1"\n1,1e-300,,"1"\n'


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_of_a_query_s_result_is_a_formula(tmp_path: Path, text: str) -> None:
    folder = made(tmp_path / "s", [axis("name", [text, "y"])], [{"name": text}, {"name": "y"}], lambda *_: 1.0).folder
    quoted = text.replace("'", "''")
    status, _, err = run_command("sql", folder, f"select name, '{quoted}' as a from runs", "-o", tmp_path / "t.csv")
    assert status == 0, err
    assert run_command("export", folder, "-o", tmp_path / "s.csv")[0] == 0
    for file in ("t.csv", "s.csv"):
        assert not [cell for row in cells(tmp_path / file) for cell in row if cell.startswith(FORMULA_STARTS)]


def test_column_names_are_escaped(tmp_path: Path) -> None:
    write_table(pl.DataFrame({"=a": [1], "'=a": [2]}), tmp_path / "t.csv")
    assert cells(tmp_path / "t.csv")[0] == ["'=a", "''=a"]


@pytest.mark.slow
def test_fuzz_any_text_is_restored_exactly(tmp_path: Path) -> None:
    def check(texts: list[str | None]) -> None:
        table = rows("probes", [{"probe": text, "kind": text, "seq": -1} for text in texts])
        file = tmp_path / "t.csv"
        file.unlink(missing_ok=True)
        write_table(table, file)
        assert not [cell for row in cells(file)[1:] for cell in (row[1], row[2]) if cell.startswith(FORMULA_STARTS)]
        assert_frame_equal(restored(pl.read_csv(file, schema=dict(table.schema))), table)

    search(st.lists(st.none() | TEXT, min_size=1, max_size=4), check, examples=150)


def test_fuzz_escaping_is_undone_exactly() -> None:
    def check(texts: list[str]) -> None:
        table = pl.DataFrame({"t": texts}, schema={"t": pl.String})
        assert_frame_equal(restored(harmless(table)), table)

    search(st.lists(TEXT), check, examples=300)
