"""Errors found before the first run: validated points are planned for the second engine too."""

from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.spec.sweep import parse_sweep
from dumbbell.sweeps.checks import check

VALIDATED = """
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
def test_a_setting_of_the_simulator_only_is_valid_at_points_without_validation(tmp_path: Path) -> None:
    check(parse_sweep(VALIDATED + 'at = { "flows.flow.cc" = ["cubic"] }\n', tmp_path / "validated.toml"))
    with pytest.raises(ExperimentError, match=r"axes\.engine = 'kernel'"):
        check(parse_sweep(VALIDATED, tmp_path / "validated.toml"))
