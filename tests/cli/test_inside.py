"""`dumbbell stats --counters` and `--sockets`: a kernel's counters and its sockets, as text and as JSON."""

import json
from pathlib import Path

import pytest

from conftest import Dumbbell
from engines.measured import CUBIC, experiment

RUN = ("run", "mine.toml", "--engine", "kernel", "--out", "result", "--sockets", "500ms", "--counters", "500ms")


@pytest.fixture
def command(dumbbell: Dumbbell, tmp_path: Path) -> Dumbbell:
    (tmp_path / "mine.toml").write_text(experiment(CUBIC, duration="1s"))
    assert dumbbell(*RUN).returncode == 0
    return dumbbell


@pytest.mark.slow
@pytest.mark.kernel
def test_counters_and_sockets_match_the_run(command: Dumbbell, tmp_path: Path) -> None:
    result = json.loads(command("stats", "result", "--counters", "--sockets", "--json").stdout)
    counted = result["counters"]
    # The receiver has every segment of the sender but the last few.
    sent, received = counted["sender"]["TcpOutSegs"], counted["receiver"]["TcpInSegs"]
    assert 500 < received <= sent
    sender = next(socket for socket in result["sockets"] if socket["host"] == "sender" and socket.get("cc") == "cubic")
    assert (sender["state"], sender["peer_address"], sender["time_ns"]) == ("established", "10.0.2.2", 10**9)
    rows = {line.split()[0]: line.split()[1:] for line in command("stats", "result", "--counters").stdout.splitlines()}
    hosts = rows["counter"]
    assert rows["TcpOutSegs"][hosts.index("sender")] == f"{sent:,}"
    shown = command("stats", "result", "--sockets").stdout
    assert shown.startswith("at 1 s\n")
    assert f" cwnd:{sender['cwnd_packets']} " in shown
    several = command("stats", "result", "result", "--sockets")
    assert (several.returncode, several.stdout) == (2, "")
    assert "--sockets: --counters and --sockets need one result, not 2" in several.stderr
    (tmp_path / "result" / "sockets.parquet").unlink()
    done = command("stats", "result", "--sockets")
    assert done.stdout == ""
    assert "result: has no sockets: rerun on the kernel engine with --sockets TIME, such as 1s" in done.stderr
