"""A result is there whole or not at all: whatever call fails, whenever the command is killed, asked to end, or refused.

A process publishes folders and files with a library before the system (calls.c) that kills it before its Nth call, or
lets that call fail: ENOSPC, EIO, EINTR, EMFILE. After each: what is there is whole, the error is one of ours, and the
next command does its work and leaves nothing else. Commands as people type them are tried at some of their calls.
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
from hostile.calls import Calls, library, listed, preloaded
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
    asked = json.loads(line)
    child = os.fork()
    if child == 0:
        status = 99
        try:
            os.chdir(asked["cwd"])
            os.environ.update(asked["environment"])
            globals()[asked["what"]]()
            status = 0
        except OutputError:
            status = 2
        except OSError:
            status = 3
        finally:
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
WHAT = ("folder", "new_file", "page", "scratch")


class Server:
    """Publishes in processes of its own, with the library."""

    def __init__(self, built: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"LD_PRELOAD": str(built)},
        )  # fmt: skip

    def publish(self, what: str, place: Path, **asked: object) -> int:
        """How it ended: 0, 2 an `OutputError`, 3 an `OSError`, 99 anything else, negative by a signal."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        told = {f"CALLS_{key.upper()}": str(value) for key, value in asked.items()}
        own = {"DUMBBELL_CACHE": str(place / "cache"), "CALLS_LIMIT_S": "300"}
        cwd = str(place / "here")
        self._process.stdin.write(json.dumps({"what": what, "cwd": cwd, "environment": own | told}) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with contextlib.closing(Server(library(tmp_path_factory.mktemp("library")))) as found:
        yield found


def test_a_server_that_is_left_alone_publishes(server: Server, tmp_path: Path) -> None:
    for what in WHAT:
        place = fresh(tmp_path / what, what)
        assert server.publish(what, place, under=place, log=tmp_path / f"{what}.log") == 0
        assert_done(what, place)
        assert len(listed(tmp_path / f"{what}.log")) > 10


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("error", [KILLED, *ERRORS], ids=lambda number: errno.errorcode.get(number, "SIGKILL"))
def test_whichever_call_it_is(what: str, error: int, server: Server, tmp_path: Path) -> None:
    """Every call of a publication in turn."""
    number = 1
    while True:
        place = fresh(tmp_path / str(number), what)
        log = place / "log"
        status = server.publish(what, place, under=place, nth=number, error=error, log=log)
        assert status in ((0, -signal.SIGKILL) if error == KILLED else (0, 2, 3)), f"call {number}: {status}"
        assert status != 3 or what == "scratch"
        assert_whole_or_nothing(what, place, f"call {number}: {[each for each, _ in listed(log)][number - 1 : number]}")
        if len(listed(log)) < number:
            assert status == 0
            return
        if what == "folder":
            shutil.rmtree(place / "here/out", ignore_errors=True)
        elif what == "new_file":
            (place / "here/out").unlink(missing_ok=True)
        assert server.publish(what, place) == 0
        assert_done(what, place)
        number += 1


def fresh(place: Path, what: str) -> Path:
    (place / "here").mkdir(parents=True)
    if what == "page":
        (place / "here/out").write_text(OLD)
    return place


def assert_done(what: str, place: Path) -> None:
    assert_whole_or_nothing(what, place, "afterwards")
    assert sorted(path.name for path in (place / "here").iterdir()) == ([] if what == "scratch" else ["out"])


def assert_whole_or_nothing(what: str, place: Path, when: str) -> None:
    out = place / "here/out"
    match what:
        case "folder" if out.exists():
            assert {path.name: path.read_text() for path in out.rglob("*") if path.is_file()} == {
                "run.json": NEW, "table": NEW
            }, when  # fmt: skip
        case "new_file" if out.exists():
            assert out.read_text() == NEW, when
        case "page":
            assert out.read_text() in (OLD, NEW), when


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calls]:
    with preloaded(tmp_path_factory.mktemp("library")) as found:
        yield found


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
    """Some of its calls, all in `make nightly`, with a kill and with each error."""
    words, base = COMMANDS[name], result / name
    base.mkdir()
    assert calls.run(words, base, result / "cache", under=base, log=base.with_suffix(".log")).returncode == 0
    whole = told(base)
    many = len(listed(base.with_suffix(".log")))
    trials = [(number, error) for error in (KILLED, *ERRORS) for number in range(1, many + 1)]
    if not SECONDS:
        trials = random.Random(name).sample(trials, 2)
    for number, error in trials:
        place = result / f"{name}-{number}-{error}"
        place.mkdir()
        done = calls.run(words, place, result / "cache", under=place, nth=number, error=error)
        what = f"call {number}, {errno.errorcode.get(error, 'SIGKILL')}: {done.returncode}: {done.stderr[-800:]}"
        assert done.returncode in ((0, -signal.SIGKILL) if error == KILLED else (0, 2)), what
        assert "Traceback" not in done.stderr, what
        visible = {path: size for path, size in told(place).items() if not path.startswith(".")}
        assert set(visible) <= set(whole), what
        assert tops(visible) <= tops(whole), what
        # Whole: what is there has all its files, and none is empty.
        assert all(
            {path for path in whole if path.split("/")[0] == top} <= set(visible) and all(visible.values())
            for top in tops(visible)
        ), what
        if not visible:
            assert calls.run(words, place, result / "cache").returncode == 0, what
            assert set(told(place)) == set(whole), what


def told(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*")}


def tops(paths: dict[str, int]) -> set[str]:
    return {path.split("/")[0] for path in paths}


@pytest.mark.parametrize("sign", [signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_asked_to_end_leaves_nothing(sign: signal.Signals, tmp_path: Path) -> None:
    # What started the tests may have them ignored, as nohup does.
    with endless(tmp_path, "env", f"--default-signal={sign.name.removeprefix('SIG')}", COMMAND) as process:
        process.send_signal(sign)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert said == "dumbbell: interrupted; nothing was left behind\n"
    assert list(tmp_path.iterdir()) == []


def test_a_run_under_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    with endless(tmp_path, "nohup", COMMAND) as process:
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
def endless(folder: Path, *command: str | Path) -> Iterator["subprocess.Popen[str]"]:
    """A run that has begun and would take hours."""
    words = ["run", "cyclic", "--set", "duration=100000s", "--set", "sample=1s", "--out", "run"]
    process = subprocess.Popen(
        [*command, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
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


@pytest.mark.parametrize("words", [["list", "controllers"], ["explain", "bbr"]], ids=" ".join)
def test_standard_output_that_is_full_is_told(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "dumbbell: No space left on device\n")


def test_a_report_goes_to_a_device_as_it_is(result: Path) -> None:
    done = subprocess.run([COMMAND, "report", "ok", "-o", "/dev/stdout"], cwd=result, capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith(b"<!doctype html>")
