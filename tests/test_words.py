"""The words of docs/glossary.md: its two lists hold for the whole tree; `scripts/words.py` reads and applies them."""

import collections
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "words.py"


def _script() -> Any:
    spec = importlib.util.spec_from_file_location("words", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["words"] = module
    spec.loader.exec_module(module)
    return module


words = _script()
LISTS = words.read_lists(words.PAGE.read_text(encoding="utf-8"))


def _summary(found: list[Any]) -> str:
    numbers = collections.Counter(use.word for use in found)
    counted = ", ".join(f"{word} {number}" for word, number in numbers.most_common())
    return "\n".join([f"{len(found)} uses: {counted}", *map(str, found[:200])])


def test_no_forbidden_word_or_vague_name_is_used_and_every_exception_is_needed() -> None:
    in_text, in_names = words.uses(words.working_tree(), LISTS)
    for found in (in_text, in_names):
        bad = words.forbidden(found, LISTS)
        assert not bad, _summary(bad)
    unused = [each for each in LISTS.exemptions if not any(each.covers(use) for use in (*in_text, *in_names))]
    assert not unused


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("it lights the lamp", ["lamp"]),
        ("Lamp and LAMP_OIL", ["lamp", "lamp"]),
        ("lampOil, tableLamp, TableLamp2, HTTPLamp", ["lamp", "lamp", "lamp"]),
        ("a long\n    way", ["long way"]),
        ("lamps, clamp", []),
    ],
)
def test_a_forbidden_word_is_found_in_every_spelling(text: str, found: list[str]) -> None:
    pattern = words.pattern_of(("lamp", "long way"))
    assert [use.word for use in words.words_in("notes.md", text, pattern)] == found


@pytest.mark.parametrize(
    ("file", "text", "lines"),
    [
        ("again.py", "", [0]),
        ("a.py", "x = 1\ndef run_again(): ...\nclass Again: ...\nagain = 2\n", [2, 3]),
        ("a.rs", '// fn again()\nlet s = "fn again";\nfn run_again() {}\nstruct Again;\n', [3, 4]),
        ("a.ts", "// function again()\nconst again = () => 1;\nclass A {\n  again(): void {}\n}\n", [2, 4]),
        ("a.py", "def test_again(): ...\n", []),
        ("a.py", "def side_by_side(): ...\n", []),
    ],
)
def test_a_vague_name_is_found_where_it_is_defined(file: str, text: str, lines: list[int]) -> None:
    names = [words.Name("again", any_part=True), words.Name("side", any_part=False)]
    assert [use.line for use in words.names_in(file, text, names)] == lines
