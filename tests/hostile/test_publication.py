"""A result is complete or absent, whichever call fails, and whenever the command is killed or gets a signal.

A process publishes folders and files with a preloaded library (calls.c) that kills it before its Nth call, or fails
that call with ENOSPC, EIO, EINTR or EMFILE. After each: the files are complete, the error is an `OutputError`, and the
next command succeeds and leaves no other file. Complete commands are tested at some of their calls.
"""

import contextlib
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import COMMAND
from hostile.calls import Calls, library, recorded_calls
from hostile.fuzzing import SECONDS

ERRORS = (errno.ENOSPC, errno.EIO, errno.EINTR, errno.EMFILE)
KILLED = 0
OLD, NEW = "old " * 1000, "new " * 1000
SERVER = f"""
import json, os, sys
from pathlib import Path
from dumbbell import publish
from dumbbell.errors import OutputError

def folder():
    with publish.staged(Path("out")) as out:
        (out / "run.json").write_text({NEW!r})
        (out / "deep").mkdir()
        (out / "deep" / "table").write_text({NEW!r})

def new_file():
    with publish.captured(Path("out")) as out:
        out.write_text({NEW!r})

def page():
    publish.write(Path("out"), {NEW.encode()!r})

def scratch():
    with publish.scratch(Path("out")) as out:
        (out / "half").write_text({NEW!r})

for line in sys.stdin:
    request = json.loads(line)
    child = os.fork()
    if child == 0:
        status = 99
        try:
            os.chdir(request["cwd"])
            os.environ.update(request["environment"])
            globals()[request["kind"]]()
            status = 0
        except OutputError:
            status = 2
        except OSError:
            status = 3
        finally:
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
KINDS = ("folder", "new_file", "page", "scratch")


class Server:
    """Publishes in separate processes with the library."""

    def __init__(self, built: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"LD_PRELOAD": str(built)},
        )  # fmt: skip

    def publish(self, kind: str, folder: Path, **variables: object) -> int:
        """Exit status: 0, 2 for an `OutputError`, 3 for an `OSError`, 99 for any other error, negative for a signal."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        library_variables = {f"CALLS_{key.upper()}": str(value) for key, value in variables.items()}
        common = {"DUMBBELL_CACHE": str(folder / "cache"), "CALLS_LIMIT_S": "300"}
        cwd = str(folder / "here")
        self._process.stdin.write(
            json.dumps({"kind": kind, "cwd": cwd, "environment": common | library_variables}) + "\n"
        )
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """Close its input, which ends it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with contextlib.closing(Server(library(tmp_path_factory.mktemp("library")))) as found:
        yield found


def test_without_errors_every_kind_is_published(server: Server, tmp_path: Path) -> None:
    for kind in KINDS:
        folder = prepared(tmp_path / kind, kind)
        assert server.publish(kind, folder, under=folder, log=tmp_path / f"{kind}.log") == 0
        assert_published(kind, folder)
        assert len(recorded_calls(tmp_path / f"{kind}.log")) > 10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [KILLED, *ERRORS], ids=lambda number: errno.errorcode.get(number, "SIGKILL"))
def test_an_error_or_a_kill_at_any_call_leaves_a_complete_result_or_none(
    kind: str, error: int, server: Server, tmp_path: Path
) -> None:
    """Each call of a publication, one after the other."""
    number = 1
    while True:
        folder = prepared(tmp_path / str(number), kind)
        log = folder / "log"
        status = server.publish(kind, folder, under=folder, nth=number, error=error, log=log)
        assert status in ((0, -signal.SIGKILL) if error == KILLED else (0, 2, 3)), f"call {number}: {status}"
        assert status != 3 or kind == "scratch"
        assert_complete_or_nothing(
            kind, folder, f"call {number}: {[each for each, _ in recorded_calls(log)][number - 1 : number]}"
        )
        if len(recorded_calls(log)) < number:
            assert status == 0
            return
        if kind == "folder":
            shutil.rmtree(folder / "here/out", ignore_errors=True)
        elif kind == "new_file":
            (folder / "here/out").unlink(missing_ok=True)
        assert server.publish(kind, folder) == 0
        assert_published(kind, folder)
        number += 1


def prepared(folder: Path, kind: str) -> Path:
    (folder / "here").mkdir(parents=True)
    if kind == "page":
        (folder / "here/out").write_text(OLD)
    return folder


def assert_published(kind: str, folder: Path) -> None:
    assert_complete_or_nothing(kind, folder, "afterwards")
    assert sorted(path.name for path in (folder / "here").iterdir()) == ([] if kind == "scratch" else ["out"])


def assert_complete_or_nothing(kind: str, folder: Path, message: str) -> None:
    out = folder / "here/out"
    match kind:
        case "folder" if out.exists():
            assert {path.name: path.read_text() for path in out.rglob("*") if path.is_file()} == {
                "run.json": NEW, "table": NEW
            }, message  # fmt: skip
        case "new_file" if out.exists():
            assert out.read_text() == NEW, message
        case "page":
            assert out.read_text() in (OLD, NEW), message


@pytest.fixture(scope="module")
def result(calls: Calls, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("result")
    done = calls.run(["run", "cyclic", "--set", "duration=1s", "--out", "ok"], folder, folder / "cache")
    assert done.returncode == 0, done.stderr
    return folder


COMMANDS = {
    "run": ["run", "cyclic", "--set", "duration=1s", "--out", "out"],
    "capture": ["run", "cyclic", "--set", "duration=1s", "--out", "out", "--pcap", "p.pcap"],
    "export": ["export", "../ok", "-o", "out"],
    "lines": ["export", "../ok", "-o", "out.jsonl"],
    "plot": ["plot", "../ok", "-o", "out.svg"],
    "report": ["report", "../ok", "-o", "out.html"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_fuzz_a_command_at_any_call(name: str, calls: Calls, result: Path) -> None:
    """Some of a command's calls, in `make nightly` all, with a kill and with each error."""
    arguments, base = COMMANDS[name], result / name
    base.mkdir()
    assert calls.run(arguments, base, result / "cache", under=base, log=base.with_suffix(".log")).returncode == 0
    expected = sizes(base)
    call_count = len(recorded_calls(base.with_suffix(".log")))
    attempts = [(number, error) for error in (KILLED, *ERRORS) for number in range(1, call_count + 1)]
    if not SECONDS:
        attempts = random.Random(name).sample(attempts, 2)
    for number, error in attempts:
        folder = result / f"{name}-{number}-{error}"
        folder.mkdir()
        done = calls.run(arguments, folder, result / "cache", under=folder, nth=number, error=error)
        message = f"call {number}, {errno.errorcode.get(error, 'SIGKILL')}: {done.returncode}: {done.stderr[-800:]}"
        assert done.returncode in ((0, -signal.SIGKILL) if error == KILLED else (0, 2)), message
        assert "Traceback" not in done.stderr, message
        visible = {path: size for path, size in sizes(folder).items() if not path.startswith(".")}
        assert set(visible) <= set(expected), message
        assert top_names(visible) <= top_names(expected), message
        # Complete: each published folder has all its files, and none is empty.
        assert all(
            {path for path in expected if path.split("/")[0] == top} <= set(visible) and all(visible.values())
            for top in top_names(visible)
        ), message
        if not visible:
            assert calls.run(arguments, folder, result / "cache").returncode == 0, message
            assert set(sizes(folder)) == set(expected), message


