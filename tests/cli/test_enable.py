"""`dumbbell enable`, `disable`, `doctor` on the real kernel, where /etc/sysctl.d is a temporary folder.

The tests set nothing of this host: they run in network namespaces. Where one shall look initial, it gets the sysctl
that only the initial one has.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import COMMAND, Dumbbell, Finished

CONTROLLER = "/proc/sys/net/ipv4/tcp_congestion_control"


def _namespace_error() -> str:
    arguments = ["unshare", "-n", "-m", "mount", "-t", "tmpfs", "none", "/etc/sysctl.d"]
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return done.stderr.strip() if done.returncode else ""


WHY = _namespace_error()
namespace = pytest.mark.skipif(bool(WHY), reason=f"no namespaces here: {WHY}")


INITIAL = "mount -t tmpfs none /proc/sys/net/core; echo pfifo_fast > /proc/sys/net/core/default_qdisc\n"
SEPARATE = "umount /proc/sys/net/core\n"


def inside(folder: Path, script: str, *, initial: bool = True) -> Finished:
    """A script in a network namespace of its own, which looks initial or not, with a folder as /etc/sysctl.d."""
    setting = f"mount --bind {folder} /etc/sysctl.d; ip link set lo up; echo reno > {CONTROLLER}\n"
    script = f'dumbbell() {{ {COMMAND} "$@"; }}\n{setting}{INITIAL if initial else ""}{script}'
    arguments = ["unshare", "-n", "-m", "sh", "-c", script]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)


def allowed(name: str) -> bool:
    return name in Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split()


bbr = pytest.mark.skipif(not allowed("bbr"), reason="this kernel allows no bbr")


@namespace
@bbr
def test_enable_verifies_with_a_connection_and_disable_restores(tmp_path: Path) -> None:
    done = inside(
        tmp_path, f"dumbbell enable bbr; cat {CONTROLLER}; ls /etc/sysctl.d; dumbbell disable; cat {CONTROLLER}"
    )
    assert done.returncode == 0, done.stderr
    assert "verified: both ends of a loopback connection use bbr\n" in done.stdout
    assert "undo with: dumbbell disable\nbbr\n90-dumbbell.conf\n" in done.stdout
    assert done.stdout.endswith("reno\n")
    assert list(tmp_path.iterdir()) == []


@namespace
@bbr
def test_a_separate_namespace_gets_the_setting_and_no_file(tmp_path: Path) -> None:
    undo = "sysctl -w net.ipv4.tcp_congestion_control=reno"
    done = inside(tmp_path, f"dumbbell enable bbr; cat {CONTROLLER}; {undo}", initial=False)
    assert done.returncode == 0, done.stderr
    assert "no file is written" in done.stdout
    assert f"undo with: {undo}\nbbr\n" in done.stdout
    assert list(tmp_path.iterdir()) == []


@namespace
@bbr
def test_a_separate_namespace_keeps_the_undo_record_of_the_initial_one(tmp_path: Path) -> None:
    other = f"{SEPARATE} echo reno > {CONTROLLER}; dumbbell disable; cat {CONTROLLER}; dumbbell enable bbr\n"
    done = inside(tmp_path, f"echo bbr > {CONTROLLER}; dumbbell enable reno\n{other}cat {CONTROLLER}")
    assert "dumbbell: this is a separate network namespace" in done.stderr
    assert "\nreno\n" in done.stdout
    assert done.stdout.endswith("\nbbr\n")
    record = (tmp_path / "90-dumbbell.conf").read_text()
    assert "# before: net.ipv4.tcp_congestion_control = bbr\nnet.ipv4.tcp_congestion_control = reno\n" in record


@namespace
@bbr
def test_a_dry_run_changes_nothing_and_lists_every_step(tmp_path: Path) -> None:
    done = inside(tmp_path, f"dumbbell enable bbr --dry-run; cat {CONTROLLER}")
    assert "would write /etc/sysctl.d/90-dumbbell.conf\n" in done.stdout
    assert (
        "    # before: net.ipv4.tcp_congestion_control = reno\n    net.ipv4.tcp_congestion_control = bbr\n"
        in done.stdout
    )
    assert "would run: sysctl -w net.ipv4.tcp_congestion_control=bbr\n" in done.stdout
    assert done.stdout.endswith("reno\n")
    assert list(tmp_path.iterdir()) == []


@namespace
@bbr
def test_open_connections_keep_their_controller_and_are_counted(tmp_path: Path) -> None:
    hold_connection = (
        'python3 -c \'import socket,time; l=socket.create_server(("127.0.0.1",0));'
        " c=socket.create_connection(l.getsockname()); s=l.accept(); print(flush=True); time.sleep(60)'"
        " > held & holder=$!\n"
        "until [ -s held ]; do sleep 0.1; done\n"
    )
    done = inside(tmp_path, f"cd {tmp_path}; {hold_connection} dumbbell enable bbr; kill $holder")
    kept = "open connections keep their congestion control until they reconnect: 2 × reno\n"
    assert kept in done.stdout, done.stderr


KILLED = """
import os, random, signal, time
from pathlib import Path
from dumbbell.host import boot_settings, switch
from dumbbell.host.sources import LocalHost
from dumbbell.host.steps import locked

