"""The examples run on the simulator, and their notebooks are up to date."""

import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SOURCES = sorted(EXAMPLES.glob("*.py"))
MOST_BYTES = 400_000


def notebook_of(source: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(source.with_suffix(".ipynb").read_text())
    return notebook


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_an_example_runs(source: Path) -> None:
    names: dict[str, Any] = {}
    exec(compile(source.read_text(), str(source), "exec"), names)
    assert names["run"].valid


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_is_executed_small_and_up_to_date(source: Path) -> None:
    assert source.with_suffix(".ipynb").stat().st_size < MOST_BYTES
    text = source.read_text()
    code = [cell for cell in notebook_of(source)["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 3
    for cell in code:
        assert "".join(cell["source"]) in text, "run: make page NAME=notebooks"
        assert cell["execution_count"] is not None
        assert cell["outputs"]
        assert not [output for output in cell["outputs"] if output["output_type"] == "error"]


def test_at_least_one_example_exists() -> None:
    assert SOURCES
