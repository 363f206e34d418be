"""Lost segments and retransmit rates, and when losses happen."""

import numpy as np
import polars as pl
import pytest

from dumbbell.analysis.bottleneck import flow_loss, group_loss, over_cycle
from dumbbell.analysis.native import Cycle
from dumbbell.results.result import Run
from synthetic import MSS, NS, Bench, Flow, alternating


def lossy(bench: Bench, share: dict[str, float], only_first_half: float | None = None) -> Run:
    """Each group loses this share of what it sends (in the first half of each period); ten packets are in flight."""
    run = bench.make()
    tables = []
    for (_, group), rows in run.flows.partition_by("flow", "group", as_dict=True, maintain_order=True).items():
        if rows["data_segs_out"].null_count():  # UDP.
            tables.append(rows)
            continue
        sent = rows["data_segs_out"].to_numpy().astype(float)
        times_s = rows["time_ns"].to_numpy() / NS
        losing = np.ones(times_s.size) if only_first_half is None else (times_s % only_first_half) < only_first_half / 2
        step = np.diff(sent, prepend=0.0) * losing * share[str(group)]
        lost = np.round(np.cumsum(step)).astype(int)
        tables.append(
            rows.with_columns(
                inflight_packets=pl.lit(10, pl.UInt32),
                delivered_packets=pl.Series(np.maximum(sent.astype(int) + 1 - 10 - lost, 0)).cast(pl.UInt32),
                retrans_packets=pl.Series(lost).cast(pl.UInt32),
                data_segs_out=rows["data_segs_out"],
            )
        )
    flows = [flow | {"retransmits": None} for flow in run.manifest.flows]
    return Run(run.folder, run.manifest | {"flows": flows}, pl.concat(tables).sort("time_ns"), run.queues, run.probes)


def test_segments_neither_delivered_nor_in_flight_are_lost() -> None:
    bench = Bench([Flow("a", "a", rate_bps=8 * MSS * 1000), Flow("udp", "b", kind="udp")])
    table = flow_loss(lossy(bench, {"a": 0.05, "b": 0.0}), NS)
    assert table["flow"].unique().to_list() == ["a"]
    assert table["lost_packets"].to_list()[1:] == pytest.approx([50] * 9)  # The pipe fills in the first bin.
    assert table["loss_rate"].to_list()[1:] == pytest.approx([0.05] * 9)
    assert table["retransmit_rate"].to_list()[1:] == pytest.approx([0.05] * 9)


def test_a_group_s_rate_is_the_ratio_of_sums() -> None:
    flows = [Flow("fast", "g", rate_bps=8 * MSS * 1000), Flow("slow", "g", rate_bps=8 * MSS * 100)]
    run = lossy(Bench(flows), {"g": 0.0})
    delivered = pl.col("delivered_packets").cast(pl.Int64)
    fewer = pl.when(pl.col("flow") == "fast").then(delivered - pl.col("time_ns") // (NS // 110)).otherwise(delivered)
    shifted = run.flows.with_columns(delivered_packets=fewer.clip(0).cast(pl.UInt32))
    table = group_loss(Run(run.folder, run.manifest, shifted, run.queues, run.probes), 2 * NS)
    assert table.columns == ["time_ns", "group", "lost_packets", "loss_rate", "retransmit_packets", "retransmit_rate"]
    assert table["loss_rate"].to_list()[1:] == pytest.approx([0.1] * 4, rel=0.02)


def test_a_rate_is_null_while_nothing_is_sent() -> None:
    table = group_loss(lossy(Bench([Flow("a", "a", rate_bps=8e6, stop_s=4.0)]), {"a": 0.0}), 2 * NS)
    assert table["loss_rate"].null_count() == 3


def test_loss_is_locked_to_the_phase_in_which_it_happens() -> None:
    """BBR sends first in each period of 10 s, and both groups lose only then."""
    bench = alternating(60.0, 10.0)
    run = lossy(bench, {"bbr": 0.04, "cubic": 0.1}, only_first_half=10.0)
    table = over_cycle(run, Cycle(10.0, 1.0, 0.002, 0.5), bins=10)
    assert table.columns == ["phase", "group", "throughput_bps", "loss_rate", "retransmit_rate"]
    for group, share, rates in (("bbr", 0.04, (68e6, 8e6)), ("cubic", 0.1, (8e6, 68e6))):
        one = table.filter(group=group)
        assert one["phase"].to_numpy() == pytest.approx(np.arange(10) / 10 + 0.05)
        assert one["throughput_bps"].to_numpy() == pytest.approx([rates[0]] * 5 + [rates[1]] * 5, rel=0.01)
        assert one["retransmit_rate"].to_numpy() == pytest.approx([share] * 5 + [0] * 5, abs=0.002)
        assert one["loss_rate"].to_numpy()[1:] == pytest.approx([share] * 4 + [0] * 5, abs=0.002)


def test_a_window_without_a_complete_period_is_refused() -> None:
    with pytest.raises(ValueError, match="no whole period of 10 s"):
        over_cycle(alternating(60.0, 10.0).make(), Cycle(10.0, 1.0, 0.002), window=(0, 5 * NS))
