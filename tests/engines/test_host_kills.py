"""If any process of a host engine's run is killed, no process, namespace or folder remains, and the host is unchanged.
`DUMBBELL_KILLS=10` tries ten times of the kill instead of three.
"""

import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from conftest import COMMAND
from engines.on_host import host_engine_error, plain
from processes import processes_in

MOMENTS = int(os.environ.get("DUMBBELL_KILLS", "3"))
DURATION_S = 1.5
PATIENCE_S = 60.0
"""Time limit of waiting; on an idle host one second is enough."""


KINDS = ("net", "mnt", "pid_for_children", "user")


def namespaces_of(process: int) -> set[str]:
    found = set()
    for kind in KINDS:
        with suppress(OSError):
            found.add(str(Path(f"/proc/{process}/ns/{kind}").readlink()).replace("pid_for_children", "pid"))
    return found


@contextmanager
def open_namespaces(*processes: int) -> Iterator[set[str]]:
    """The namespaces of these processes, except ours.

    They stay open: the kernel gives the number of a deleted namespace to the next one, which may be another test's.
    """
    with ExitStack() as stack:
        for process, kind in product(processes, KINDS):
            with suppress(OSError):
                stack.callback(os.close, os.open(f"/proc/{process}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC))
        yield set().union(*map(namespaces_of, processes)) - namespaces_of(os.getpid())


def all_namespaces() -> set[str]:
    processes = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]
    return set().union(*(namespaces_of(process) for process in processes))


def host_state() -> dict[str, object]:
    """What an experiment may not change: qdiscs, links, routes, rules, network namespaces, mounts, settings."""

    def output(*arguments: str) -> str:
        text = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
        return re.sub(r"expires \d+sec", "", text)

    return {
        "qdisc": output("tc", "qdisc", "show"),
        "link": output("ip", "-o", "link"),
        "route": output("ip", "route", "show", "table", "all"),
        "rule": output("ip", "rule"),
        "netns": sorted(Path("/run/netns").iterdir()) if Path("/run/netns").exists() else None,
        # Other tests mount their own folders meanwhile.
        "mounts": [line for line in Path("/proc/self/mounts").read_text().splitlines() if "/pytest-" not in line],
        "settings": dict(settings()),
    }


def settings() -> Iterator[tuple[str, str]]:
    for file in sorted(Path("/proc/sys/net").rglob("*")):
        if file.is_file() and not re.search(r"count|flush|inet_peer|nf_log|random", str(file)):
            with suppress(OSError):
                yield str(file), file.read_text()


def wait_until(process: "subprocess.Popen[Any]", event: str, condition: Callable[[], object]) -> None:
    """Wait for a condition or the end of the process."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"{event} took more than {PATIENCE_S:g} s"
        if process.poll() is not None:
            return
        time.sleep(0.01)


@pytest.mark.slow(keep="command")
@pytest.mark.parametrize("victim", ["command", "keeper", "worker"])
def test_a_killed_run_leaves_nothing(victim: str, tmp_path: Path) -> None:
    if reason := host_engine_error():
        pytest.skip(reason)
    file = tmp_path / "experiment.toml"
    file.write_text(plain(f"{DURATION_S}s"))
    before, results = host_state(), tmp_path / "results"
    rng = random.Random(victim)
    for moment in range(MOMENTS):
        run_folder = results / f".{moment}.running" / str(moment)
        command = subprocess.Popen(
            [COMMAND, "run", file, "--engine", "host", "--out", results / str(moment)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        wait_until(command, "a worker", partial(has_both, run_folder / "host"))
        keeper, worker = [*processes_in(run_folder / "host"), 0, 0][:2]
        with open_namespaces(keeper, worker) as run_namespaces:
            time.sleep(rng.uniform(0, DURATION_S))
            target_pid = {"command": command.pid, "keeper": keeper, "worker": worker}[victim]
            if target_pid:
                with suppress(ProcessLookupError):
                    os.kill(target_pid, signal.SIGKILL)
            _, stderr = command.communicate(timeout=PATIENCE_S)
            wait_for_exit(run_folder)
            assert not run_namespaces & all_namespaces()
        if victim == "command":
            assert command.returncode in (-9, 0)
        elif command.returncode:
            assert b"killed before the experiment ended" in stderr
            assert not run_folder.exists(), "the command cleans up after its agent"
    assert host_state() == before
    # The next command removes the files of a killed one.
    next_command: list[str | Path] = [COMMAND, "run", file, "--set", "duration=100ms", "--out", results / "next"]
    subprocess.run(next_command, check=True, capture_output=True)
    assert not list(results.glob(".*"))


@pytest.mark.slow(keep="2")
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_a_run_and_leaves_nothing(signal_number: signal.Signals, tmp_path: Path) -> None:
    if reason := host_engine_error():
        pytest.skip(reason)
    file, results = tmp_path / "experiment.toml", tmp_path / "results"
    file.write_text(plain("1000s"))
    before = host_state()
    command = subprocess.Popen(
        [COMMAND, "run", file, "--engine", "host", "--out", results / "run"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    run_folder = results / ".run.running/run"
    wait_until(command, "a worker", partial(has_both, run_folder / "host"))
    with open_namespaces(*processes_in(run_folder / "host")) as run_namespaces:
        command.send_signal(signal_number)
        output, errors = command.communicate(timeout=PATIENCE_S)
        assert (command.returncode, output) == (130, "")
        assert errors == "dumbbell: interrupted; nothing was left behind\n"
        assert processes_in(run_folder) == []
        assert not run_namespaces & all_namespaces()
    assert list(results.iterdir()) == []
    assert host_state() == before


def has_both(run_folder: Path) -> bool:
    return len(processes_in(run_folder)) == 2


def wait_for_exit(run_folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while processes_in(run_folder):
        assert time.monotonic() < deadline, "a process of a killed run still exists"
        time.sleep(0.01)
