"""`dumbbell exec` passes on the program's output and status, and reports invalid options before anything runs."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND, Dumbbell
from dumbbell.results.reader import TABLES
from engines.measured import CUBIC, PYTHON, experiment


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(experiment(CUBIC, duration="20s"))
    return path


@pytest.mark.kernel
def test_a_command_s_output_and_status_are_passed_on(dumbbell: Dumbbell, file: Path, tmp_path: Path) -> None:
    script = "echo hello; echo oops >&2; exit 3"
    done = dumbbell("exec", file.name, "--no-flows", "--out", "result", "--", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert done.stderr.startswith("oops\n")
    assert "dumbbell: invalid: program 'command' exited with status 3, not 0" in done.stderr
    manifest = json.loads((tmp_path / "result" / "run.json").read_text())
    assert manifest["command"].startswith("dumbbell exec mine.toml --no-flows")
    assert manifest["duration_s"] < 1
    assert manifest["flows"] == []


@pytest.mark.slow
@pytest.mark.kernel
def test_a_command_downloads_from_a_server_while_flows_run(dumbbell: Dumbbell, file: Path) -> None:
    request = "import urllib.request; print(len(urllib.request.urlopen('http://sender/big').read()))"
    server = f"{PYTHON} -m http.server 80"
    arguments = ("exec", file.name, "--server", server, "--file", "big=1MB", "--cc", "bbr", "--out", "result")
    done = dumbbell(*arguments, "--", PYTHON, "-c", request)
    assert (done.returncode, done.stdout) == (0, "1000000\n"), done.stderr
    shown = json.loads(dumbbell("stats", "result", "--json").stdout)
    assert [(flow["name"], flow["cc"]) for flow in shown["flows"]] == [("cubic", "cubic"), ("server", "bbr")]
    assert {program["name"]: program["status"] for program in shown["programs"]} == {"server": None, "command": 0}
    # Two flows share 10 Mbit/s.
    assert 8 / 10 < shown["duration_s"] < 10
    assert dumbbell("report", "result", "-o", "page.html").returncode == 0


@pytest.mark.kernel
def test_a_command_s_output_is_printed_while_it_runs(file: Path) -> None:
    """The command prints one line and then never ends."""
    script = "echo one; while :; do sleep 0.001; done"
    arguments = [str(COMMAND), "exec", file.name, "--no-flows", "--out", "result", "--", "sh", "-c", script]
    with subprocess.Popen(
        arguments, cwd=file.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "one\n"
        running.send_signal(signal.SIGINT)
        # 130 is an interrupt; 124 would be the end of the experiment.
        assert running.wait() == 130
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.kernel
def test_files_that_a_command_writes_are_kept(dumbbell: Dumbbell, file: Path, tmp_path: Path) -> None:
    script = "mkdir deep; echo x > deep/new; cp given copy; rm mine.toml; truncate -s 65M big; echo gone > /tmp/gone"
    arguments = ("exec", file.name, "--no-flows", "--file", "given=3", "--out", "result", "--", "sh", "-c", script)
    done = dumbbell(*arguments)
    assert done.returncode == 0, done.stderr
    kept = tmp_path / "result" / "programs" / "command"
    found = {str(path.relative_to(kept)): path.read_bytes() for path in kept.rglob("*") if path.is_file()}
    assert found == {"copy": b"\0\0\0", "deep/new": b"x\n"}
    assert "program 'command' wrote more files than are copied (64 MiB, 1,000 files); lost: big" in done.stderr
    assert "; files: result/programs/command\n" in done.stderr
    assert file.exists()


@pytest.mark.kernel
def test_files_in_the_current_folder_do_not_change_the_results(dumbbell: Dumbbell, tmp_path: Path) -> None:
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
def test_a_killed_or_missing_command_has_a_shell_s_status(
    dumbbell: Dumbbell, file: Path, command: list[str], status: int
) -> None:
    assert dumbbell("exec", file.name, "--no-flows", "--timeout", "1s", "--", *command).returncode == status


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--host", "nowhere", "--", "true"), "programs.0.host: no host is called that, got 'nowhere'"),
        (("--case", "x", "--", "true"), "no case is called 'x'"),
        (("--file", "big", "--", "true"), "--file: not a file, got 'big'"),
    ],
)
def test_an_invalid_option_is_an_error_and_leaves_nothing(
    dumbbell: Dumbbell, file: Path, arguments: tuple[str, ...], message: str
) -> None:
    done: subprocess.CompletedProcess[str] = dumbbell("exec", file.name, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("name", ["lossy-download-nginx"])
def test_a_printed_plan_includes_the_programs(dumbbell: Dumbbell, name: str) -> None:
    script = dumbbell("plan", name).stdout
    assert "(exec ip netns exec sender nginx -e stderr -p . -c nginx.conf) &" in script
    assert "truncate -s 61000000 file" in script
    assert "sysctl -w net.ipv4.tcp_congestion_control=cubic" in script
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)


@pytest.mark.slow
@pytest.mark.kernel
def test_sockets_of_a_guest_are_imported_from_a_pipe(file: Path, tmp_path: Path) -> None:
    guest = [
        str(COMMAND),
        "exec",
        file.name,
        "--host",
        "sender",
        "--start",
        "2s",
        "--out",
        "result",
        "--",
        "ss",
        "-tin",
    ]
    with subprocess.Popen(guest, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as sockets:
        arguments = [str(COMMAND), "import", "-", "--out", "sockets", "--json"]
        done = subprocess.run(
            arguments, cwd=tmp_path, stdin=sockets.stdout, capture_output=True, text=True, check=False
        )
    assert (sockets.returncode, done.returncode) == (0, 0), done.stderr
    (flow,) = json.loads(done.stdout)["flows"]
    assert flow["cc"] == "cubic"
    assert flow["rtt_ms"]["mean"] > 0
    assert flow["cwnd_packets"]["mean"] >= 2
