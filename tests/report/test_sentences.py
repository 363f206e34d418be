"""What the sentences say, and that they say nothing that the numbers don't."""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.analysis import findings
from dumbbell.analysis.shares import percents
from dumbbell.report import sentences
from dumbbell.report.sentences import ORDER
from dumbbell.report.words import jain_text, number, percent
from synthetic import Bench, Flow, sawtooth, taking_turns, turns

NUMBER = re.compile(r"\d+(?:\u202f\d{3})*(?:\.\d+)?(?:e[-+]\d+)?")
FIXED = ("95 % up to", "for 95 % of the time", "PROBE_RTT")
"""Words with digits in them that name no measurement."""
NAMES = ("left", "right", "other")

rates = st.floats(0.1e6, 30e6)


@st.composite
def flows(draw: st.DrawFn, name: str, group: str, duration_s: float) -> Flow:
    start_s = draw(st.sampled_from([0.0, 0.0, round(duration_s / 4, 2)]))
    sized = draw(st.booleans())
    done = draw(st.one_of(st.none(), st.floats(0.01, duration_s / 2))) if sized else None
    low, high = draw(rates), draw(rates)
    rate: Any = draw(st.sampled_from([low, turns(duration_s / 5, low, high)]))
    return Flow(
        name, group, rate_bps=rate, cwnd=sawtooth(draw(st.floats(2, 40)), draw(st.floats(41, 300)), duration_s / 9),
        rtt_ms=draw(st.floats(1, 300)), kind=draw(st.sampled_from(["tcp", "tcp", "udp"])), start_s=start_s,
        bytes_asked=10_000 if sized else None, fct_s=done, retransmit_rate=draw(st.sampled_from([0.0, 0.003, 0.2])),
    )  # fmt: skip


@st.composite
def benches(draw: st.DrawFn) -> Bench:
    duration_s = draw(st.sampled_from([10.0, 15.0]))
    groups = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3))
    made = [draw(flows("abcdef"[place], group, duration_s)) for place, group in enumerate(groups)]
    low, high = draw(st.integers(0, 5)), draw(st.integers(6, 160))
    qdisc = draw(st.sampled_from(["pfifo limit 100", "bfifo limit 150000", "fq_codel", "codel limit 7 ecn"]))
    birth = {"experiment": {"path": {"rtt": draw(st.sampled_from(["20ms", "1s", "0s", "150us"]))}}}
    return Bench(
        made, duration_s, 0.1, queue_packets=sawtooth(low, high, 2.0), qdisc=qdisc, birth=birth,
        drops=draw(st.sampled_from([0, 1, 2000])), marks=draw(st.sampled_from([None, 0, 12])),
        ping_ms=draw(st.floats(0.05, 900)), lost_pings=draw(st.sampled_from([0, 3, 100])),
    )  # fmt: skip


def leaves(value: object) -> Iterator[float]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def tokens(text: str) -> list[str]:
    for words in FIXED:
        text = text.replace(words, "")
    return NUMBER.findall(text)


def named(numbers: Mapping[str, Any]) -> set[str]:
    """Every way in which one of these numbers may be written."""
    forms = itertools.chain.from_iterable(
        (number(value), percent(value), jain_text(value), f"{value:.2f}") for value in leaves(numbers)
    )
    shares = [group["share"] for group in numbers.get("groups", {}).values()]
    rounded = (text for text in percents(shares) if text is not None)
    return {token for form in itertools.chain(forms, rounded) for token in tokens(form)}


@settings(max_examples=30)
@given(benches())
def test_no_sentence_names_a_number_that_is_not_in_the_numbers(bench: Bench) -> None:
    numbers = findings(bench.make())
    known = named(numbers)
    said = sentences(numbers)
    assert said
    for text in said:
        assert text.endswith(".")
        assert "None " not in text.removeprefix("None of the ")
        assert set(tokens(text)) <= known, text


