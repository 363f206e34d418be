"""`dumbbell exec`: the program's words and status are the command's own; a slip is told before anything runs."""

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND, Dumbbell
from dumbbell.results.result import TABLES
from engines.measured import CUBIC, experiment

PYTHON = shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin") or "python3"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(experiment(CUBIC, duration="20s"))
    return path


@pytest.mark.kernel
def test_a_command_says_what_it_says_and_its_status_is_ours(dumbbell: Dumbbell, file: Path, tmp_path: Path) -> None:
    script = "echo hello; echo oops >&2; exit 3"
    done = dumbbell("exec", file.name, "--no-flows", "--out", "result", "--", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert done.stderr.startswith("oops\n")
    assert "dumbbell: invalid: program 'command' exited with status 3, not 0" in done.stderr
    manifest = json.loads((tmp_path / "result" / "run.json").read_text())
    assert manifest["command"].startswith("dumbbell exec mine.toml --no-flows")
    assert manifest["duration_s"] < 1
    assert manifest["flows"] == []


@pytest.mark.kernel
def test_a_command_speaks_to_a_server_at_the_other_end_beside_the_flows(dumbbell: Dumbbell, file: Path) -> None:
    ask = "import urllib.request; print(len(urllib.request.urlopen('http://sender/big').read()))"
    server = f"{PYTHON} -m http.server 80"
    words = ("exec", file.name, "--server", server, "--file", "big=1MB", "--cc", "bbr", "--out", "result")
    done = dumbbell(*words, "--", PYTHON, "-c", ask)
    assert (done.returncode, done.stdout) == (0, "1000000\n"), done.stderr
    shown = json.loads(dumbbell("stats", "result", "--json").stdout)
    assert [(flow["name"], flow["cc"]) for flow in shown["flows"]] == [("cubic", "cubic"), ("server", "bbr")]
    assert {program["name"]: program["status"] for program in shown["programs"]} == {"server": None, "command": 0}
    # Two flows share 10 Mbit/s.
    assert 8 / 10 < shown["duration_s"] < 10
    assert dumbbell("report", "result", "-o", "page.html").returncode == 0


@pytest.mark.kernel
def test_what_a_command_says_is_heard_while_it_runs(file: Path) -> None:
    """It says one word, and then passes more time than anybody waits for."""
    script = "echo one; while :; do sleep 0.001; done"
    words = [str(COMMAND), "exec", file.name, "--no-flows", "--out", "result", "--", "sh", "-c", script]
    with subprocess.Popen(words, cwd=file.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "one\n"
        running.send_signal(signal.SIGINT)
        # Not 124, as when it is over.
        assert running.wait() == 130
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.kernel
def test_what_a_command_writes_into_its_folder_is_kept(dumbbell: Dumbbell, file: Path, tmp_path: Path) -> None:
    script = "mkdir deep; echo x > deep/new; cp given copy; rm mine.toml; truncate -s 65M big; echo gone > /tmp/gone"
    words = ("exec", file.name, "--no-flows", "--file", "given=3", "--out", "result", "--", "sh", "-c", script)
    done = dumbbell(*words)
    assert done.returncode == 0, done.stderr
    kept = tmp_path / "result" / "programs" / "command"
    found = {str(path.relative_to(kept)): path.read_bytes() for path in kept.rglob("*") if path.is_file()}
    assert found == {"copy": b"\0\0\0", "deep/new": b"x\n"}
    assert "program 'command' wrote more files than are copied (64 MiB, 1,000 files); lost: big" in done.stderr
    assert "; files: result/programs/command\n" in done.stderr
    assert file.exists()


@pytest.mark.kernel
def test_what_lies_where_a_command_is_typed_changes_nothing(dumbbell: Dumbbell, tmp_path: Path) -> None:
    """RED and BBR draw from the kernel's RNG: one more draw changes everything that follows."""
    red = "red limit 400000 min 15000 max 45000 avpkt 1000 probability 0.1 bandwidth 10mbit"
    text = experiment(CUBIC + CUBIC.replace("cubic", "bbr"), qdisc=red, duration="3s")
    tables = []
    for count in (0, 500):
        folder = tmp_path / f"with {count}"
        folder.mkdir()
        (tmp_path / "mine.toml").write_text(text)
        for number in range(count):
            (folder / f"{number}.txt").touch()
        script = "sleep 1; ls | wc -l"
        done = dumbbell("exec", "../mine.toml", "--out", "../out", "--", "sh", "-c", script, cwd=folder)
        assert done.stdout == f"{count}\n", done.stderr
        out = (tmp_path / "out").rename(tmp_path / f"out {count}")
        tables.append({name: (out / f"{name}.parquet").read_bytes() for name in TABLES})
    assert tables[0] == tables[1]


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("command", "status"), [(["sleep", "9"], 124), (["no-such-program"], 127), (["sh", "-c", "kill -9 $$"], 137)]
)
def test_a_command_that_did_not_end_by_itself_has_a_shell_s_status(
    dumbbell: Dumbbell, file: Path, command: list[str], status: int
) -> None:
    assert dumbbell("exec", file.name, "--no-flows", "--timeout", "1s", "--", *command).returncode == status


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--on", "nowhere", "--", "true"), "programs.0.on: no host is called that, got 'nowhere'"),
        (("--case", "x", "--", "true"), "no case is called 'x'"),
        (("--file", "big", "--", "true"), "--file: not a file, got 'big'"),
        (("--",), "Missing argument"),
    ],
)
def test_a_slip_is_told_and_leaves_nothing(dumbbell: Dumbbell, file: Path, words: tuple[str, ...], why: str) -> None:
    done: subprocess.CompletedProcess[str] = dumbbell("exec", file.name, *words)
    assert done.returncode == 2
    assert why in done.stderr
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("name", ["lossy-download-nginx"])
def test_a_plan_by_hand_has_the_programs_too(dumbbell: Dumbbell, name: str) -> None:
    script = dumbbell("plan", name).stdout
    assert "(exec ip netns exec sender nginx -e stderr -p . -c nginx.conf) &" in script
    assert "truncate -s 61000000 file" in script
    assert "sysctl -w net.ipv4.tcp_congestion_control=cubic" in script
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)


@pytest.mark.kernel
def test_sockets_of_a_guest_are_imported_from_a_pipe(file: Path, tmp_path: Path) -> None:
    guest = [str(COMMAND), "exec", file.name, "--on", "sender", "--start", "2s", "--out", "result", "--", "ss", "-tin"]
    with subprocess.Popen(guest, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as sockets:
        words = [str(COMMAND), "import", "-", "-o", "sockets", "--json"]
        done = subprocess.run(words, cwd=tmp_path, stdin=sockets.stdout, capture_output=True, text=True, check=False)
    assert (sockets.returncode, done.returncode) == (0, 0), done.stderr
    (flow,) = json.loads(done.stdout)["flows"]
    assert flow["cc"] == "cubic"
    assert flow["rtt_ms"]["mean"] > 0
    assert flow["cwnd_packets"]["mean"] >= 2
