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
from dumbbell.results.result import TABLES
from engines.measured import CUBIC, experiment

PATIENCE_S = 60.0
"""Not a limit of the command's: when a test is given up."""
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "here" / "mine.toml"
    path.parent.mkdir()
    path.write_text(experiment(CUBIC, duration="20s"))
    return path


def typed(file: Path, text: str, *words: str, out: str = "result") -> subprocess.CompletedProcess[str]:
    """The command with a file's lines at its standard input."""
    command = [str(COMMAND), "shell", file.name, "--out", out, *words]
    return subprocess.run(command, cwd=file.parent, input=text, capture_output=True, text=True, check=False)


def session(file: Path, out: str = "result") -> dict[str, Any]:
    told: dict[str, Any] = json.loads((file.parent / out / "run.json").read_text())["session"]
    return told


@pytest.mark.kernel
def test_lines_of_a_file_are_commands_of_one_shell_in_the_experiment_s_time(file: Path) -> None:
    text = "x=5; cd /tmp\nsleep 2\necho $x $PWD\nfor i in 1 2\ndo echo $i\ndone\n(exit 3)\necho $?\nss -Htin\nexit 4\n"
    done = typed(file, text)
    assert done.returncode == 4, done.stderr
    assert done.stdout.startswith("5 /tmp\n1\n2\n3\n")
    # The experiment's own flow, at this moment.
    assert re.search(r"cubic.* cwnd:\d+", done.stdout)
    told = session(file)
    lines = [command["line"] for command in told["commands"]]
    assert lines[:4] == ["x=5; cd /tmp", "sleep 2", "echo $x $PWD", "for i in 1 2\ndo echo $i\ndone"]
    assert [command["status"] for command in told["commands"]] == [0, 0, 0, 0, 3, 0, 0, 4]
    # Only `sleep` took time, and no time passed between commands.
    assert told["commands"][1]["ended_s"] == pytest.approx(2, abs=0.01)
    assert told["commands"][-1]["started_s"] == pytest.approx(2, abs=0.02)
    manifest = json.loads((file.parent / "result" / "run.json").read_text())
    assert manifest["duration_s"] == pytest.approx(2, abs=0.02)
    assert manifest["invalid"] == []
    assert (file.parent / "result" / "programs" / "shell.out").read_text() == done.stdout


@pytest.mark.kernel
def test_the_same_commands_give_the_same_bytes(file: Path) -> None:
    text = "sleep 0.5\ntc qdisc show\nss -tin\nsleep 0.5\n(exit 5)\n"
    one, again = typed(file, text, out="../one"), typed(file, text, out="../again")
    assert (one.returncode, again.returncode) == (5, 5), one.stderr
    assert again.stdout == one.stdout
    for table in TABLES:
        files = [file.parent.parent / out / f"{table}.parquet" for out in ("one", "again")]
        assert files[0].read_bytes() == files[1].read_bytes(), table
    assert session(file, "../one")["commands"] == session(file, "../again")["commands"]


@pytest.mark.kernel
def test_every_command_has_an_end(file: Path) -> None:
    text = "sleep 100\ntrap '' INT; sleep 100\nf() { while :; do sleep 1; done; }; f\necho alive $?\nsleep 100\n"
    done = typed(file, text, "--no-flows", "--timeout", "2s", "--set", "duration=10s")
    assert "alive 130" in done.stdout
    told = session(file)
    assert [(each["status"], each["fate"]) for each in told["commands"][:4]] == [
        (130, "timeout"), (137, "timeout"), (130, "timeout"), (0, None),
    ]  # fmt: skip
    # Asked after two seconds; who doesn't listen is ended a second later.
    assert [each["ended_s"] for each in told["commands"][:3]] == pytest.approx([2, 5, 7], abs=0.3)
    assert told["commands"][-1]["ended_s"] == pytest.approx(9, abs=0.3)


@pytest.mark.kernel
def test_the_experiment_s_end_is_the_shell_s(file: Path) -> None:
    done = typed(file, "echo one\nsleep 100\necho two\n", "--no-flows", "--set", "duration=3s")
    assert (done.returncode, done.stdout) == (124, "one\n")
    assert "the experiment ended after 3 s, before the last command; extend it with --set duration=" in done.stderr
    told = session(file)
    assert (told["status"], told["commands"][-1]["line"], told["commands"][-1]["ended_s"]) == (None, "sleep 100", None)


@pytest.mark.kernel
def test_a_command_that_lets_no_time_pass_is_given_up_with_the_experiment(file: Path) -> None:
    done = typed(file, "while :; do :; done\n", "--no-flows", "--wall-limit", "3")
    assert done.returncode == 1
    assert "the guest was still running after 3 s of wall time and was stopped" in done.stderr
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.kernel
def test_in_real_time_the_experiment_goes_on_between_commands(file: Path) -> None:
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
    told = session(file)
    assert told["real_time"] is True
    passed_s = told["commands"][1]["started_s"] - told["commands"][0]["ended_s"]
    # Wall time that a busy machine withholds is told, not hidden.
    assert passed_s + told["late_s"] > 0.9
    assert passed_s > 0.2


