"""Sentences: their text, and that they contain only numbers from their input."""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.analysis.findings import findings
from dumbbell.reports.markup import jain_text, number, percent, percents
from dumbbell.reports.sentences import ORDER, sentences
from synthetic import Bench, Flow, alternating, alternating_rate, sawtooth, with_flow

NUMBER = re.compile(r"\d+(?:\u202f\d{3})*(?:\.\d+)?(?:e[-+]\d+)?")
FIXED = ("95 % up to", "for 95 % of the time", "PROBE_RTT")
"""Text with digits that are no measurement."""
NAMES = ("left", "right", "other")

rates = st.floats(0.1e6, 30e6)


@st.composite
def flows(draw: st.DrawFn, name: str, group: str, duration_s: float) -> Flow:
    start_s = draw(st.sampled_from([0.0, 0.0, round(duration_s / 4, 2)]))
    sized = draw(st.booleans())
    fct_s = draw(st.one_of(st.none(), st.floats(0.01, duration_s / 2))) if sized else None
    low, high = draw(rates), draw(rates)
    rate: Any = draw(st.sampled_from([low, alternating_rate(duration_s / 5, low, high)]))
    return Flow(
        name, group, rate_bps=rate, cwnd=sawtooth(draw(st.floats(2, 40)), draw(st.floats(41, 300)), duration_s / 9),
        rtt_ms=draw(st.floats(1, 300)), kind=draw(st.sampled_from(["tcp", "tcp", "udp"])), start_s=start_s,
        bytes_asked=10_000 if sized else None, fct_s=fct_s, retransmit_rate=draw(st.sampled_from([0.0, 0.003, 0.2])),
    )  # fmt: skip


