"""The grammar of queue disciplines."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.spec.units import GRAMMAR, Wrong, parse_qdisc, suggest, value_of

EXAMPLES = {
    "time": "5ms",
    "rate": "10mbit",
    "size": "64kb",
    "packets": "1000",
    "count": "10",
    "class number": "1a",
    "share": "1%",
    "fraction": "0.02",
    "value/mask": "0x01/0x03",
    "time or number of packets": "5p",
}


def example(value_kind: str) -> str:
    value_kind = value_kind.removesuffix("?")
    return EXAMPLES.get(value_kind) or value_kind.split("|")[0]


EVERY_OPTION = [(kind, option) for kind, options in GRAMMAR.items() for option in options]


@pytest.mark.parametrize(("kind", "option"), EVERY_OPTION)
def test_every_option_is_kept_as_written(kind: str, option: str) -> None:
    required = [example(value_kind) for value_kind in GRAMMAR[kind][option] if not value_kind.endswith("?")]
    all_values = [example(value_kind) for value_kind in GRAMMAR[kind][option]]
    for tokens in (required, all_values):
        text = " ".join((kind, option, *tokens))
        assert parse_qdisc(text).text == text


@pytest.mark.parametrize(
    ("kind", "option"),
    [(kind, option) for kind, option in EVERY_OPTION if any(not w.endswith("?") for w in GRAMMAR[kind][option])],
)
def test_an_option_without_its_value_is_an_error_with_the_kind_of_value(kind: str, option: str) -> None:
    with pytest.raises(Wrong, match=f"{kind}: '{option}' takes a"):
        parse_qdisc(f"{kind} {option}")


@given(st.text())
def test_any_text_is_a_discipline_or_wrong(text: str) -> None:
    with suppress(Wrong):
        assert parse_qdisc(text).kind in GRAMMAR


TOKENS = sorted({word for kind, options in GRAMMAR.items() for word in (kind, *options)}) + list(EXAMPLES.values())
HOSTILE = [
    ";",
    "$(reboot)",
    "`reboot`",
    "|",
    ">",
    "&&",
    "../../x",
    "/etc/passwd",
    "\n",
    "\t",
    "'",
    '"',
    "\\",
    "-batch",
    "1.5bdp",
    "é",
]
SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-%/ ")


@given(st.sampled_from(sorted(GRAMMAR)), st.lists(st.one_of(st.sampled_from(TOKENS + HOSTILE), st.text(max_size=4))))
def test_an_accepted_discipline_has_only_safe_characters(kind: str, tokens: list[str]) -> None:
    try:
        qdisc = parse_qdisc(" ".join((kind, *tokens)))
    except Wrong:
        return
    assert set(qdisc.text) <= SAFE
    assert ".." not in qdisc.text
    assert " /" not in qdisc.text


@pytest.mark.parametrize(
    "text",
    [
        "pfifo limit 10; reboot",
        "pfifo limit 10 ; reboot",
        "pfifo limit 10 > /etc/passwd",
        "pfifo limit $(reboot)",
        "pfifo limit `reboot`",
        "pfifo limit 10\nqdisc add dev lo root netem",
        "pfifo limit 10\r\n-batch /etc/passwd",
        "pfifo limit\u20281",
        "netem delay 1ms 1ms distribution ../../etc/passwd",
        "netem delay 1ms 1ms distribution /tmp/x",
        "netem trace /etc/passwd",
        "netem slot distribution ../x 1ms 1ms",
        "codel && reboot",
        "../codel",
        "codel limit ../1",
        "pfifo\x00limit 1",
        "-batch /etc/passwd",
        "htb stab mtu 100",
        "bpf object-file x.o",
    ],
)
def test_a_discipline_reaches_no_file_and_no_program(text: str) -> None:
    with pytest.raises(Wrong):
        parse_qdisc(text)


@pytest.mark.parametrize("value", [None, 5, "", "   ", ["pfifo"], True])
def test_a_discipline_is_text(value: object) -> None:
    with pytest.raises(Wrong, match="not a queueing discipline"):
        parse_qdisc(value)


def test_a_misspelt_name_is_an_error_with_the_nearest_one() -> None:
    with pytest.raises(Wrong) as caught:
        parse_qdisc("fq_codel limt 1000")
    assert caught.value.problem == "fq_codel has no option 'limt'"
    assert caught.value.right.startswith(
        "did you mean 'limit'? there is: ce_threshold, ce_threshold_selector, drop_batch, ecn"
    )
    with pytest.raises(Wrong) as caught:
        parse_qdisc("fq_codle")
    assert caught.value.right.startswith("did you mean 'fq_codel'?")
    with pytest.raises(Wrong) as caught:
        parse_qdisc("pfifo_fast limit 10")
    assert caught.value.right == "it takes no options"


@pytest.mark.parametrize("text", ["pfifo limit 0", "pfifo limit -1", "bfifo limit -5", "codel target 5", "tbf rate 80"])
def test_a_quantity_of_an_option_is_checked(text: str) -> None:
    with pytest.raises(Wrong, match="takes a"):
        parse_qdisc(text)


def test_a_size_in_bdp_is_kept_with_its_unit() -> None:
    assert parse_qdisc("bfifo limit 1.5bdp").bdp_words == {1: (1.5, "size")}
    assert parse_qdisc("pfifo limit 2bdp").bdp_words == {1: (2.0, "packets")}
    assert parse_qdisc("bfifo limit 3000").bdp_words == {}


@pytest.mark.parametrize("text", [" pfifo limit 10", "pfifo limit 10 "])
def test_space_around_a_discipline_does_not_matter(text: str) -> None:
    assert parse_qdisc(text).text == "pfifo limit 10"


def test_an_unlimited_queue_is_an_error() -> None:
    with pytest.raises(Wrong):
        parse_qdisc("bfifo limit 1e999bdp")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("loss", "1%"),
        ("loss", "1"),
        ("loss", "random 1% 25%"),
        ("loss", "gemodel 1% 10% 70% 0.1%"),
        ("loss", "state 1% 20%"),
        ("distribution", "paretonormal"),
        ("reorder", "25% 50%"),
        ("duplicate", "1%"),
        ("corrupt", "0.1%"),
    ],
)
def test_netem_options_are_kept_as_written(option: str, value: str) -> None:
    assert value_of(option, value) == value


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("loss", "101%"),
        ("loss", "random"),
        ("loss", "1% ; reboot"),
        ("loss", "1%\nreboot"),
        ("loss", "1% limit 5"),
        pytest.param(
            "loss",
            "loss 1%",
        ),
        ("loss", ""),
        ("loss", 1),
        ("distribution", "../../etc/passwd"),
        ("distribution", "/tmp/mine"),
        ("reorder", "often"),
        ("duplicate", "$(reboot)"),
        ("corrupt", "1% 2% 3%"),
    ],
)
def test_invalid_netem_options_are_errors(option: str, value: object) -> None:
    with pytest.raises(Wrong) as caught:
        value_of(option, value)
    assert caught.value.right


def test_the_nearest_names_are_suggested_and_related_names_listed() -> None:
    metrics = [f"flows.bbr-{number}.throughput_mbps" for number in range(500)]
    metrics += ["groups.bbr.share", "groups.cubic.share", "groups.bbr.fct_s", "jain"]
    text = suggest("groups.brb.share", metrics)
    assert text.startswith("did you mean 'groups.bbr.share' or ")
    assert text.endswith("there is: groups.bbr.fct_s, groups.bbr.share, groups.cubic.share, and 501 more")
    assert suggest("zzzzzz", metrics).endswith("and 444 more")
    assert suggest("jian", metrics).startswith("did you mean 'jain'? there is: ")
