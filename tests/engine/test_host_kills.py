"""Whoever dies in the middle of an experiment on this machine, nothing of it stays: no process, no namespace, no
folder, and nothing of the machine's own is changed. `DUMBBELL_KILLS=10` tries ten moments of each instead of three.
"""

import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conftest import COMMAND
from engine.host_lab import plain, why_not

MOMENTS = int(os.environ.get("DUMBBELL_KILLS", "3"))
DURATION_S = 1.5
PATIENCE_S = 60.0
"""Until something that must come has come; on an idle machine it takes a second."""


def processes_of(folder: Path) -> list[int]:
    """Every process that works in the folder, or in what was a folder there: the keeper and the worker."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str((entry / "cwd").readlink()).startswith(str(folder)):
                found.append(int(entry.name))
    return sorted(found)


def namespaces_of(process: int) -> set[str]:
    found = set()
    for kind in ("net", "mnt", "pid_for_children", "user"):
        with suppress(OSError):
            found.add(str(Path(f"/proc/{process}/ns/{kind}").readlink()).replace("pid_for_children", "pid"))
    return found


def everybody_s_namespaces() -> set[str]:
    processes = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]
    return set().union(*(namespaces_of(process) for process in processes))


def machine() -> dict[str, object]:
    """What an experiment may not change: disciplines, links, routes, rules, names of networks, mounts, settings."""

    def told(*words: str) -> str:
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return re.sub(r"expires \d+sec", "", text)

    return {
        "qdisc": told("tc", "qdisc", "show"),
        "link": told("ip", "-o", "link"),
        "route": told("ip", "route", "show", "table", "all"),
        "rule": told("ip", "rule"),
        "netns": sorted(Path("/run/netns").iterdir()) if Path("/run/netns").exists() else None,
        # Other tests mount in folders of their own meanwhile.
        "mounts": [line for line in Path("/proc/self/mounts").read_text().splitlines() if "/pytest-" not in line],
        "settings": dict(settings()),
    }


def settings() -> Iterator[tuple[str, str]]:
    for file in sorted(Path("/proc/sys/net").rglob("*")):
        if file.is_file() and not re.search(r"count|flush|inet_peer|nf_log|random", str(file)):
            with suppress(OSError):
                yield str(file), file.read_text()


def until(done: "subprocess.Popen[Any]", what: str, condition: Callable[[], object]) -> None:
    """Wait for something; the run may end before."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} took more than {PATIENCE_S:g} s"
        if done.poll() is not None:
            return
        time.sleep(0.01)


@pytest.mark.parametrize("victim", ["command", "keeper", "worker"])
def test_nothing_stays_of_a_run_whose_process_was_killed(victim: str, tmp_path: Path) -> None:
    if reason := why_not():
        pytest.skip(reason)
    file = tmp_path / "experiment.toml"
    file.write_text(plain(f"{DURATION_S}s"))
    before, place = machine(), tmp_path / "results"
    dice = random.Random(victim)
    for moment in range(MOMENTS):
        room = place / f".{moment}.running" / str(moment)
        command = subprocess.Popen(
            [COMMAND, "run", file, "--engine", "host", "--out", place / str(moment)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        until(command, "a worker", partial(has_both, room / "host"))
        keeper, worker = [*processes_of(room / "host"), 0, 0][:2]
        theirs = namespaces_of(keeper) | namespaces_of(worker)
        time.sleep(dice.uniform(0, DURATION_S))
        prey = {"command": command.pid, "keeper": keeper, "worker": worker}[victim]
        if prey:
            with suppress(ProcessLookupError):
                os.kill(prey, signal.SIGKILL)
        _, said = command.communicate(timeout=PATIENCE_S)
        until_gone(room)
        assert not (theirs - namespaces_of(os.getpid())) & everybody_s_namespaces()
        if victim == "command":
            assert command.returncode in (-9, 0)
        elif command.returncode:
            assert b"killed before the end, not by Dumbbell" in said
            assert not room.exists(), "the command cleans up after its agent"
    assert machine() == before
    # What a killed command left is gone when the next one starts there.
    again: list[str | Path] = [COMMAND, "run", file, "--set", "duration=100ms", "--out", place / "next"]
    subprocess.run(again, check=True, capture_output=True)
    assert not list(place.glob(".*"))


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_a_run_on_this_machine_and_nothing_stays(sign: signal.Signals, tmp_path: Path) -> None:
    if reason := why_not():
        pytest.skip(reason)
    file, place = tmp_path / "experiment.toml", tmp_path / "results"
    file.write_text(plain("1000s"))
    before = machine()
    command = subprocess.Popen(
        [COMMAND, "run", file, "--engine", "host", "--out", place / "run"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    room = place / ".run.running/run"
    until(command, "a worker", partial(has_both, room / "host"))
    theirs = set().union(*map(namespaces_of, processes_of(room / "host")))
    command.send_signal(sign)
    output, said = command.communicate(timeout=PATIENCE_S)
    assert (command.returncode, output) == (130, "")
    assert said == "dumbbell: interrupted; nothing was left behind\n"
    assert processes_of(room) == []
    assert not (theirs - namespaces_of(os.getpid())) & everybody_s_namespaces()
    assert list(place.iterdir()) == []
    assert machine() == before


def has_both(room: Path) -> bool:
    return len(processes_of(room)) == 2


def until_gone(room: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while processes_of(room):
        assert time.monotonic() < deadline, "a process of a killed run lives on"
        time.sleep(0.01)