@st.composite
def benches(draw: st.DrawFn) -> Bench:
    duration_s = draw(st.sampled_from([10.0, 15.0]))
    groups = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3))
    bench_flows = [draw(flows("abcdef"[index], group, duration_s)) for index, group in enumerate(groups)]
    low, high = draw(st.integers(0, 5)), draw(st.integers(6, 160))
    qdisc = draw(st.sampled_from(["pfifo limit 100", "bfifo limit 150000", "fq_codel", "codel limit 7 ecn"]))
    manifest = {"experiment": {"path": {"rtt": draw(st.sampled_from(["20ms", "1s", "0s", "150us"]))}}}
    return Bench(
        bench_flows, duration_s, 0.1, queue_packets=sawtooth(low, high, 2.0), qdisc=qdisc, manifest=manifest,
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
    for phrase in FIXED:
        text = text.replace(phrase, "")
    return NUMBER.findall(text)


def formatted(numbers: Mapping[str, Any]) -> set[str]:
    """All formatted forms of these numbers."""
    forms = itertools.chain.from_iterable(
        (number(value), percent(value), jain_text(value), f"{value:.2f}") for value in leaves(numbers)
    )
    shares = [group["share"] for group in numbers.get("groups", {}).values()]
    rounded = (text for text in percents(shares) if text is not None)
    return {token for form in itertools.chain(forms, rounded) for token in tokens(form)}


@settings(max_examples=30)
@given(benches())
def test_sentences_contain_only_input_numbers(bench: Bench) -> None:
    numbers = findings(bench.make())
    known = formatted(numbers)
    summary = sentences(numbers)
    assert summary
    for text in summary:
        assert text.endswith(".")
        assert "None " not in text.removeprefix("None of the ")
        assert set(tokens(text)) <= known, text


def test_the_check_detects_an_invented_number() -> None:
    known = formatted({"share": 0.731, "rtt": [12.34, None]})
    assert set(tokens("It took 73 % and 12.3 ms, 95 % up to 12.3 ms.")) <= known
    assert not set(tokens("It took 74 %.")) <= known
    assert tokens("12\u202f345 packets in 1e-05 s") == ["12\u202f345", "1e-05"]


def summary_of(bench: Bench) -> str:
    return " ".join(sentences(findings(bench.make())))


def test_every_sentence_occurs() -> None:
    late = Bench([Flow("a", "a"), Flow("b", "b", start_s=3)], qdisc="pfifo limit 50", marks=3)
    page = Bench([Flow("a", "a", bytes_asked=10**6, fct_s=1.5)])
    requests = Bench([Flow("a", "a")]).make()
    requests = with_flow(requests, 0, exchanges_s=[0.5, 0.7])
    cyclic = alternating(60, 10, 0.05)
    cyclic.manifest = {"experiment": {"path": {"rtt": "13ms"}}}
    runs = [late.make(), page.make(), requests, cyclic.make()]
    missing = {sentence.__name__ for sentence in ORDER if not any(sentence(findings(run)) for run in runs)}
    assert missing == {
        "dips",
        "states",
        "cost_of_alternation",
    }  # The next test covers them: a bench has no states and no losses.


def test_states_dips_and_the_cost_of_alternation() -> None:
    numbers = {"groups": {"bbr": {"states": {"probe_bw": 0.97, "probe_rtt": 0.02, "drain": 0.001}}}, "flows": [
        {"name": "bbr-1", "group": "bbr", "dips": {
            "count": 11, "depth": 0.999, "lasted_ms": 240.0, "apart_s": 10.24, "reported_depth": 0.4,
            "before_mbps": 4527.0, "lowest_mbps": 4.6,
        }}
    ]}  # fmt: skip
    spans = {"bbr": {"least": 0.001, "most": 0.05}, "cubic": {"least": 0.01, "most": 0.015}}
    by_name = {sentence.__name__: sentence for sentence in ORDER}
    cost = "Over a cycle bbr lost between 0.1 % and 5.0 % of what it sent."
    assert by_name["cost_of_alternation"]({"cycle_loss": spans}) == cost
    assert by_name["states"](numbers) == "bbr spent 97 % of the time in probe_bw and 2.0 % of the time in probe_rtt."
    assert by_name["dips"](numbers) == (
        "bbr-1 entered PROBE_RTT 11 times, 10.2 s apart: its delivery rate fell by 99.9 %, from 4\u202f527 "
        "to 4.60 Mbit/s, for 240.0 ms (medians). tcpi_delivery_rate does not show this: "
        "the socket keeps its last sample."
    )


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"kind": "alternating"}, "a and b alternated with a period of 20.0 s (half a period: 10.0 s)"),
        (
            {"kind": "opposed"},
            "a and b moved in opposite directions with a period of 20.0 s (half a period: 10.0 s); "
            "a led 80 % of the time",
        ),
        ({"kind": "together"}, "a and b rose and fell together with a period of 20.0 s"),
        (
            {"kind": "separate"},
            "The rate difference between a and b repeats with a period of 20.0 s; they don't alternate",
        ),
        (
            {"kind": "separate", "probe_rtt_s": 20.2},
            "The rate difference between a and b repeats with a period of 20.0 s, "
            "the interval of PROBE_RTT (20.2 s); they don't alternate",
        ),
    ],
)
def test_only_alternating_groups_are_reported_as_such(changed: dict[str, Any], text: str) -> None:
    groups = {name: {"share": share, "throughput_mbps": 1.0} for name, share in (("b", 0.4), ("a", 0.6))}
    cycle = {"period_s": 20.0, "half_period_s": 10.0, "strength": 0.9, "p_value": 0.002, "correlation": -0.7}
    cycle |= {"second_leads": 0.2, "probe_rtt_s": None} | changed
    by_name = {sentence.__name__: sentence for sentence in ORDER}
    sentence = by_name["alternation"]({"groups": groups, "cycle": cycle})
    assert sentence == f"{text} (strength 0.90, p 0.002, correlation -0.70)."


def test_two_groups_alternate() -> None:
    found = re.search(r"bbr and cubic alternated with a period of ([0-9.]+) s", summary_of(alternating(60, 10, 0.05)))
    assert found is not None
    assert float(found[1]) == pytest.approx(10, rel=0.03)


