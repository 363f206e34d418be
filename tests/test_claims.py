"""Figures that pages state about quality agree with committed results; docs/claims.toml lists them."""

import csv
import json
import re
import tomllib
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
CLAIMS = tomllib.loads((ROOT / "docs" / "claims.toml").read_text(encoding="utf-8"))["claims"]
PAGES = [ROOT / "README.md", *(file for folder in ("docs", "validation") for file in (ROOT / folder).rglob("*.md"))]


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("**", "").replace("`", ""))


TEXTS = {file.relative_to(ROOT).as_posix(): plain(file.read_text(encoding="utf-8")) for file in PAGES}


def value_of(source: Path, expression: str) -> Decimal:
    """The value of "a.b.c" or, in a CSV, "key,key.column", with an optional factor."""
    path, _, factor = expression.partition(" * ")
    steps = [step.replace("\\.", ".") for step in re.split(r"(?<!\\)\.", path)]
    if source.suffix == ".csv":
        keys, column = steps[0].split(","), steps[-1]
        with source.open(encoding="utf-8", newline="") as file:
            (row,) = [row for row in csv.DictReader(file) if list(row.values())[: len(keys)] == keys]
        found: Any = row[column]
    else:
        found = json.loads(source.read_text(encoding="utf-8"))
        for step in steps:
            found = found[step]
    return Decimal(str(found)) * Decimal(factor or "1")


def shows(text: str, value: Decimal) -> bool:
    """Whether the text is the value, rounded to the text's decimals."""
    number = Decimal(text.replace(",", ""))
    step = Decimal(1).scaleb(int(number.as_tuple().exponent))
    return number in {value.quantize(step, rounding) for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP)}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim['source']}:{claim['values'][0]}")
def test_a_page_states_what_was_measured(claim: dict[str, Any]) -> None:
    values = [value_of(ROOT / claim["source"], expression) for expression in claim["values"]]
    pages = {claim["page"]: TEXTS[claim["page"]]} if "page" in claim else TEXTS
    found = {(page, match) for page, text in pages.items() for match in re.finditer(claim["pattern"], text)}
    assert found, f"no page has the sentence {claim['pattern']!r}"
    mismatches = [
        (page, match[0][:200], [str(value) for value in values])
        for page, match in found
        if not all(shows(text, value) for text, value in zip(match.groups(), values, strict=True))
    ]
    assert mismatches == []


def test_no_page_states_the_agreement_of_engines_without_a_claim() -> None:
    """Sentences of the form "N of M ... agree, are within tolerance, pass" are listed."""
    patterns = [re.compile(claim["pattern"]) for claim in CLAIMS]
    stated = re.compile(r"\b\d+ of (?:the )?\d+ [^.|]{0,60}?(?:are within tolerance|experiments no compared|pass\b)")
    unlisted = [
        (page, match[0])
        for page, text in TEXTS.items()
        for match in stated.finditer(text)
        if not any(
            claimed.start() <= match.start() < claimed.end() for each in patterns for claimed in each.finditer(text)
        )
    ]
    assert unlisted == []


@pytest.mark.parametrize(
    ("text", "value", "agrees"), [("25", "25", True), ("0.17", "0.1739", True), ("72", "72.6", False)]
)
def test_a_number_agrees_if_it_is_the_rounded_value(text: str, value: str, agrees: bool) -> None:
    assert shows(text, Decimal(value)) is agrees
