"""The host engine in a guest, with a complete kernel and an exact clock: same results as the kernel engine."""

import json
import sys
from pathlib import Path

import pytest

from conftest import Dumbbell
from dumbbell.analysis import summary
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


def test_a_host_in_a_guest_measures_what_the_kernel_engine_does(dumbbell: Dumbbell, tmp_path: Path) -> None:
    inner = (
        f'printf "%s" "$0" > x.toml && exec {sys.executable} -m dumbbell run x.toml --engine host --out inner --json'
    )
    outer = ("exec", "cyclic", "--no-flows", "--powers", "--timeout", "300s", "--out", tmp_path / "outer")
    # A typed command, so that the guest sees this Python wherever it is installed.
    done = dumbbell(*outer, "--", "/bin/sh", "-c", inner, EXPERIMENT, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    there = json.loads(done.stdout)
    case = parse(EXPERIMENT, tmp_path / "x.toml")[0]
    run = KernelEngine().run(Request("x", case, 1, tmp_path / "run"), lambda _seconds: None)
    here = summary(result.load(run))
    assert there["valid"], there["warnings"]
    assert there["engine"] == "host"
    for group in ("cubic", "reno"):
        expected = here["groups"][group]["throughput_mbps"]
        assert there["groups"][group]["throughput_mbps"] == pytest.approx(expected, rel=0.02)
    assert there["queue"]["packets"]["mean"] == pytest.approx(here["queue"]["packets"]["mean"], abs=1)
    assert there["ping_ms"]["mean"] == pytest.approx(here["ping_ms"]["mean"], abs=0.5)
    assert there["utilisation"] == pytest.approx(here["utilisation"], abs=0.01)
