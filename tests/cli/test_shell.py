"""`dumbbell shell`: time passes only while a command runs, ^C ends a command, and nothing outlives the shell."""

import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import COMMAND, Dumbbell
from dumbbell.cli.repl import is_unfinished
from dumbbell.results.reader import TABLES
from engines.measured import CUBIC, experiment
from processes import processes_in

PATIENCE_S = 60.0
"""When a test fails for lack of progress; not a limit of the command."""
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "here" / "mine.toml"
    path.parent.mkdir()
    path.write_text(experiment(CUBIC, duration="20s"))
    return path


def run_shell(file: Path, text: str, *arguments: str, out: str = "result") -> subprocess.CompletedProcess[str]:
    """The command with a file's lines at its standard input."""
    command = [str(COMMAND), "shell", file.name, "--out", out, *arguments]
    return subprocess.run(command, cwd=file.parent, input=text, capture_output=True, text=True, check=False)


def session(file: Path, out: str = "result") -> dict[str, Any]:
    commands: dict[str, Any] = json.loads((file.parent / out / "run.json").read_text())["session"]
    return commands


@pytest.mark.kernel
def test_lines_of_a_file_are_commands_of_one_shell_in_virtual_time(file: Path) -> None:
    text = "x=5; cd /tmp\nsleep 2\necho $x $PWD\nfor i in 1 2\ndo echo $i\ndone\n(exit 3)\necho $?\nss -Htin\nexit 4\n"
    done = run_shell(file, text)
    assert done.returncode == 4, done.stderr
    assert done.stdout.startswith("5 /tmp\n1\n2\n3\n")
    # The experiment's own flow, at this moment.
    assert re.search(r"cubic.* cwnd:\d+", done.stdout)
    recorded = session(file)
    lines = [command["line"] for command in recorded["commands"]]
    assert lines[:4] == ["x=5; cd /tmp", "sleep 2", "echo $x $PWD", "for i in 1 2\ndo echo $i\ndone"]
    assert [command["status"] for command in recorded["commands"]] == [0, 0, 0, 0, 3, 0, 0, 4]
    # Only `sleep` took time, and no time passed between commands.
    assert recorded["commands"][1]["ended_s"] == pytest.approx(2, abs=0.01)
    assert recorded["commands"][-1]["started_s"] == pytest.approx(2, abs=0.02)
    manifest = json.loads((file.parent / "result" / "run.json").read_text())
    assert manifest["duration_s"] == pytest.approx(2, abs=0.02)
    assert manifest["invalid"] == []
    assert (file.parent / "result" / "programs" / "shell.out").read_text() == done.stdout


@pytest.mark.slow
@pytest.mark.kernel
def test_the_same_commands_give_the_same_bytes(file: Path) -> None:
    text = "sleep 0.5\ntc qdisc show\nss -tin\nsleep 0.5\n(exit 5)\n"
    first, second = run_shell(file, text, out="../first"), run_shell(file, text, out="../second")
    assert (first.returncode, second.returncode) == (5, 5), first.stderr
    assert second.stdout == first.stdout
    for table in TABLES:
        files = [file.parent.parent / out / f"{table}.parquet" for out in ("first", "second")]
        assert files[0].read_bytes() == files[1].read_bytes(), table
    assert session(file, "../first")["commands"] == session(file, "../second")["commands"]


@pytest.mark.slow
@pytest.mark.kernel
def test_every_command_has_a_time_limit(file: Path) -> None:
    text = "sleep 100\ntrap '' INT; sleep 100\nf() { while :; do sleep 1; done; }; f\necho alive $?\nsleep 100\n"
    done = run_shell(file, text, "--no-flows", "--timeout", "2s", "--set", "duration=10s")
    assert "alive 130" in done.stdout
    recorded = session(file)
    assert [(each["status"], each["fate"]) for each in recorded["commands"][:4]] == [
        (130, "timeout"), (137, "timeout"), (130, "timeout"), (0, None),
    ]  # fmt: skip
    # Interrupted after two seconds; a command that ignores it is killed a second later.
    assert [each["ended_s"] for each in recorded["commands"][:3]] == pytest.approx([2, 5, 7], abs=0.3)
    assert recorded["commands"][-1]["ended_s"] == pytest.approx(9, abs=0.3)


