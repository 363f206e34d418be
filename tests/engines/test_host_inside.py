"""The host engine in a guest, with a complete kernel and an exact clock: same results as the kernel engine."""

import json
import sys
from pathlib import Path

import pytest

from conftest import Dumbbell
from dumbbell.analysis.summary import summary
from dumbbell.engines import KernelEngine, Request
from dumbbell.results import result
from dumbbell.spec import parse

pytestmark = pytest.mark.kernel

EXPERIMENT = """
duration = "1s"
[path]
rtt = "20ms"
[path.bottleneck]
rate = "10mbit"
qdisc = "fq_codel limit 1000"
[[flows]]
cc = "cubic"
[[flows]]
cc = "reno"
"""
ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_host_in_a_guest_measures_what_the_kernel_engine_does(dumbbell: Dumbbell, tmp_path: Path) -> None:
    script = (
        f'printf "%s" "$0" > x.toml && exec {sys.executable} -m dumbbell run x.toml --engine host --out inner --json'
    )
    arguments = ("exec", "cyclic", "--no-flows", "--powers", "--timeout", "300s", "--out", tmp_path / "outer")
    # Run in the checkout, so that the guest finds this Python.
    done = dumbbell(*arguments, "--", "/bin/sh", "-c", script, EXPERIMENT, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    in_guest = json.loads(done.stdout)
    case = parse(EXPERIMENT, tmp_path / "x.toml")[0]
    run = KernelEngine().run(Request("x", case, 1, tmp_path / "run"), lambda _seconds: None)
    in_kernel_engine = summary(result.load(run))
    assert in_guest["valid"], in_guest["warnings"]
    assert in_guest["engine"] == "host"
    for group in ("cubic", "reno"):
        expected = in_kernel_engine["groups"][group]["throughput_mbps"]
        assert in_guest["groups"][group]["throughput_mbps"] == pytest.approx(expected, rel=0.02)
    assert in_guest["queue"]["packets"]["mean"] == pytest.approx(in_kernel_engine["queue"]["packets"]["mean"], abs=1)
    assert in_guest["ping_ms"]["mean"] == pytest.approx(in_kernel_engine["ping_ms"]["mean"], abs=0.5)
    assert in_guest["utilization"] == pytest.approx(in_kernel_engine["utilization"], abs=0.01)
