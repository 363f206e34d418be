"""Flows that live, send or are measured for a part of a run only, and samples that do not begin at its start."""

import polars as pl
import pytest

from dumbbell.analysis.flows import long_lived, starvation_s
from dumbbell.analysis.summary import summary
from dumbbell.analysis.time_series import loss
from dumbbell.results.result import Run
from synthetic import NS, Bench, Flow, with_flow

TABLES = ("flows", "queues", "probes")


def changed(run: Run, **tables: pl.DataFrame) -> Run:
    """The run with other tables."""
    return Run(run.folder, run.manifest, **{name: getattr(run, name) for name in TABLES} | tables)


@pytest.mark.parametrize("sample_s", [0.01, 0.1, 0.5])
def test_utilization_of_a_window_does_not_depend_on_the_sampling_interval(sample_s: float) -> None:
    run = Bench([Flow("a", "a", rate_bps=40e6)], sample_s=sample_s).make()
    # Engines read a queue first after one interval.
    run = changed(run, queues=run.queues.filter(run.queues["time_ns"] > 0))
    whole = summary(run)["utilization"]
    assert summary(run, (0, NS))["utilization"] == pytest.approx(whole, rel=0.01)


@pytest.mark.parametrize("step_ns", [NS // 3, NS, 3 * NS])
def test_bins_of_loss_add_up_to_the_drops_of_the_run(step_ns: int) -> None:
    run = Bench([Flow("a", "a")], sample_s=0.5, drops=77).make()
    run = changed(run, queues=run.queues.filter((run.queues["time_ns"] > 0) & (run.queues["time_ns"] < 9 * NS)))
    bins = loss(run, step_ns, (0, 10 * NS))
    complete = 10 * NS // step_ns * step_ns
    assert bins["dropped_packets"].sum() == pytest.approx(
        77, abs=0.01 if complete == 10 * NS else 77 * step_ns / NS / 10
    )


def test_programs_that_pause_share_nothing_in_jain_s_index() -> None:
    run = Bench([Flow("a", "a"), Flow("b", "a"), Flow("c", "b", rate_bps=1e5)]).make()
    asking = with_flow(run, 2, exchanges_s=[0.1, 0.2])
    assert [flow["name"] for flow in long_lived(asking)] == ["a", "b"]
    assert summary(asking)["jain"] == pytest.approx(1)
    assert summary(with_flow(run, 2, intermittent=True))["jain"] == pytest.approx(1)


def test_a_flow_that_never_started_has_no_throughput_and_no_part_in_fairness() -> None:
    run = Bench([Flow("a", "a"), Flow("b", "a")]).make()
    run = changed(run, flows=run.flows.filter(run.flows["flow"] == "a"))
    run = with_flow(run, 1, start_s=None, stop_s=None, bytes_received=0)
    found = summary(run)
    assert found["flows"][1]["throughput_mbps"] is None
    assert found["jain"] == pytest.approx(1)


def test_the_last_microseconds_are_no_silent_second() -> None:
    run = Bench([Flow("a", "a", stop_s=3.00007)], duration_s=3.00007).make()
    run = with_flow(run, 0, bytes_received=run.flows["bytes_received"].max())
    assert summary(run)["flows"][0]["no_data_share"] == pytest.approx(0, abs=1e-4)


def test_a_flow_that_lives_for_a_part_does_not_lower_the_fair_share_of_the_rest() -> None:
    """After 5 s only two flows are left: one has 8 %, which is starving at a fair share of 1/2 and not at 1/12."""
    brief = [Flow(f"brief-{number}", "brief", rate_bps=3e6, stop_s=5.0) for number in range(10)]
    run = Bench([Flow("big", "big", rate_bps=27.6e6), Flow("small", "small", rate_bps=1.2e6), *brief]).make()
    assert starvation_s(run, "small", (5 * NS, 10 * NS)) == pytest.approx(5)


def test_udp_s_retransmissions_are_unknown() -> None:
    run = Bench([Flow("a", "a"), Flow("u", "u", kind="udp")]).make()
    run = with_flow(run, 1, retransmits=0, data_segs_out=0)
    flow = summary(run)["flows"][1]
    assert (flow["retransmits"], flow["retransmit_rate"]) == (None, None)