def in_child(wait_s=None):
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        with locked(host):
            switch.apply(host, switch.enabling(host, "bbr"))
        os._exit(0)
    if wait_s is not None:
        time.sleep(wait_s)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return time.monotonic() - begun

def undo():
    if host.path(boot_settings.DROPIN).exists():
        with locked(host):
            switch.apply(host, switch.disabling(host))
        return "undone"
    return "untouched"

host, stream = LocalHost(), random.Random(8)
took = in_child()
print(undo(), host.sysctl(boot_settings.CONTROLLER).first())
for _ in range(40):
    in_child(stream.uniform(0, took))
    print(undo(), host.sysctl(boot_settings.CONTROLLER).first())
"""


@namespace
@bbr
def test_disable_restores_after_a_kill_at_any_moment(tmp_path: Path) -> None:
    program = tmp_path / "killed.py"
    program.write_text(KILLED)
    folder = tmp_path / "sysctl.d"
    folder.mkdir()
    done = inside(folder, f"{sys.executable} {program}")
    lines = done.stdout.splitlines()
    assert len(lines) == 41, done.stderr
    assert {line.split()[1] for line in lines} == {"reno"}
    # Some were killed before the drop-in existed, some after: the kills cover the whole sequence of steps.
    assert {line.split()[0] for line in lines} == {"untouched", "undone"}
    assert [path.name for path in folder.iterdir() if not path.name.endswith(".tmp")] == []


@namespace
def test_without_permission_nothing_is_changed(tmp_path: Path) -> None:
    done = inside(
        tmp_path,
        f"mount -o remount,bind,ro /etc/sysctl.d; dumbbell enable reno; dumbbell enable nosuch; cat {CONTROLLER}",
    )
    assert "dumbbell: /etc/sysctl.d can't be written; nothing was changed. This needs root (sudo)" in done.stderr
    assert "has no congestion control 'nosuch'" in done.stderr
    assert done.stdout == "reno\n"


def test_an_image_is_enabled_and_disabled(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "image/etc").mkdir(parents=True)
    done = dumbbell("enable", "bbr", "--qdisc", "fq", "--root", "image")
    assert done.returncode == 0, done.stderr
    assert "nothing is applied or verified" in done.stdout
    assert done.stdout.endswith("undo with: dumbbell disable --root image\n")
    text = (tmp_path / "image/etc/sysctl.d/90-dumbbell.conf").read_text()
    assert "\nnet.ipv4.tcp_congestion_control = bbr\nnet.core.default_qdisc = fq\n" in text
    assert dumbbell("disable", "--root", "image").returncode == 0
    assert [path.name for path in (tmp_path / "image").rglob("*")] == ["etc"]
    second = dumbbell("disable", "--root", "image")
    assert (second.returncode, second.stderr.split(";")[0]) == (
        2, "dumbbell: nothing to undo: /etc/sysctl.d/90-dumbbell.conf doesn't exist"
    )  # fmt: skip


def test_doctor_reports_every_finding_of_this_host(dumbbell: Dumbbell) -> None:
    report = json.loads(dumbbell("doctor", "--json", "--rate", "1gbit", "--rtt", "80ms").stdout)
    found = {finding["key"]: finding for finding in report["findings"]}
    assert report["path"] == {"rate_bps": 10**9, "rtt_ns": 80 * 10**6}
    assert sum(report["marks"].values()) == len(report["findings"])
    assert found["kernel.version"]["value"] == os.uname().release
    assert found["controller.default"]["value"] == Path(CONTROLLER).read_text().strip()
    assert found["buffers.receive"]["value"]["bdp_bytes"] == 10**7
    for finding in report["findings"]:
        assert set(finding) == set("key group title mark value shown source meaning change".split())


def test_doctor_s_output_to_a_pipe_is_plain_text(dumbbell: Dumbbell) -> None:
    done = dumbbell("doctor", COLUMNS="80")
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert max(len(line) for line in lines if "$ " not in line) <= 80
    assert "\x1b" not in done.stdout
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rate", "fast"), "--rate: not a quantity, got 'fast'; a rate is a number with a unit"),
        (("--rtt", "0s"), "--rtt: too little, got '0s'; at least 1us"),
    ],
)
def test_an_invalid_option_of_doctor_is_an_error(dumbbell: Dumbbell, arguments: tuple[str, ...], message: str) -> None:
    done = dumbbell("doctor", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
