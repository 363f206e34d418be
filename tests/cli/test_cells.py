"""Numbers in table cells: few characters, enough digits."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.cli import watch_fields as fields
from dumbbell.cli.watch_fields import BLOCKS, COLUMNS, fitting, graph, sparkline

PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


@given(st.floats(0, 1e17))
def test_a_rate_has_five_characters_and_three_digits(bps: float) -> None:
    text = fields.rate(bps)
    match = re.fullmatch(r"([0-9.]+)([kMGTP]?)", text)
    assert match
    assert len(text) <= 5
    assert float(match[1]) * PREFIXES[match[2]] == pytest.approx(bps, rel=0.006, abs=0.5)


@given(st.integers(1, 10**14))
def test_a_time_has_three_digits(ns: int) -> None:
    match = re.fullmatch(r"([0-9.]+)(µs|ms|s)", fields.time(ns))
    assert match
    assert float(match[1]) * {"µs": 1e3, "ms": 1e6, "s": 1e9}[match[2]] == pytest.approx(ns, rel=0.006, abs=5)


@given(st.ip_addresses().map(str), st.integers(0, 65535), st.integers(12, 60))
def test_an_address_keeps_its_port_and_its_width(ip: str, port: int, width: int) -> None:
    text = fields.address(ip, port, width)
    assert len(text) <= width
    assert text.endswith(f":{port}")


@given(st.integers(60, 400))
def test_columns_fit(width: int) -> None:
    chosen = fitting(width)
    assert sum(space + 1 for _, space in chosen) <= width
    assert all(space >= column.width for column, space in chosen)
    names = [column.name for column, _ in chosen]
    assert ("port" in names) != ("local" in names)
    assert names == [column.name for column in COLUMNS if column.name in names]


@given(st.lists(st.floats(0, 1e12) | st.just(math.nan), min_size=1, max_size=40), st.integers(1, 6))
def test_a_graph_is_as_high_as_its_values(values: list[float], height: int) -> None:
    lines = graph(np.array(values), height)
    assert {len(line) for line in lines} == {len(values)}
    heights = [sum(BLOCKS.index(line[at]) for line in lines) for at in range(len(values))]
    top = max((value for value in values if not math.isnan(value)), default=0)
    for value, found in zip(values, heights, strict=True):
        if math.isnan(value):
            assert found == 0
        elif top:
            assert found == pytest.approx(max(value / top * 8 * height, 1), abs=1.001)


def test_a_missing_value_and_zero_differ() -> None:
    assert sparkline(np.array([math.nan, 0, 4, 8])) == " ▁▄█"
    assert (fields.rate(None), fields.rate(0), fields.time(0), fields.count(None)) == (
        "",
        "0",
        "0",
        "",
    )
