"""Slips that are found before the first run: what runs beside is tried where it runs."""

from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.spec.sweep import parse_sweep
from dumbbell.sweeps.plan_check import check

BESIDE = """
[experiment]
duration = "1s"
path.rtt = "20ms"
path.bottleneck.rate = "10mbit"
flows = [{ name = "flow", cc = "cubic" }]
[[axes]]
"flows.flow.cc" = ["hpcc", "cubic"]
"path.telemetry" = [true, false]
[[axes]]
"path.rtt" = ["5ms", "20ms"]
[validate]
engine = "kernel"
"""


@pytest.mark.kernel
def test_what_only_the_simulator_can_may_stand_where_nothing_runs_beside(tmp_path: Path) -> None:
    check(parse_sweep(BESIDE + 'at = { "flows.flow.cc" = ["cubic"] }\n', tmp_path / "beside.toml"))
    with pytest.raises(ExperimentError, match=r"axes\.engine = 'kernel'"):
        check(parse_sweep(BESIDE, tmp_path / "beside.toml"))