def test_the_check_itself_finds_a_number_that_is_made_up() -> None:
    known = named({"share": 0.731, "rtt": [12.34, None]})
    assert set(tokens("It took 73 % and 12.3 ms, 95 % up to 12.3 ms.")) <= known
    assert not set(tokens("It took 74 %.")) <= known
    assert tokens("12\u202f345 packets in 1e-05 s") == ["12\u202f345", "1e-05"]


def said_of(bench: Bench) -> str:
    return " ".join(sentences(findings(bench.make())))


def test_every_sentence_is_said_of_some_run() -> None:
    late = Bench([Flow("a", "a"), Flow("b", "b", start_s=3)], qdisc="pfifo limit 50", marks=3)
    page = Bench([Flow("a", "a", bytes_asked=10**6, fct_s=1.5)])
    asking = Bench([Flow("a", "a")]).make()
    asking.birth["flows"][0]["exchanges_s"] = [0.5, 0.7]
    turning = taking_turns(60, 10, 0.05)
    turning.birth = {"experiment": {"path": {"rtt": "13ms"}}}
    runs = [late.make(), page.make(), asking, turning.make()]
    silent = {said.__name__ for said in ORDER if not any(said(findings(run)) for run in runs)}
    assert silent == {"dips", "states", "cost_of_turns"}  # The next test says them: a bench has no states, no losses.


def test_states_dips_and_the_cost_of_turns() -> None:
    numbers = {"groups": {"bbr": {"states": {"probe_bw": 0.97, "probe_rtt": 0.02, "drain": 0.001}}}, "flows": [
        {"name": "bbr-1", "group": "bbr", "dips": {
            "count": 11, "depth": 0.999, "lasted_ms": 240.0, "apart_s": 10.24, "reported_depth": 0.4,
            "before_mbps": 4527.0, "lowest_mbps": 4.6,
        }}
    ]}  # fmt: skip
    spans = {"bbr": {"least": 0.001, "most": 0.05}, "cubic": {"least": 0.01, "most": 0.015}}
    by_name = {said.__name__: said for said in ORDER}
    lost = "Over a cycle bbr lost between 0.1 % and 5.0 % of what it sent."
    assert by_name["cost_of_turns"]({"cycle_loss": spans}) == lost
    assert by_name["states"](numbers) == "Of its time bbr spent 97 % in probe_bw and 2.0 % in probe_rtt."
    assert by_name["dips"](numbers) == (
        "bbr-1 looked for the path's delay 11 times, 10.2 s apart: what it delivered fell by 99.9 %, from 4\u202f527 "
        "to 4.60 Mbit/s, for 240.0 ms (PROBE_RTT; medians). Figures of the delivery rate do not show that: the socket "
        "keeps its last sample meanwhile."
    )


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"kind": "alternating"}, "a and b alternated with a period of 20.0 s (half a period: 10.0 s)"),
        (
            {"kind": "opposed"},
            "a and b moved against each other with a period of 20.0 s (half a period: 10.0 s); a led 80 % of the time",
        ),
        ({"kind": "together"}, "a and b rose and fell together with a period of 20.0 s"),
        ({"kind": "separate"}, "The difference between a and b repeats with a period of 20.0 s; they don't alternate"),
        (
            {"kind": "separate", "probe_rtt_s": 20.2},
            "The difference between a and b repeats with a period of 20.0 s, as PROBE_RTT (every 20.2 s); they don't "
            "alternate",
        ),
    ],
)
def test_only_groups_that_alternate_are_said_to(changed: dict[str, Any], words: str) -> None:
    groups = {name: {"share": share, "throughput_mbps": 1.0} for name, share in (("b", 0.4), ("a", 0.6))}
    cycle = {"period_s": 20.0, "half_period_s": 10.0, "strength": 0.9, "p_value": 0.002, "correlation": -0.7}
    cycle |= {"second_leads": 0.2, "probe_rtt_s": None} | changed
    by_name = {said.__name__: said for said in ORDER}
    said = by_name["turns"]({"groups": groups, "cycle": cycle})
    assert said == f"{words} (strength 0.90, p 0.002, correlation -0.70)."


