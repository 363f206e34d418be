"""What operators change and watch on a host: in network namespaces of their own, so nothing of this host changes."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from conftest import COMMAND, Finished
from dumbbell.analysis.destinations import destinations, prefix_of
from dumbbell.errors import ResultError
from dumbbell.results.result import Run
from synthetic import Bench, Flow


def _why_not() -> str:
    words = [
        "unshare",
        "-n",
        "-m",
        "sh",
        "-c",
        "mount -t tmpfs none /etc/sysctl.d && ip link add near type veth peer name far",
    ]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return done.stderr.strip() if done.returncode else ""


WHY = _why_not()
namespace = pytest.mark.skipif(bool(WHY), reason=f"no namespaces here: {WHY}")
INITIAL = (
    "mount -t tmpfs none /proc/sys/net/core\n"
    "for each in default_qdisc:pfifo_fast rmem_max:212992 wmem_max:212992; do"
    " echo ${each#*:} > /proc/sys/net/core/${each%:*}; done\n"
)
DEVICE = (
    "ip link add near type veth peer name far; ip addr add 10.9.0.1/24 dev near\n"
    "ip -6 addr add 2001:db8::1/64 dev near nodad\n"
    "ip link set near up; ip link set far up; ip route add default via 10.9.0.2\n"
    "ip route add 203.0.113.0/24 via 10.9.0.3\n"
)


def inside(folder: Path, script: str) -> Finished:
    """A script in a network namespace of its own that looks initial, with a folder as /etc/sysctl.d."""
    head = f'dumbbell() {{ {COMMAND} "$@"; }}\nmount --bind {folder} /etc/sysctl.d; ip link set lo up\n'
    words = ["unshare", "-n", "-m", "sh", "-c", head + script]
    return subprocess.run(words, capture_output=True, text=True, timeout=40, check=False)


@namespace
@pytest.mark.slow
def test_buffers_grow_for_a_path_and_disable_restores_them(tmp_path: Path) -> None:
    read = "cat /proc/sys/net/ipv4/tcp_wmem\n"
    path = "--rate 10gbit --rtt 200ms"
    done = inside(tmp_path, f"{INITIAL}{read}dumbbell enable buffers {path}\n{read}dumbbell disable\n{read}")
    assert done.returncode == 0, done.stderr
    before, grown, after = [line for line in done.stdout.splitlines() if line[0].isdigit()]
    assert before == after
    # Two thirds of a send buffer are in flight: twice the path's 250 MB need 750 MB.
    assert int(grown.split()[2]) >= 750_000_000 > int(before.split()[2])
    assert not list(tmp_path.iterdir())


@namespace
@pytest.mark.slow
def test_an_edited_file_of_buffers_stays(tmp_path: Path) -> None:
    file = tmp_path / "91-dumbbell-buffers.conf"
    script = f"{INITIAL}dumbbell enable buffers --rate 10gbit --rtt 200ms; echo '# mine' >> {file}\n"
    done = inside(tmp_path, f"{script}dumbbell disable")
    assert done.returncode != 0
    assert "edited since" in done.stderr
    assert file.exists()


@namespace
@pytest.mark.slow
def test_a_route_gets_a_controller_and_is_as_before_after_disable(tmp_path: Path) -> None:
    show = "ip route; ip -6 route show 2001:db8::/64\n"
    routes = ("203.0.113.0/24", "198.51.100.7", "2001:db8::/64")
    enable = "".join(f"dumbbell enable reno --route {each} >/dev/null\n" for each in routes)
    disable = "".join(f"dumbbell disable --route {each} >/dev/null\n" for each in routes)
    done = inside(tmp_path, f"{DEVICE}{show}echo --\n{enable}{show}echo --\n{disable}{show}")
    assert done.returncode == 0, done.stderr
    before, during, after = done.stdout.split("--\n")
    assert before == after
    assert during.count("congctl reno") == 3
    refused = inside(tmp_path, f"{DEVICE}dumbbell disable --route 203.0.113.0/24")
    assert "nothing to undo" in refused.stderr


@namespace
@pytest.mark.slow
def test_watch_serves_metrics_and_short_objects(tmp_path: Path) -> None:
    talk = (
        "import socket, time; a = socket.create_server(('127.0.0.1', 7777));"
        "b = socket.create_connection(('127.0.0.1', 7777)); c, _ = a.accept()\n"
        "while True: b.sendall(bytes(9999)); c.recv(99999); time.sleep(0.01)"
    )
    script = (
        f'{sys.executable} -c "{talk}" >/dev/null 2>&1 & talker=$!\nsleep 0.5\n'
        f"{COMMAND} watch --prometheus 9187 --every 100ms >log 2>&1 & watcher=$!\n"
        f'{sys.executable} -c "import time, urllib.request as r\n'
        "for _ in range(100):\n"
        "    time.sleep(0.1)\n"
        "    try: text = r.urlopen('http://127.0.0.1:9187/metrics').read().decode()\n"
        "    except OSError: continue\n"
        "    if text: break\n"
        'print(text)"\nkill $watcher; wait $watcher; echo --\n'
        "dumbbell watch --json --compact --once; kill $talker"
    )
    done = inside(tmp_path, f"cd {tmp_path}\n{script}")
    metrics, compact = done.stdout.split("--\n")
    assert 'dumbbell_tcp_connections{destination="127.0.0.0/24"} 2\n' in metrics
    assert "# TYPE dumbbell_tcp_rtt_seconds_median gauge\n" in metrics
    (destination,) = json.loads(compact)["destinations"]
    assert (destination["destination"], destination["connections"]) == ("127.0.0.0/24", 2)


@namespace
@pytest.mark.slow
def test_doctor_looks_into_a_namespace(tmp_path: Path) -> None:
    script = (
        "unshare -n sh -c 'echo reno > /proc/sys/net/ipv4/tcp_congestion_control; exec sleep 60'"
        " >/dev/null 2>&1 & other=$!\nsleep 0.5\n"
        "dumbbell doctor --json --netns $other; kill $other"
    )
    found = {each["key"]: each["value"] for each in json.loads(inside(tmp_path, script).stdout)["findings"]}
    assert found["controller.default"] == "reno"
    assert "ip netns list" in inside(tmp_path, "dumbbell doctor --netns nope").stderr


def test_prefixes() -> None:
    assert prefix_of("203.0.113.7") == "203.0.113.0/24"
    assert prefix_of("::ffff:203.0.113.7") == "203.0.113.0/24"
    assert prefix_of("fe80::1%eth0") == "fe80::/48"
    assert prefix_of("*") is None


def test_advice_follows_losses_and_queues() -> None:
    for lost, ratio, cc, start in (
        (2000, 1.1, "cubic", "try bbr: losses without a queue"),
        (10, 4.0, "cubic", "try bbr: a full queue"),
        (2000, 2.0, "cubic", "leave it: the losses"),
        (10, 1.1, "cubic", "leave it: few losses"),
        (2000, 1.1, "bbr", "already BBR"),
    ):
        run = recorded_run(lost, ratio, cc)
        (found,) = destinations(run)
        assert found.advice.startswith(start), (lost, ratio, cc)
        assert (found.command is not None) == start.startswith("try")
    with pytest.raises(ResultError, match="dumbbell watch --out RUN"):
        destinations(Bench([Flow("one", "cubic")]).make())


def recorded_run(lost: int, ratio: float, cc: str) -> Run:
    """A recording of one connection: its losses among 100,000 segments, and its mean RTT over its smallest."""
    run = Bench([Flow("one", cc, cc=cc, rtt_ms=40 * ratio)]).make()
    flow = run.manifest.flows[0] | {
        "retransmits": lost, "data_segs_out": 100_000,
        "seen": {"socket": "10.0.0.1:443 203.0.113.7:5000", "side": "sender"},
    }  # fmt: skip
    flows = run.flows.with_columns(min_rtt_ns=pl.lit(40_000_000, pl.Int64))
    return run.replaced(manifest={**run.manifest, "flows": [flow]}, flows=flows)
