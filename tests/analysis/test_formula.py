"""Values and filters of a sweep's table: results, rejected input, and access to columns only."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.formula import condition, quoted, value
from dumbbell.errors import ResultError

TABLE = pl.DataFrame({
    "path.rtt": ["5ms", "20ms"], "path.rtt_ms": [5.0, 20.0], "engine": ["sim", "kernel"], "seed": [1, 2],
    "groups.bbr.share": [0.6, 0.25], "groups.bbr-2.share": [0.0, 0.5],
})  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("groups.bbr.share", [0.6, 0.25]),
        ('"groups.bbr.share"', [0.6, 0.25]),
        ("100 * groups.bbr.share", [60.0, 25.0]),
        ("groups.bbr.share - groups.bbr-2.share", [0.6, -0.25]),
        ("groups.bbr.share / groups.bbr-2.share", [None, 0.5]),
        ("(path.rtt_ms + seed) / 2", [3.0, 11.0]),
        ("greatest(groups.bbr.share, 0.5)", [0.6, 0.5]),
        ("case when engine = 'sim' then 1 else 0 end", [1.0, 0.0]),
        ("ln(0 * seed)", [None, None]),
    ],
)
def test_a_value_is_a_number_of_each_run_or_unknown(text: str, expected: list[float | None]) -> None:
    assert TABLE.select(it=value(text, TABLE))["it"].to_list() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("seed <= 1", [True, False]),
        ("path.rtt = '20ms' and engine = 'kernel'", [False, True]),
        ("not groups.bbr-2.share between 0.4 and 0.6", [True, False]),
        ("path.rtt in ('5ms', '7ms') or engine like 'k%'", [True, True]),
    ],
)
def test_a_condition_selects_runs(text: str, expected: list[bool]) -> None:
    assert TABLE.select(it=condition(text, TABLE))["it"].to_list() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("groups.bbr.shar", "unknown column 'groups.bbr.shar'; did you mean 'groups.bbr.share'?"),
        ("1 + nothing.such", "unknown column 'nothing.such' in '1 + nothing.such'"),
        ('"nothing"', "unknown column 'nothing'"),
        ("path.rtt", "is String, not a number per run"),
        ("avg(seed)", "unknown function 'avg'"),
        ("", "is not a value"),
        ("seed +", "can't be parsed as a value"),
        ("seed seed", "missing operator between seed and seed"),
        ("seed; 1", "';' is not allowed"),
        ("seed -- 1", "is not allowed"),
        ("(" * 100 + "seed" + ")" * 100, "is not a value"),
    ],
)
def test_invalid_values_are_explained(text: str, message: str) -> None:
    with pytest.raises(ResultError) as error:
        value(text, TABLE)
    assert message in str(error.value)


def test_a_number_is_not_a_condition() -> None:
    with pytest.raises(ResultError, match="is Int64, not a condition"):
        condition("seed", TABLE)


@pytest.mark.parametrize(
    "text",
    [
        "(select max(a) from read_csv('/etc/passwd'))",
        "(SELECT 1)",
        "exists (table runs)",
        "read_csv('/etc/passwd')",
        "seed in (select seed from runs)",
        "'/etc/passwd' /* */ || 'x'",
    ],
)
def test_an_untrusted_formula_reads_no_file(text: str) -> None:
    """Polars expressions can contain queries, which can read files; formulas are checked before evaluation."""
    for read in (value, condition):
        with pytest.raises(ResultError) as error:
            read(text, TABLE)
        assert "root:" not in str(error.value)


def test_quotes_go_around_names_with_dots_and_nothing_else() -> None:
    text = "select a.path.rtt, 'path.rtt', \"path.rtt\" from runs a -- path.rtt"
    assert quoted(text, TABLE.columns) == 'select a."path.rtt", \'path.rtt\', "path.rtt" from runs a -- path.rtt'
    assert quoted("path.rtt_ms+path.rtt_msx", TABLE.columns) == '"path.rtt_ms"+path.rtt_msx'


TEXTS = st.sampled_from(
    [*TABLE.columns, "select", "from", "read_csv", "case", "end", "null", "abs", "and", "'x'", "1e9"]
)
SIGNS = st.sampled_from(list("()+-*/%,=<>;'\".\\ \n\0é|&!~^#@[]{}:?$"))


@given(st.lists(st.one_of(TEXTS, SIGNS, st.text(max_size=4)), max_size=25).map(" ".join))
def test_any_text_is_a_value_or_an_error(text: str) -> None:
    try:
        found = TABLE.select(it=value(text, TABLE))["it"]
    except ResultError:
        return
    except (
        pl.exceptions.PolarsError
    ) as error:  # For example a text compared with a number, which only evaluation detects.
        raise AssertionError(f"{text!r}: {error}") from error
    assert found.dtype == pl.Float64
    assert found.is_finite().fill_null(value=True).all()


@given(st.text(max_size=60))
def test_any_text_keeps_all_but_its_quotes(text: str) -> None:
    assert quoted(text, TABLE.columns).replace('"', "") == text.replace('"', "")
