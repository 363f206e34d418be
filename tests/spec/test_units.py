"""Rates, times, sizes and shares as tc writes them."""

from contextlib import suppress
from decimal import Decimal
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.spec import units
from dumbbell.spec.units import Wrong

ANYTHING = st.one_of(
    st.text(),
    st.from_regex(r"[+-]?[0-9]{0,4}\.?[0-9]{0,4}(e[+-]?[0-9]{1,3})?[A-Za-z%]{0,5}", fullmatch=True),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.lists(st.integers()),
)
queue_size = partial(units.value_of, "queue size")
count = partial(units.value_of, "count")
PARSERS = [
    units.rate_bps,
    units.duration_ns,
    units.share,
    units.size_bytes,
    units.tc_size_bytes,
    queue_size,
    count,
]


@given(st.integers(1, 10**12))
def test_a_rate_is_parsed_back_from_its_text(rate: int) -> None:
    assert units.rate_bps(units.rate_text(rate)) == rate


@given(st.integers(0, 10**15))
def test_a_time_is_parsed_back_from_its_text(time: int) -> None:
    assert units.duration_ns(units.time_text(time)) == time


@pytest.mark.slow(keep="rate_bps")
@pytest.mark.parametrize("parser", PARSERS)
@given(value=ANYTHING)
def test_a_quantity_is_a_number_or_wrong(parser: "type[int]", value: object) -> None:
    with suppress(Wrong):
        assert parser(value) >= 0  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("80mbit", 80_000_000),
        ("5gbit", 5_000_000_000),
        ("64kbit", 64_000),
        ("1tbit", 10**12),
        ("1bit", 1),
        ("10mbps", 80_000_000),
        ("1Mbit", 1_000_000),
        ("1.5mbit", 1_500_000),
        (".05mbit", 50_000),
        ("1kibit", 1024),
        ("1mibps", 8 * 2**20),
        ("1e3kbit", 1_000_000),
        (" 80mbit ", 80_000_000),
    ],
)
def test_rates_as_tc_writes_them(text: str, bps: int) -> None:
    assert units.rate_bps(text) == bps


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("80", "a rate without a unit"),
        (80, "a rate without a unit"),
        ("-1mbit", "a negative rate"),
        ("80mbits", "'mbits' is not a unit of rate"),
        ("80 mbit", "not a quantity"),
        ("fast", "not a quantity"),
        ("", "not a quantity"),
        (True, "not a quantity"),
        (None, "not a quantity"),
        ("0mbit", "a rate out of range"),
        ("2tbit", "a rate out of range"),
        ("nanmbit", "not a quantity"),
        ("80mbit;reboot", "not a quantity"),
        ("80mbit\n; reboot", "not a quantity"),
    ],
)
def test_an_invalid_rate_is_an_error(value: object, problem: str) -> None:
    with pytest.raises(Wrong) as caught:
        units.rate_bps(value)
    assert caught.value.problem == problem
    assert caught.value.right


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("13ms", 13_000_000),
        ("500us", 500_000),
        ("2s", 2 * 10**9),
        ("1min", 60 * 10**9),
        ("0", 0),
        ("0s", 0),
        (".5s", 500_000_000),
        ("7nsecs", 7),
        ("1000000s", 10**15),
    ],
)
def test_times_as_tc_writes_them(text: str, ns: int) -> None:
    assert units.duration_ns(text) == ns


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("13", "a time without a unit"),
        (13, "a time without a unit"),
        ("-1ms", "a negative time"),
        ("1h", "'h' is not a unit of time"),
        ("1000001s", "a time longer than eleven days"),
        ("13ms 2ms", "not a quantity"),
    ],
)
def test_an_invalid_time_is_an_error(value: object, problem: str) -> None:
    with pytest.raises(Wrong) as caught:
        units.duration_ns(value)
    assert caught.value.problem == problem


def test_kb_is_1024_and_capital_kb_is_1000() -> None:
    sizes = {"225000b": 225_000, "1500": 1500, "64kb": 65_536, "61MB": 61_000_000, "64kB": 64_000, "1KiB": 1024}
    assert {text: units.size_bytes(text) for text in sizes} == sizes
    assert units.size_bytes("1mb") == units.size_bytes("1MiB") == 2**20
    assert units.size_bytes("1GB") == 10**9


def test_tc_sizes_ignore_case() -> None:
    assert units.tc_size_bytes("64KB") == units.tc_size_bytes("64kb") == 65_536
    assert units.tc_size_bytes("1mbit") == 2**17
    assert units.tc_size_bytes(".05mbit") == int(Decimal("0.05") * 2**17)


@pytest.mark.parametrize("value", ["-5MB", "0b", "1packet", "0.1", "five", "1 MB"])
def test_an_invalid_size_is_an_error(value: str) -> None:
    with pytest.raises(Wrong):
        units.size_bytes(value)


def test_a_queue_size_is_in_bytes_or_bdp() -> None:
    assert queue_size("1.5bdp") == 1.5
    assert isinstance(queue_size("225000"), int)
    for text in ("0bdp", "-1bdp"):
        with pytest.raises(Wrong, match="no bandwidth-delay product"):
            queue_size(text)


def test_a_share_is_in_per_cent_with_or_without_the_sign() -> None:
    assert units.share("1%") == units.share("1") == units.share(1) == 0.01
    assert units.share("0.1%") == 0.001
    for outside in ("101%", "-1%"):
        with pytest.raises(Wrong, match="outside 0% to 100%"):
            units.share(outside)


def test_a_count_is_an_integer() -> None:
    assert count("1000") == 1000
    for text in ("1.5", "-1", "10packets"):
        with pytest.raises(Wrong):
            count(text)


@pytest.mark.parametrize(
    ("parser", "text"),
    [
        (units.rate_bps, "1e9999999mbit"),
        (units.duration_ns, "1e9999999s"),
        (units.size_bytes, "1e9999999kb"),
        (units.size_bytes, "1e9999999MB"),
    ],
)
def test_a_quantity_out_of_range_is_an_error(parser: "type[int]", text: str) -> None:
    with pytest.raises(Wrong):
        parser(text)
