"""`scripts/docs_check.py`: stale names are found where they are named, and rounded figures agree."""

import importlib
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

docs_check: Any = importlib.import_module("docs_check")


@pytest.mark.parametrize(
    ("file", "text", "stale"),
    [
        ("a.rs", "//! Fine.\n//! `dumbbell.engines.nothing` reads it.\n", ["a.rs:2: dumbbell.engines.nothing"]),
        ("a.rs", 'let text = "dumbbell.engines.nothing";\n', []),
        ("a.rs", "// `dumbbell.engines.connections` and `dumbbell.engines.connections.read_connections`\n", []),
        (
            "a.rs",
            "// `dumbbell.engines.connections.no_such_name`\n",
            ["a.rs:1: dumbbell.engines.connections.no_such_name"],
        ),
        ("a.rs", "// see crate::nowhere::at_all\n", ["a.rs:1: crate::nowhere::at_all"]),
        ("a.rs", "let x = 1; // `crates/net/src/no_file.rs`\n", ["a.rs:1: crates/net/src/no_file.rs"]),
        ("a.py", '"""One.\n\nMade by `engines/no_file.py` of `plots.nothing`."""\n', 2),
        ("a.py", 'text = """engines/no_file.py"""\n', []),
        ("a.py", "# `engines/connections.py`, `plots.render`\n", []),
        ("a.md", "`docs/no_page.md`\n\n```sh\npython no_file.py\n```\n", ["a.md:1: docs/no_page.md"]),
        ("a.md", "`mine.py` is yours:\n\n```sh\npython mine.py\n```\n", []),
        ("a.ts", "// one\nconst x = 1; /* `ui/src/no_file.ts`\n*/\n", ["a.ts:2: ui/src/no_file.ts"]),
        ("a.md", "`make docs-check` and `make nothing`\n", ["a.md:1: nothing"]),
        ("a.md", "Copy `crates/net/src/queue/KIND.rs`.\n", []),
    ],
)
def test_a_stale_name_is_found(file: str, text: str, stale: list[str] | int) -> None:
    found = list(docs_check.stale_names(file, text))
    if isinstance(stale, int):
        assert len(found) == stale
    else:
        assert [f"{line.rpartition(': ')[0]}: {line.split()[-1]}" for line in found] == stale


@pytest.mark.parametrize(
    ("text", "value", "agrees"), [("25", "25", True), ("0.17", "0.1739", True), ("72", "72.6", False)]
)
def test_a_number_agrees_if_it_is_the_rounded_value(text: str, value: str, agrees: bool) -> None:
    assert docs_check.shows(text, Decimal(value)) is agrees


def test_a_position_without_markup_has_its_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n\nSome **bold\ntext** and `code`\n  25 of 30\n", encoding="utf-8")
    text = docs_check.Text(page)
    assert text.text == "# One Some bold text and code 25 of 30 "
    assert [text.line(text.text.index(word)) for word in ("One", "Some", "bold", "text", "code", "25")] == [
        1, 3, 3, 4, 4, 5,
    ]  # fmt: skip


def test_the_page_of_the_evaluations_has_the_figures_of_its_tables() -> None:
    assert list(docs_check.failed("-m", "studies", "evaluations", "--check")) == []