def sizes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*")}


def top_names(paths: dict[str, int]) -> set[str]:
    return {path.split("/")[0] for path in paths}


@pytest.mark.parametrize("signal_number", [signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_gets_a_signal_leaves_nothing(signal_number: signal.Signals, tmp_path: Path) -> None:
    # The parent of the tests may have set these signals to be ignored, as nohup does.
    with long_run(tmp_path, "env", f"--default-signal={signal_number.name.removeprefix('SIG')}", COMMAND) as process:
        process.send_signal(signal_number)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert errors == "dumbbell: interrupted; nothing was left behind\n"
    assert list(tmp_path.iterdir()) == []


def test_a_run_under_nohup_ignores_a_hangup(tmp_path: Path) -> None:
    with long_run(tmp_path, "nohup", COMMAND) as process:
        process.send_signal(signal.SIGHUP)
        ignored = next(
            int(line.split()[1], 16)
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines()
            if line.startswith("SigIgn:")
        )
        assert ignored >> (signal.SIGHUP - 1) & 1
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=300)
    assert process.returncode == 130


@contextlib.contextmanager
def long_run(folder: Path, *command: str | Path) -> Iterator["subprocess.Popen[str]"]:
    """A run that has started and would take hours."""
    arguments = ["run", "cyclic", "--set", "duration=100000s", "--set", "sample=1s", "--out", "run"]
    process = subprocess.Popen(
        [*command, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        while process.poll() is None and not list(folder.glob(".run.running/.lock")):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


@pytest.mark.parametrize("arguments", [["list", "controllers"], ["explain", "bbr"]], ids=" ".join)
def test_a_full_standard_output_is_an_error(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "dumbbell: No space left on device\n")


def test_a_report_can_be_written_to_a_device(result: Path) -> None:
    done = subprocess.run([COMMAND, "report", "ok", "-o", "/dev/stdout"], cwd=result, capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith(b"<!doctype html>")
