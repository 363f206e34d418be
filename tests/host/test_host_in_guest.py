"""Doctor and enable on a host of a virtual-time guest, whose kernel has every feature."""

import json
import sys
from pathlib import Path

import pytest

from conftest import Dumbbell

ROOT = Path(__file__).parents[2]


@pytest.mark.kernel
def test_doctor_reads_a_guest_s_host(dumbbell: Dumbbell, tmp_path: Path) -> None:
    doctor = [sys.executable, "-m", "dumbbell", "doctor", "--json", "--rate", "10mbit", "--rtt", "40ms"]
    fields = ["exec", "bufferbloat-plain", "--no-flows", "--host", "sender", "--out", tmp_path / "run", "--", *doctor]
    # Run in the checkout, so that the guest finds this Python.
    done = dumbbell(*fields, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["path"] == {"rate_bps": 10_000_000, "rtt_ns": 40_000_000}
    found = {each["key"]: each for each in report["findings"]}
    assert found["kernel.namespace"]["value"] == "own"
    assert found["kernel.virtual"]["value"] == "uml"
    assert {"bbr", "cubic", "reno", "vegas"} <= set(found["controller.available"]["value"])
    assert found["controller.bbr_version"]["value"] == "v1"
    assert found["controller.new_connection"]["value"] == [found["controller.default"]["value"]]
    assert found["offloads.right"]["value"]["tso"] is False


@pytest.mark.slow
@pytest.mark.kernel
def test_enable_sets_a_guest_s_host_alone(dumbbell: Dumbbell, tmp_path: Path) -> None:
    """A guest's hosts are separate network namespaces, and its /etc is the real host's."""
    default = "cat /proc/sys/net/ipv4/tcp_congestion_control"
    script = f"{sys.executable} -m dumbbell enable bbr; {default}; {sys.executable} -m dumbbell disable"
    fields = ["exec", "bufferbloat-plain", "--no-flows", "--powers", "--host", "sender", "--out", tmp_path / "run"]
    before = sorted(Path("/etc/sysctl.d").iterdir())
    done = dumbbell(*fields, "--", "/bin/sh", "-c", script, cwd=ROOT)
    lines = done.stdout.splitlines()
    assert "verified: both ends of a loopback connection use bbr" in lines
    assert lines[-1] == "bbr"
    assert "undo with: sysctl -w net.ipv4.tcp_congestion_control=cubic" in lines
    assert "separate network namespace" in done.stderr
    assert sorted(Path("/etc/sysctl.d").iterdir()) == before
