"""The page of the five reports refers to existing scenarios, cases and files."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dumbbell.spec import load, published, scenarios

if TYPE_CHECKING:
    from dumbbell.spec.keys import Seen

ROOT = Path(__file__).parents[1]
REPORTS = tomllib.loads((ROOT / "studies" / "reports" / "reports.toml").read_text(encoding="utf-8"))["reports"]
PAGE = ROOT / "docs" / "results" / "reports.md"
NAMES = [name for report in REPORTS for name in report["scenarios"]]
FILES = {**scenarios(), **published()}


def seen_in(name: str) -> "tuple[Seen, ...]":
    source = load(FILES[name])[0].experiment.source
    assert source is not None
    return source.seen


def test_the_page_has_a_row_for_each_figure_of_a_scenario() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in NAMES:
        rows = page.split(f"`dumbbell run {name}`", 1)[1].split("\n\n", 2)[1].splitlines()
        assert seen_in(name), name
        for each in seen_in(name):
            assert any(f"| {each.what} |" in row and (each.case or "") in row for row in rows), (name, each.what)


def test_reasons_belong_to_existing_figures_and_files_exist() -> None:
    for report in REPORTS:
        figures = {
            f"{name}, {each.case}, {each.what}".replace(", None, ", ", ")
            for name in report["scenarios"]
            for each in seen_in(name)
        }
        assert report.get("reasons", {}).keys() <= figures, report["title"]
        assert all((PAGE.parent / file).is_file() for file in report["figures"]), report["title"]
        assert {*report.get("plain", {}).values()} <= FILES.keys(), report["title"]


@pytest.mark.parametrize("name", ["bufferbloat", "lossy-lan", "lossy-download"])
def test_a_plain_variant_compares_with_the_same_figures(name: str) -> None:
    assert seen_in(name) == seen_in(f"{name}-plain")


def test_the_readme_shows_the_complete_scenario_file() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"```toml\n{FILES['cyclic'].read_text(encoding='utf-8')}```\n" in readme