def test_a_single_oscillating_group_does_not_alternate() -> None:
    rng = np.random.default_rng(7)
    noise = np.cumsum(rng.standard_normal(6001)) * 1e3
    cubic = Flow("cubic", "cubic", rate_bps=lambda t: 2e6 + np.interp(t, np.arange(6001) / 100, noise))
    bench = Bench([Flow("bbr", "bbr", rate_bps=alternating_rate(10, 80e6, 40e6)), cubic], 60, 0.1)
    assert "The rate difference between bbr and cubic repeats with a period of 10" in summary_of(bench)
    assert "they don't alternate" in summary_of(bench)


def test_shares_of_the_goodput_add_up() -> None:
    bench = Bench([Flow("bbr", "bbr", rate_bps=99.58e6), Flow("cubic", "cubic", rate_bps=0.42e6)])
    assert "bbr got 99.58 % of the goodput" in summary_of(bench)
    assert "cubic got 0.42 % of the goodput" in summary_of(bench)


def test_power_has_a_readable_unit() -> None:
    bench = Bench([Flow("a", "a", rate_bps=40e6, rtt_ms=20.0), Flow("b", "b", rate_bps=10e6, rtt_ms=20.0)])
    text = "a had the highest power (throughput ÷ mean RTT), 2.00 Mbit/s per ms; b the lowest, 0.5 Mbit/s per ms."
    assert text in summary_of(bench)


@pytest.mark.parametrize(
    ("queue", "text"),
    [
        (
            20.0,
            "The queue was never empty (1\u202f001 samples); "
            "for 95 % of the time the queueing delay was at least 6.06 ms.",
        ),
        (lambda t: np.where(t < 0.5, 0.0, 20.0), "After 0.49 s the queue was never empty"),
        (lambda t: np.where(t < 5, 0.0, 20.0), "The queue was empty 50 % of the time"),
        (150.0, "The queue was full 100 % of the time."),
        (149.0, "The queue was never full."),
    ],
)
def test_an_empty_and_a_full_queue_are_reported(queue: Any, text: str) -> None:
    assert text in summary_of(Bench([Flow("a", "a")], queue_packets=queue))


def test_a_limit_in_bytes_is_full_when_no_packet_fits() -> None:
    assert "The queue was full 100 %" in summary_of(
        Bench([Flow("a", "a")], queue_packets=9.0, qdisc="bfifo limit 15000")
    )
    assert "The queue was never full." in summary_of(
        Bench([Flow("a", "a")], queue_packets=8.0, qdisc="bfifo limit 15000")
    )
    assert "full" not in summary_of(Bench([Flow("a", "a")], queue_packets=8.0, qdisc="fq_codel"))


def test_rtts_are_compared_with_propagation_only_if_nothing_adds_to_it() -> None:
    path = {"path": {"rtt": "10ms"}}
    bench = Bench([Flow("a", "a", rtt_ms=25.0)], manifest={"experiment": path})
    assert "propagation RTT is 10.0 ms; the mean RTT was 2.50 times that for a (25.0 ms)" in summary_of(bench)
    for added in ({"changes": [{"at": "1s", "rtt": "9ms"}]}, {"flows": [{"access": {"delay": "5ms"}}]}):
        bench.manifest = {"experiment": path | added}
        assert "propagation RTT" not in summary_of(bench)


def test_incomplete_transfers_are_not_counted_as_complete() -> None:
    flows = [Flow(f"p-{n}", "pages", bytes_asked=10**6, fct_s=fct) for n, fct in enumerate([1.5, 2.5, None])]
    assert "2 of 3 transfers of pages completed, in 2.00 s on average, 2.50 s at most." in summary_of(Bench(flows))
    none = [Flow("p", "pages", bytes_asked=10**6)]
    assert "The transfer of pages did not complete." in summary_of(Bench(none))
    assert "None of the 2 transfers of pages completed." in summary_of(
        Bench([*none, Flow("q", "pages", bytes_asked=10**6)])
    )
