"""States of congestion control over time, reported or inferred from gains."""

import polars as pl
import pytest

from dumbbell.analysis import states
from dumbbell.results.result import Run
from synthetic import NS, Bench, Flow

# Linux's reports of BBR, in order: startup, drain, probing and cruising, PROBE_RTT, and probing again.
GAINS = [(0, 0), (2.89, 2.89), (0.34, 2.89), (1.25, 2.0), (0.75, 2.0), (1.0, 2.0), (1.0, 1.0), (1.0, 2.0)]
NAMES = ["startup", "startup", "drain", "probe_bw", "probe_bw", "probe_bw", "probe_rtt", "probe_bw"]
STARTS = [0, 2, 3, 6, 7]


def with_columns(bench: Bench, **columns: list[object]) -> Run:
    run = bench.make()
    kinds = run.flows.schema
    series = [pl.Series(name, values, kinds[name]) for name, values in columns.items()]
    return Run(run.folder, run.manifest, run.flows.with_columns(series), run.queues, run.probes)


def one_bbr(**columns: list[object]) -> Run:
    return with_columns(Bench([Flow("a", "a", cc="bbr")], duration_s=8.0, sample_s=1.0), **columns)


def gains() -> dict[str, list[object]]:
    pacing, window = zip(*GAINS, GAINS[-1], strict=True)
    return {"bbr_pacing_gain": list(pacing), "bbr_cwnd_gain": list(window)}


@pytest.mark.parametrize(
    ("columns", "inferred"), [(gains(), True), ({"cc_phase": [*NAMES, NAMES[-1]]}, False)], ids=["kernel", "simulator"]
)
def test_states_by_name_and_by_gains_are_the_same(columns: dict[str, list[object]], *, inferred: bool) -> None:
    table = states.phases(one_bbr(**columns))
    assert table.columns == ["flow", "phase", "start_ns", "stop_ns", "inferred"]
    assert table["phase"].to_list() == ["startup", "drain", "probe_bw", "probe_rtt", "probe_bw"]
    assert table["start_ns"].to_list() == [second * NS for second in STARTS]
    assert table["stop_ns"].to_list() == [second * NS for second in [*STARTS[1:], 8]]
    assert set(table["inferred"]) == {inferred}


def test_how_long_each_state_lasted() -> None:
    table = states.durations(one_bbr(**gains()))
    assert table.select("phase", "times", "total_s", "mean_s", "longest_s").rows() == [
        ("startup", 1, 2, 2, 2),
        ("drain", 1, 1, 1, 1),
        ("probe_bw", 2, 4, 2, 3),
        ("probe_rtt", 1, 1, 1, 1),
    ]
    assert table["share"].to_list() == pytest.approx([2 / 8, 1 / 8, 4 / 8, 1 / 8])


def test_a_window_contains_parts_of_states() -> None:
    table = states.durations(one_bbr(**gains()), (NS // 2, 13 * NS // 2))
    assert table.select("phase", "times", "total_s").rows() == [
        ("startup", 1, 1.5),
        ("drain", 1, 1),
        ("probe_bw", 1, 3),
        ("probe_rtt", 1, 0.5),
    ]


def test_a_loss_based_flow_is_in_slow_start_below_its_threshold() -> None:
    bench = Bench([Flow("a", "a", cc="cubic")], duration_s=4.0, sample_s=1.0)
    run = with_columns(bench, cwnd_packets=[10, 20, 30, 14, 15], ssthresh_packets=[None, None, 30, 15, 15])
    table = states.phases(run)
    assert table["phase"].to_list() == ["slow_start", "avoidance", "slow_start", "avoidance"]
    assert table["start_ns"].to_list() == [0, 2 * NS, 3 * NS, 4 * NS]
    assert set(table["inferred"]) == {True}


def test_a_span_without_data_is_no_state() -> None:
    run = one_bbr(cc_phase=["startup", None, None, "startup", "drain", "drain", "drain", "drain", "drain"])
    assert states.phases(run).select("phase", "start_ns", "stop_ns").rows() == [
        ("startup", 0, NS),
        ("startup", 3 * NS, 4 * NS),
        ("drain", 4 * NS, 8 * NS),
    ]


def test_a_flow_whose_controller_has_no_states_has_no_rows() -> None:
    flows = [Flow("a", "a", cc="mystery"), Flow("b", "b", kind="udp")]
    assert states.phases(Bench(flows).make()).is_empty()
    assert states.durations(Bench(flows).make()).is_empty()
    assert states.phases(Bench([]).make()).is_empty()


def test_flows_come_in_the_order_of_the_experiment() -> None:
    run = Bench([Flow("z", "z"), Flow("a", "a")]).make()
    assert states.phases(run)["flow"].unique(maintain_order=True).to_list() == ["z", "a"]
