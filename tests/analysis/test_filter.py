"""The filter language of `dumbbell watch`, which follows ss."""

import ipaddress
import string

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.filter import (
    ADDRESSES,
    KEYS,
    NAMES,
    NUMBERS,
    PORTS,
    Address,
    All,
    Any_,
    Compare,
    Filter,
    Is,
    Not,
    Port,
    matches,
    parse,
)
from dumbbell.analysis.live_sockets import LIMITS
from dumbbell.errors import FilterError
from dumbbell.linux import STATES

OPERATORS = st.sampled_from(["=", "!=", "<", ">", "<=", ">="])
PORT = st.integers(0, 65535)
NETWORKS = st.builds(
    lambda ip, length: ipaddress.ip_network((ip, min(length, ip.max_prefixlen)), strict=False),
    st.ip_addresses().filter(lambda ip: ip.version == 4 or not ip.scope_id),
    st.integers(0, 128),
)
TEXTS = st.text(string.ascii_lowercase + string.digits + "_-", min_size=1, max_size=12)
NAME_FILTERS = st.one_of(
    st.builds(
        Is,
        st.sampled_from(["cc", "phase"]),
        st.booleans(),
        TEXTS.filter(lambda text: text not in {"eq", "ne", "lt", "gt", "le", "ge", "neq", "leq", "geq"}),
    ),
    st.builds(Is, st.just("state"), st.booleans(), st.sampled_from(STATES)),
    st.builds(Is, st.just("limit"), st.booleans(), st.sampled_from(LIMITS)),
    st.builds(Is, st.just("uid"), st.booleans(), st.integers(0, 2**32 - 1).map(str)),
)
TERMS = st.one_of(
    st.builds(Port, st.sampled_from(list(PORTS)), OPERATORS, PORT),
    st.builds(Address, st.sampled_from(list(ADDRESSES)), st.booleans(), NETWORKS, st.none() | PORT),
    NAME_FILTERS,
    st.builds(Compare, st.sampled_from(["rate", "recv", "pacing", "delivery"]), OPERATORS, st.integers(0, 10**12)),
    st.builds(Compare, st.sampled_from(["rtt", "minrtt"]), OPERATORS, st.integers(0, 10**15)),
    st.builds(Compare, st.sampled_from(["cwnd", "inflight", "retrans"]), OPERATORS, st.integers(0, 10**9)),
)
FILTERS = st.recursive(
    TERMS,
    lambda filter_: st.one_of(
        st.builds(Not, filter_),
        st.lists(filter_, min_size=2, max_size=3).map(lambda parts: All(tuple(parts))),
        st.lists(filter_, min_size=2, max_size=3).map(lambda parts: Any_(tuple(parts))),
    ),
    max_leaves=8,
)
TABLE = pl.DataFrame(
    {
        "local_address": ["10.0.0.1", "10.0.0.1", "::1", "::ffff:10.9.9.9"],
        "local_port": [5201, 40000, 22, 443],
        "peer_address": ["192.168.1.5", "10.2.0.7", "::1", "::ffff:10.0.0.1"],
        "peer_port": [50000, 443, 443, 1024],
        "cc": ["bbr", "cubic", "bbr", None],
        "state": ["established", "established", "close_wait", "syn_sent"],
        "phase": ["probe_bw_up", "slow_start", "startup", None],
        "limited_by": ["cwnd", "application", "receiver", None],
        "uid": [0, 1000, 1000, 0],
        "send_bps": [5e7, 0.0, None, 1e3],
        "recv_bps": [0.0, 1e6, None, 0.0],
        "pacing_rate_bps": [6 * 10**7, None, 10**6, None],
        "delivery_rate_bps": [5 * 10**7, 0, 10**6, None],
        "rtt_ns": [30_000_000, 5_000_000, 20_000, None],
        "min_rtt_ns": [30_000_000, 5_000_000, 20_000, None],
        "cwnd_packets": [40, 10, 10, None],
        "inflight_packets": [39, 0, 0, None],
        "retrans_delta": [2, 0, 0, None],
    }
)


def rows(text: str) -> list[int]:
    return matches(parse(text), TABLE).arg_true().to_list()


