"""The host engine in a guest: a kernel with everything, whose clock is exact. It says what the kernel engine says."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import dumbbell
from conftest import COMMAND
from dumbbell import result
from dumbbell.analysis import summary
from dumbbell.engine import KernelEngine, Request
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
PYTHON = os.path.realpath(sys.executable)
PACKAGES = [str(Path(dumbbell.__file__).parents[1]), sysconfig.get_paths()["purelib"]]
COVERED = ("/tmp", "/run", "/var/tmp", "/dev", "/mnt")
"""Folders of the machine that a program in a guest does not see."""


def test_a_host_in_a_guest_measures_what_the_kernel_engine_does(tmp_path: Path) -> None:
    hidden = [path for path in (PYTHON, *PACKAGES) if path.startswith(COVERED)]
    if hidden:
        pytest.skip(f"a program in a guest doesn't see {hidden[0]}")
    inner = f'printf "%s" "$0" > x.toml && exec {PYTHON} -c "from dumbbell.cli import main; main()" run x.toml '
    done = subprocess.run(
        [
            COMMAND, "exec", "cyclic", "--no-flows", "--powers", "--timeout", "300s", "--out", tmp_path / "outer", "--",
            "/usr/bin/env", f"PYTHONPATH={os.pathsep.join(PACKAGES)}", "/bin/sh", "-c",
            inner + "--engine host --out inner --json", EXPERIMENT,
        ],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
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