@dataclass
class Terminal:
    """The command at a terminal of its own."""

    process: int
    descriptor: int
    seen: str = ""

    def wait_for(self, pattern: str, again: str = "") -> str:
        """Read until the pattern shows; returns what was new up to there.

        `again`: keys for every second without anything new.
        """
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.search(pattern, self.seen)) is None:
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.seen!r}"
            if not select.select([self.descriptor], [], [], 1)[0]:
                self.type(again)
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


@pytest.mark.kernel
def test_ctrl_c_ends_the_command_and_ctrl_d_the_shell(terminal: Terminal, file: Path) -> None:
    assert "600 s in total" in terminal.wait_for(r"sender 0\.000 s# ")
    terminal.type("sleep 0.5; echo said at $?; sleep 590\n")
    # Shown while the command still runs.
    terminal.wait_for("said at 0")
    terminal.type("\x03")
    terminal.wait_for(r"sender \d+\.\d{3} s# ")
    terminal.type("half a line")
    # Readline hears ^C only while it reads keys: one between its echo and its next wait goes unheard.
    terminal.wait_for("half a line")
    terminal.type("\x03")
    terminal.wait_for(r"sender \d+\.\d{3} s# ", again="\x03")
    terminal.type("echo status $?\n")
    terminal.wait_for("status 130\r\n")
    terminal.wait_for(r"# ")
    terminal.type("\x04")
    terminal.wait_for("result: result")
    terminal.status()
    assert [command["line"] for command in session(file)["commands"]] == [
        "sleep 0.5; echo said at $?; sleep 590", "echo status $?",
    ]  # fmt: skip


@pytest.mark.kernel
@pytest.mark.parametrize(("loop", "status"), [("while :; do :; done", 130), ("sh -c 'while :; do :; done'", 136)])
def test_ctrl_c_ends_what_lets_no_time_pass(terminal: Terminal, file: Path, loop: str, status: int) -> None:
    terminal.wait_for(r"sender 0\.000 s# ")
    room = next(file.parent.glob(".result.running/result/guest"))
    idle_s = cpu_s(room)
    terminal.type(f"{loop}\n")
    # Nothing comes out of a guest whose time stands still; that it computes for so long says that it is at its loop.
    deadline = time.monotonic() + PATIENCE_S
    while cpu_s(room) < idle_s + 0.3:
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
def test_a_guest_does_not_outlive_a_shell_that_was_killed(terminal: Terminal, file: Path) -> None:
    terminal.wait_for(r"sender 0\.000 s# ")
    room = next(file.parent.glob(".result.running/result/guest"))
    assert guests_of(room)
    os.kill(terminal.process, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE_S
    while guests_of(room):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def cpu_s(room: Path) -> float:
    """How long the run's processes have computed."""
    ticks = 0
    for process in guests_of(room):
        with suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def guests_of(room: Path) -> list[str]:
    """Processes whose current folder is the run's."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "cwd").readlink() == room:
                found.append(process.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--on", "nowhere"), "programs.0.on: no host is called that, got 'nowhere'"),
        (("--timeout", "long"), "--timeout: "),
        (("--case", "x"), "no case is called 'x'"),
    ],
)
def test_a_slip_is_told_and_leaves_nothing(dumbbell: Dumbbell, file: Path, words: tuple[str, ...], why: str) -> None:
    done = dumbbell("shell", file.name, *words, cwd=file.parent)
    assert done.returncode == 2
    assert why in done.stderr
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash, which reads what is typed")
@pytest.mark.parametrize(
    ("command", "unfinished"),
    [
        ("ls", False), ("for i in 1 2", True), ("for i in 1 2\ndo echo $i\ndone", False), ("echo 'a", True),
        ("echo \\", True), ("echo \\\\", False), ("cat <<E\na", True), ("cat <<E\na\nE", False), ("if", True),
        ("fi", False), ("", False), ("echo $(", True), ("f() {", True), ("# if", False),
        ("fi # unexpected EOF while", False),
    ],
)  # fmt: skip
def test_bash_says_whether_a_command_needs_more_lines(command: str, unfinished: bool) -> None:
    assert is_unfinished(command) is unfinished


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash, which reads what is typed")
@given(TEXTS)
def test_any_text_in_quotes_is_whole_and_behind_one_quote_is_not(text: str) -> None:
    assert not is_unfinished(f"echo {shlex.quote(text)}")
    assert is_unfinished("echo '" + text.replace("'", ""))
