"""Studies: the list, the library, and pages that are filled between marks."""

import shlex
from pathlib import Path

import jinja2
import pytest

from studies import __main__ as studies
from studies.study import ROOT, fill, number, rendered, table

PAGE = "# Title\n\nBefore.\n\n<!-- study of one -->\nold\n<!-- end -->\n\nAfter.\n"


@pytest.mark.parametrize("name", studies.STUDIES)
def test_every_command_of_a_study_exists(name: str) -> None:
    for command in studies.STUDIES[name].get("run", [name]):
        program = shlex.split(command)[0]
        assert program == "-m" or studies.folder(program).is_dir() or (ROOT / program).is_file(), command


def test_every_study_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    folders = {path.parent.name for path in (ROOT / "studies").glob("*/__init__.py")}
    named = {name.replace("-", "_") for name in studies.STUDIES}
    assert folders <= named
    assert studies.main([]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(studies.STUDIES)


@pytest.mark.parametrize(("words", "told"), [(["nonesuch"], "no study is named"), (["bench", "x"], "no arguments")])
def test_a_wrong_request_is_refused(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert studies.main(words) == 2
    assert told in capsys.readouterr().err


def test_a_page_keeps_what_is_outside_the_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    fill(page, "study of one", "new\n")
    assert page.read_text(encoding="utf-8") == PAGE.replace("old", "new")
    page.write_text(PAGE.partition("<!-- end -->")[0], encoding="utf-8")
    fill(page, "study of one", "last")
    assert page.read_text(encoding="utf-8").endswith("<!-- study of one -->\nlast\n")


def test_a_page_without_the_mark_is_not_changed() -> None:
    page = ROOT / "docs" / "results" / "hpcc.md"
    before = page.read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match="no line <!-- study of nothing -->"):
        fill(page, "study of nothing", "text")
    assert page.read_text(encoding="utf-8") == before


def test_columns_of_numbers_are_right_aligned() -> None:
    assert table("name | >n | ", [("a", 1, "yes")]) == "| name | n | |\n| --- | ---: | --- |\n| a | 1 | yes |"


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (0.12345, "0.123"), (12345.6, "12,346"), (-1234, "-1,234")])
def test_numbers_have_three_digits(value: float | None, text: str) -> None:
    assert number(value) == text


def test_a_template_without_its_value_is_an_error(tmp_path: Path) -> None:
    template = tmp_path / "page.md"
    template.write_text("{{ missing }}\n", encoding="utf-8")
    with pytest.raises(jinja2.UndefinedError):
        rendered(template)