@pytest.mark.slow
@pytest.mark.kernel
def test_the_shell_ends_with_the_experiment(file: Path) -> None:
    done = run_shell(file, "echo one\nsleep 100\necho two\n", "--no-flows", "--set", "duration=3s")
    assert (done.returncode, done.stdout) == (124, "one\n")
    assert "the experiment ended after 3 s, before the last command; extend it with --set duration=" in done.stderr
    recorded = session(file)
    assert (recorded["status"], recorded["commands"][-1]["line"], recorded["commands"][-1]["ended_s"]) == (
        None,
        "sleep 100",
        None,
    )


@pytest.mark.slow
@pytest.mark.kernel
def test_a_busy_loop_is_stopped_at_the_wall_time_limit(file: Path) -> None:
    done = run_shell(file, "while :; do :; done\n", "--no-flows", "--wall-limit", "3")
    assert done.returncode == 4
    assert "the guest was still running after 3 s of wall time and was stopped" in done.stderr
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.slow
@pytest.mark.kernel
def test_the_experiment_continues_between_commands_in_real_time(file: Path) -> None:
    command = [str(COMMAND), "shell", file.name, "--no-flows", "--real-time", "--out", "result"]
    with subprocess.Popen(command, cwd=file.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write("echo here\n")
        shell.stdin.flush()
        assert shell.stdout.readline() == "here\n"
        time.sleep(1)
        shell.stdin.write("echo there\n")
        shell.stdin.close()
        assert shell.wait(PATIENCE_S) == 0
    recorded = session(file)
    assert recorded["real_time"] is True
    passed_s = recorded["commands"][1]["started_s"] - recorded["commands"][0]["ended_s"]
    # Time by which a busy host delays the guest is reported as late_s.
    assert passed_s + recorded["late_s"] > 0.9
    assert passed_s > 0.2


@dataclass
class Terminal:
    """The command at a terminal of its own."""

    process: int
    descriptor: int
    seen: str = ""

    def wait_for(self, pattern: str, resend: str = "") -> str:
        """Read until the pattern appears; returns the output up to its end.

        `resend`: keys to type after every second without new output.
        """
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.search(pattern, self.seen)) is None:
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.seen!r}"
            if not select.select([self.descriptor], [], [], 1)[0]:
                self.type(resend)
            else:
                try:
                    self.seen += os.read(self.descriptor, 65536).decode(errors="replace")
                except OSError:
                    assert re.search(pattern, self.seen), f"no {pattern!r} at the end of {self.seen!r}"
        new, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return new

    def type(self, keys: str) -> None:
        os.write(self.descriptor, keys.encode())

    def status(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@pytest.fixture
def terminal(file: Path) -> Iterator[Terminal]:
    process, descriptor = pty.fork()
    if process == 0:
        os.chdir(file.parent)
        os.execve(
            COMMAND,
            ["dumbbell", "shell", file.name, "--out", "result", "--set", "duration=600s"],
            os.environ | {"TERM": "dumb"},
        )
    yield Terminal(process, descriptor)
    try:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    except (ProcessLookupError, ChildProcessError):
        pass
    os.close(descriptor)


@pytest.mark.slow
@pytest.mark.kernel
def test_ctrl_c_ends_the_command_and_ctrl_d_the_shell(terminal: Terminal, file: Path) -> None:
    assert "600 s in total" in terminal.wait_for(r"sender 0\.000 s# ")
    terminal.type("sleep 0.5; echo printed at $?; sleep 590\n")
    # Shown while the command still runs.
    terminal.wait_for("printed at 0")
    terminal.type("\x03")
    terminal.wait_for(r"sender \d+\.\d{3} s# ")
    terminal.type("half a line")
    # Readline handles ^C only while it reads keys: one between its echo and its next read is lost.
    terminal.wait_for("half a line")
    terminal.type("\x03")
    terminal.wait_for(r"sender \d+\.\d{3} s# ", resend="\x03")
    terminal.type("echo status $?\n")
    terminal.wait_for("status 130\r\n")
    terminal.wait_for(r"# ")
    terminal.type("\x04")
    terminal.wait_for("result: result")
    terminal.status()
    assert [command["line"] for command in session(file)["commands"]] == [
        "sleep 0.5; echo printed at $?; sleep 590", "echo status $?",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.kernel
@pytest.mark.parametrize(("loop", "status"), [("while :; do :; done", 130), ("sh -c 'while :; do :; done'", 136)])
def test_ctrl_c_ends_a_busy_loop(terminal: Terminal, file: Path, loop: str, status: int) -> None:
    terminal.wait_for(r"sender 0\.000 s# ")
    guest_folder = next(file.parent.glob(".result.running/result/guest"))
    idle_s = cpu_s(guest_folder)
    terminal.type(f"{loop}\n")
    # A guest in a busy loop prints nothing; 0.3 s of CPU time show that it has reached the loop.
    deadline = time.monotonic() + PATIENCE_S
    while cpu_s(guest_folder) < idle_s + 0.3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    terminal.type("\x03")
    terminal.wait_for(r"sender 0\.000 s# ")
    terminal.type("sleep 1\n")
    terminal.wait_for(r"sender 1\.\d{3} s# ")
    terminal.type("\x04")
    terminal.wait_for("result: result")
    terminal.status()
    assert [(each["line"], each["status"], each["fate"]) for each in session(file)["commands"]] == [
        (loop, status, "interrupted"), ("sleep 1", 0, None),
    ]  # fmt: skip
    assert json.loads((file.parent / "result" / "run.json").read_text())["invalid"] == []


@pytest.mark.kernel
def test_a_guest_ends_when_the_shell_is_killed(terminal: Terminal, file: Path) -> None:
    terminal.wait_for(r"sender 0\.000 s# ")
    guest_folder = next(file.parent.glob(".result.running/result/guest"))
    assert processes_in(guest_folder)
    os.kill(terminal.process, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE_S
    while processes_in(guest_folder):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def cpu_s(guest_folder: Path) -> float:
    """CPU time of the run's processes."""
    ticks = 0
    for process in processes_in(guest_folder):
        with suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--host", "nowhere"), "programs.0.host: no host is called that, got 'nowhere'"),
        (("--timeout", "long"), "--timeout: "),
        (("--case", "x"), "no case is called 'x'"),
    ],
)
def test_an_invalid_option_is_an_error_and_leaves_nothing(
    dumbbell: Dumbbell, file: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = dumbbell("shell", file.name, *arguments, cwd=file.parent)
    assert done.returncode == 2
    assert message in done.stderr
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash, which parses the command")
@pytest.mark.parametrize(
    ("command", "unfinished"),
    [
        ("ls", False), ("for i in 1 2", True), ("for i in 1 2\ndo echo $i\ndone", False), ("echo 'a", True),
        ("echo \\", True), ("echo \\\\", False), ("cat <<E\na", True), ("cat <<E\na\nE", False), ("if", True),
        ("fi", False), ("", False), ("echo $(", True), ("f() {", True), ("# if", False),
        ("fi # unexpected EOF while", False),
    ],
)  # fmt: skip
def test_bash_detects_an_unfinished_command(command: str, unfinished: bool) -> None:
    assert is_unfinished(command) is unfinished


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash, which parses the command")
@given(TEXTS)
def test_quoted_text_is_complete_and_text_after_one_quote_is_not(text: str) -> None:
    assert not is_unfinished(f"echo {shlex.quote(text)}")
    assert is_unfinished("echo '" + text.replace("'", ""))


def test_exec_without_a_program_is_a_shell(file: Path) -> None:
    command = [str(COMMAND), "exec", file.name, "--out", "result", "--host", "receiver"]
    done = subprocess.run(
        command, cwd=file.parent, input="hostname\nexit 3\n", capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    assert session(file)["status"] == 3
    assert subprocess.run([*command, "--json"], cwd=file.parent, capture_output=True, check=False).returncode == 2
