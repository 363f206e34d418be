"""Delivered data against goodput: where a hole hides what has arrived."""

import numpy as np

import dumbbell as db
from dumbbell.analysis.sample_arrays import Floats
from dumbbell.plots.layers import Lines
from dumbbell.plots.panels import DEFAULT, panel_data
from dumbbell.results.result import Run

RATE_MBPS = 50
EXPERIMENT = {
    "duration": "6s",
    "path": {"rtt": "40ms", "bottleneck": {"rate": "50mbit", "qdisc": "pfifo limit 60"}},
    "flows": [{"cc": "cubic"}, {"cc": "reno"}, {"kind": "udp", "rate": "1mbit"}],
}


def test_delivered_data_does_not_exceed_the_link_s_rate_where_goodput_does() -> None:
    run: Run = db.run(db.experiment(EXPERIMENT))._run
    in_order, all_data = (total(run, name) for name in ("throughput", "delivered"))
    assert in_order.max() > 1.1 * RATE_MBPS
    assert all_data.max() < 1.05 * RATE_MBPS
    # Both count the same bytes; delivered ones an RTT later, and those still behind a hole.
    assert abs(all_data.sum() / in_order.sum() - 1) < 0.02


def total(run: Run, name: str) -> Floats:
    """The sum of the flows' rates in each bin of 100 ms."""
    (panel,) = panel_data(run, (name,), 60)
    flows = next(layer for layer in panel.layers if isinstance(layer, Lines) and layer.of == "flows")
    return np.asarray(np.sum([np.nan_to_num(line.v) for line in flows.lines], axis=0))


def test_the_default_panel_shows_delivered_data_and_the_link_s_rate() -> None:
    run: Run = db.run(db.experiment(EXPERIMENT))._run
    assert DEFAULT[0] == "delivered"
    for name, title in (("delivered", "Delivered, Mbit/s"), ("throughput", "Throughput in order, Mbit/s")):
        (panel,) = panel_data(run, (name,), 500)
        assert panel.title == title
        (capacity,) = panel.layers[-1].lines  # type: ignore[union-attr]
        assert (capacity.name, set(capacity.v)) == ("link rate", {50.0})