@given(FILTERS)
def test_a_printed_filter_parses_to_the_same(filter_: Filter) -> None:
    assert parse(str(filter_)) == filter_


@given(FILTERS)
def test_not_negates_the_result_of_every_row(filter_: Filter) -> None:
    yes, no = matches(filter_, TABLE), matches(Not(filter_), TABLE)
    assert yes.null_count() == no.null_count() == 0
    assert (yes != no).all()


SCRAPS = [*KEYS, "and", "or", "not", "(", ")", "=", ">", "443", "bbr", "10.0.0.0/8", "::", "[", "&", "1e9", "5ms"]


@pytest.mark.slow
@given(st.lists(st.sampled_from(SCRAPS) | st.text(max_size=5), max_size=12).map(" ".join))
def test_any_text_is_a_filter_or_an_error_with_a_position(text: str) -> None:
    position: int | None = None
    try:
        found: Filter = parse(text)
    except FilterError as error:
        found, position = All(), error.place
    assert position is None or 0 <= position <= len(text)
    assert len(matches(found, TABLE)) == len(TABLE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [0, 1, 2, 3]),
        ("dport 443", [1, 2]),
        ("dport = :443", [1, 2]),
        ("dport=443", [1, 2]),
        ("sport = :5201", [0]),
        ("port 443", [1, 2, 3]),
        ("port != 443", [0]),
        ("sport < 1024", [2, 3]),
        ("dst 10.0.0.0/8", [1, 3]),
        ("dst 10.2.0.7:443", [1]),
        ("src [::1]:22", [2]),
        ("src ::1", [2]),
        ("addr 10.0.0.1", [0, 1, 3]),
        ("addr != 10.0.0.1", [2]),
        ("cc bbr", [0, 2]),
        ("not cc bbr", [1, 3]),
        ("cc != bbr", [1, 3]),
        ("cc bbr dport 443", [2]),
        ("cc bbr and dport 443 or cc cubic", [1, 2]),
        ("cc bbr and ( dport 443 or cc cubic )", [2]),
        ("(cc bbr)&&(dport 443||cc cubic)", [2]),
        ("! ( cc bbr or cc cubic )", [3]),
        ("phase probe_bw", [0]),
        ("limit receiver", [2]),
        ("state close-wait", [2]),
        ("uid 1000", [1, 2]),
        ("rate > 10mbit", [0]),
        ("rate < 10mbit", [1, 3]),
        ("recv >= 1mbit", [1]),
        ("rtt > 10ms", [0]),
        ("retrans > 0", [0]),
        ("cwnd le 10", [1, 2]),
    ],
)
def test_filters_select_connections(text: str, expected: list[int]) -> None:
    assert rows(text) == expected


@pytest.mark.parametrize(
    ("text", "position", "problem", "right"),
    [
        ("dprt 443", 0, "'dprt' is not a filter key", "dport"),
        ("dport", 5, "ends too early", "a port"),
        ("dport 70000", 6, "'70000' is not a port", "65535"),
        ("cc bbr and", 10, "ends too early", "a condition"),
        ("( cc bbr", 0, "not closed", ""),
        ("cc bbr )", 7, "without an opening one", ""),
        ("dst 10.0.0", 4, "'10.0.0' is not an address", "10.0.0.0/8"),
        ("dst > 10.0.0.1", 4, "can't be ordered", "= or !="),
        ("state up", 6, "'up' is not a state", "established"),
        ("limit reciever", 6, "'reciever' is not a limit", "receiver"),
        ("rate > 10", 7, "a rate without a unit", "80mbit"),
        ("rtt > 5 cc bbr", 6, "", "ms"),
        ("uid root", 4, "not a user ID", "1000"),
        ("cwnd > 1.5", 7, "not an integer", "cwnd"),
        ("(" * 60 + "cc bbr" + ")" * 60, 50, "more than 50", ""),
    ],
)
def test_an_error_has_a_position_and_a_suggestion(text: str, position: int, problem: str, right: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert caught.value.place == position
    assert problem in caught.value.problem
    assert right in caught.value.right


def test_every_key_is_known_by_one_kind() -> None:
    assert len(set(KEYS)) == len(PORTS) + len(ADDRESSES) + len(NAMES) + len(NUMBERS)