def test_two_groups_alternate() -> None:
    found = re.search(r"bbr and cubic alternated with a period of ([0-9.]+) s", said_of(taking_turns(60, 10, 0.05)))
    assert found is not None
    assert float(found[1]) == pytest.approx(10, rel=0.03)


def test_a_group_that_swings_alone_does_not_alternate() -> None:
    rng = np.random.default_rng(7)
    noise = np.cumsum(rng.standard_normal(6001)) * 1e3
    cubic = Flow("cubic", "cubic", rate_bps=lambda t: 2e6 + np.interp(t, np.arange(6001) / 100, noise))
    bench = Bench([Flow("bbr", "bbr", rate_bps=turns(10, 80e6, 40e6)), cubic], 60, 0.1)
    assert "The difference between bbr and cubic repeats with a period of 10" in said_of(bench)
    assert "they don't alternate" in said_of(bench)


def test_shares_of_the_goodput_add_up() -> None:
    bench = Bench([Flow("bbr", "bbr", rate_bps=99.58e6), Flow("cubic", "cubic", rate_bps=0.42e6)])
    assert "bbr took 99.58 % of the goodput" in said_of(bench)
    assert "cubic took 0.42 % of the goodput" in said_of(bench)


def test_power_has_a_unit_that_reads() -> None:
    bench = Bench([Flow("a", "a", rate_bps=40e6, rtt_ms=20.0), Flow("b", "b", rate_bps=10e6, rtt_ms=20.0)])
    text = "For its delay a got most, 2.00 Mbit/s for each ms of RTT (throughput ÷ mean RTT), and b least, 0.5 Mbit/s."
    assert text in said_of(bench)


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        (20.0, "The queue was never empty (1\u202f001 samples); for 95 % of the time its delay was 6.06 ms or more."),
        (lambda t: np.where(t < 0.5, 0.0, 20.0), "After 0.49 s the queue was never empty"),
        (lambda t: np.where(t < 5, 0.0, 20.0), "The queue was empty 50 % of the time"),
        (150.0, "It was full 100 % of the time."),
        (149.0, "It was never full."),
    ],
)
def test_an_empty_and_a_full_queue_are_told(queue: Any, words: str) -> None:
    assert words in said_of(Bench([Flow("a", "a")], queue_packets=queue))


def test_a_limit_in_bytes_is_full_when_no_packet_fits() -> None:
    assert "It was full 100 %" in said_of(Bench([Flow("a", "a")], queue_packets=9.0, qdisc="bfifo limit 15000"))
    assert "It was never full." in said_of(Bench([Flow("a", "a")], queue_packets=8.0, qdisc="bfifo limit 15000"))
    assert "full" not in said_of(Bench([Flow("a", "a")], queue_packets=8.0, qdisc="fq_codel"))


def test_round_trips_are_held_against_propagation_only_where_nothing_adds_to_it() -> None:
    path = {"path": {"rtt": "10ms"}}
    bench = Bench([Flow("a", "a", rtt_ms=25.0)], birth={"experiment": path})
    assert "own round trip is 10.0 ms; on average it was 2.50 times that for a (25.0 ms)" in said_of(bench)
    for added in ({"changes": [{"at": "1s", "rtt": "9ms"}]}, {"flows": [{"access": {"delay": "5ms"}}]}):
        bench.birth = {"experiment": path | added}
        assert "own round trip" not in said_of(bench)


def test_transfers_that_were_not_done_are_not_counted_as_done() -> None:
    flows = [Flow(f"p-{n}", "pages", bytes_asked=10**6, fct_s=fct) for n, fct in enumerate([1.5, 2.5, None])]
    assert "2 of 3 transfers of pages took 2.00 s on average, 2.50 s at most (those done)." in said_of(Bench(flows))
    none = [Flow("p", "pages", bytes_asked=10**6)]
    assert "The transfer of pages was not done." in said_of(Bench(none))
    assert "None of the 2 transfers of pages was done." in said_of(
        Bench([*none, Flow("q", "pages", bytes_asked=10**6)])
    )
