"""Doctor and enable on a kernel that has everything: a host of a virtual-time guest."""

import json
import sys
from pathlib import Path

import pytest

from conftest import Dumbbell

ROOT = Path(__file__).parents[2]


@pytest.mark.kernel
def test_doctor_reads_a_guest_s_host(dumbbell: Dumbbell, tmp_path: Path) -> None:
    doctor = [sys.executable, "-m", "dumbbell", "doctor", "--json", "--rate", "10mbit", "--rtt", "40ms"]
    fields = ["exec", "bufferbloat-plain", "--no-flows", "--on", "sender", "--out", tmp_path / "run", "--", *doctor]
    # Typed here, so that the guest sees this Python wherever it lies.
    done = dumbbell(*fields, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["path"] == {"rate_bps": 10_000_000, "rtt_ns": 40_000_000}
    found = {each["key"]: each for each in told["findings"]}
    assert found["kernel.namespace"]["value"] == "own"
    assert found["kernel.virtual"]["value"] == "uml"
    assert {"bbr", "cubic", "reno", "vegas"} <= set(found["controller.available"]["value"])
    assert found["controller.bbr_version"]["value"] == "v1"
    assert found["controller.new_connection"]["value"] == [found["controller.default"]["value"]]
    assert found["offloads.right"]["value"]["tso"] is False


@pytest.mark.kernel
def test_enable_and_disable_work_in_a_guest_s_host(dumbbell: Dumbbell, tmp_path: Path) -> None:
    """A guest's /etc is the machine's and can't be written, so the drop-in goes to a folder of the guest's memory."""
    ours, default = f"{sys.executable} -m dumbbell", "cat /proc/sys/net/ipv4/tcp_congestion_control"
    script = "; ".join((
        "mount -t tmpfs none /etc/sysctl.d || exit 9", f"{ours} enable bbr", default, "ls /etc/sysctl.d",
        f"{ours} disable", default, "ls /etc/sysctl.d",
    ))  # fmt: skip
    fields = ["exec", "bufferbloat-plain", "--no-flows", "--powers", "--on", "sender", "--out", tmp_path / "run"]
    before = sorted(Path("/etc/sysctl.d").iterdir())
    done = dumbbell(*fields, "--", "/bin/sh", "-c", script, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for name in ("bbr", "cubic"):
        assert f"verified: both ends of a loopback connection use {name}" in lines
    at = lines.index("bbr")
    assert lines[at + 1] == "90-dumbbell.conf"
    assert lines[-1] == "cubic"
    assert sorted(Path("/etc/sysctl.d").iterdir()) == before
