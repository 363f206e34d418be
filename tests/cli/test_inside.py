"""`dumbbell stats --counters` and `--sockets`: what a kernel counted and its sockets, for people and for programs."""

import json
from pathlib import Path

import pytest

from conftest import Dumbbell
from engines.measured import CUBIC, experiment

RUN = ("run", "mine.toml", "--engine", "kernel", "--out", "result", "--sockets", "500ms", "--counters", "500ms")


@pytest.fixture
def ran(dumbbell: Dumbbell, tmp_path: Path) -> Dumbbell:
    (tmp_path / "mine.toml").write_text(experiment(CUBIC, duration="1s"))
    assert dumbbell(*RUN).returncode == 0
    return dumbbell


@pytest.mark.kernel
def test_counters_and_sockets_say_what_the_run_did(ran: Dumbbell, tmp_path: Path) -> None:
    told = json.loads(ran("stats", "result", "--counters", "--sockets", "--json").stdout)
    counted = told["counters"]
    # Every segment of the sender but the last few has come.
    sent, came = counted["sender"]["TcpOutSegs"], counted["receiver"]["TcpInSegs"]
    assert 500 < came <= sent
    sender = next(socket for socket in told["sockets"] if socket["host"] == "sender" and socket.get("cc") == "cubic")
    assert (sender["state"], sender["peer_address"], sender["time_ns"]) == ("established", "10.0.2.2", 10**9)
    rows = {line.split()[0]: line.split()[1:] for line in ran("stats", "result", "--counters").stdout.splitlines()}
    hosts = rows["counter"]
    assert rows["TcpOutSegs"][hosts.index("sender")] == f"{sent:,}"
    shown = ran("stats", "result", "--sockets").stdout
    assert shown.startswith("at 1 s\n")
    assert f" cwnd:{sender['cwnd_packets']} " in shown
    several = ran("stats", "result", "result", "--sockets")
    assert (several.returncode, several.stdout) == (2, "")
    assert "--sockets: --counters and --sockets need one result, not 2" in several.stderr
    (tmp_path / "result" / "sockets.parquet").unlink()
    done = ran("stats", "result", "--sockets")
    assert done.stdout == ""
    assert "result: has no sockets: rerun on the kernel engine with --sockets TIME, such as 1s" in done.stderr
