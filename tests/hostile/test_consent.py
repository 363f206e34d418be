"""A file alone starts only the simulator and stored kernels: the host engine, ssh and kernel paths need permission.

Covers every way from a file to an engine: run, compare, sweeps (key, axis, hole, engine alongside, dry run, `--resume`
of a foreign folder), workers of a sweep and of a cluster, and Python. A replacement of ssh records its arguments, and
a program that a sweep names as its kernel writes a file if it is started.
"""

import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

import dumbbell as db
from conftest import Dumbbell
from dumbbell.engines import HostEngine, Request
from dumbbell.engines.agent_connection import LAUNCH, command
from dumbbell.engines.base import Permissions, engine_called, kernels_set, permitted
from dumbbell.engines.remote import RemoteEngine
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.plan import plan_remote
from dumbbell.spec import parse
from dumbbell.spec.document import inline_toml
from dumbbell.spec.sweep import parse_sweep
from dumbbell.sweeps import cluster_worker
from dumbbell.sweeps.refinement import next_round
from dumbbell.sweeps.runner import InProcessExecutor
from dumbbell.sweeps.task import base_of
from hostile.fuzzing import search

HOSTS = """
[{0}hosts.sender]
ssh = "root@alice"
address = "192.0.2.1"
device = "eth1"
[{0}hosts.receiver]
ssh = "bob"
address = "192.0.2.2"
device = "eth1"
"""
BODY = """
duration = "200ms"
[{0}path]
rtt = "0ms"
[{0}path.bottleneck]
qdisc = "tbf rate 10mbit burst 10kb limit 100kb"
[[{0}flows]]
cc = "cubic"
"""
WITHOUT_HOSTS, WITH_HOSTS = BODY.format(""), BODY.format("") + HOSTS.format("")
INLINE = "[experiment]" + BODY.format("experiment.")
INLINE_HOSTS = INLINE + HOSTS.format("experiment.")
AXIS = '[[axes]]\n"path.mtu" = [1500, 1400]\n'
NO_METRICS = 'metrics = ["utilization"]\n'


@pytest.fixture
def ssh(tmp_path: Path) -> Callable[[], list[str]]:
    """A replacement of ssh that records its arguments, each call in one write; returns a function that reads them."""
    (tmp_path / "ssh").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {tmp_path}/called\nexit 255\n')
    (tmp_path / "ssh").chmod(0o755)
    return lambda: (tmp_path / "called").read_text().splitlines() if (tmp_path / "called").exists() else []


@pytest.fixture
def command_with_ssh(dumbbell: Dumbbell, tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs the command with that ssh and a separate cache."""

    def run(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        return dumbbell(*arguments, DUMBBELL_SSH=str(tmp_path / "ssh"), DUMBBELL_CACHE=str(tmp_path / "cache"))

    return run


SWEEPS = {
    "key": f'engine = "host"\n{NO_METRICS}{INLINE}{AXIS}',
    "axis": f'{NO_METRICS}{INLINE}[[axes]]\nengine = ["sim", "host"]\n',
    "hole": f'{NO_METRICS}{INLINE}[[axes]]\nengine = ["{{which}}"]\n[[axes]]\nwhich = ["sim", "host"]\n',
    "alongside": f'{NO_METRICS}{INLINE}{AXIS}[validate]\nengine = "host"\n',
}


@pytest.mark.slow(keep="key-options0")
@pytest.mark.parametrize(
    ("how", "options"),
    [(how, options) for how in SWEEPS for options in ((), ("--dry-run",))] + [("key", ("--set", "engine=host"))],
)
def test_no_sweep_file_starts_the_host_engine(
    command_with_ssh: Callable[..., Any], tmp_path: Path, how: str, options: Sequence[str]
) -> None:
    (tmp_path / "theirs.toml").write_text(SWEEPS[how])
    done = command_with_ssh("sweep", "theirs.toml", "--out", "out", *options)
    assert done.returncode == 2, done.stdout
    assert "the host's own kernel and ssh need the user's permission" in done.stderr
    assert "--engine host" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow(keep="key")
@pytest.mark.parametrize("how", SWEEPS)
def test_the_user_may_start_the_host_engine(tmp_path: Path, how: str) -> None:
    """Whether this host can run it is checked only after the permission."""
    sweep = parse_sweep(SWEEPS[how], tmp_path / "theirs.toml")
    allowed = permitted(["host"])
    tasks = [task for task in next_round(sweep, []) if task.engine == "host"]
    assert tasks
    rows = list(InProcessExecutor().rows(base_of(sweep, allowed), tasks))
    assert not any("the user's permission" in (row.reason or "") for row in rows)
    refused = list(InProcessExecutor().rows(base_of(sweep), tasks))
    assert all(row.status == "failed" and "the user's permission" in (row.reason or "") for row in refused)


@pytest.mark.slow(keep="file4-arguments4-add --engine host")
@pytest.mark.parametrize(
    ("file", "arguments", "message"),
    [
        (WITH_HOSTS, ("run", "x.toml", "--engine", "host"), "add --hosts root@alice,bob"),
        (WITH_HOSTS, ("run", "x.toml", "--engine", "host", "--hosts", "bob"), "add --hosts root@alice,bob"),
        (WITH_HOSTS, ("run", "x.toml", "--engine", "host", "--hosts", "root@alice,bob,c"), "--hosts root@alice,bob"),
        (WITH_HOSTS, ("run", "x.toml", "--engine", "host", "--hosts", "alice,bob"), "add --hosts root@alice,bob"),
        (WITH_HOSTS, ("run", "x.toml", "--hosts", "root@alice,bob"), "add --engine host"),
        (WITHOUT_HOSTS, ("run", "x.toml", "--engine", "host", "--hosts", "bob"), "the experiment names no real hosts"),
        (WITH_HOSTS, ("compare", "x.toml", "--engines", "sim,host"), "add --hosts root@alice,bob"),
        (WITH_HOSTS, ("compare", "x.toml", "--hosts", "root@alice,bob"), "add --engine host"),
        (f'engine = "host"\n{INLINE_HOSTS}{AXIS}', ("sweep", "x.toml"), "add --engine host"),
        (f'engine = "host"\n{INLINE_HOSTS}{AXIS}', ("sweep", "x.toml", "--hosts", "root@alice,bob"), "--engine host"),
        (f"{INLINE_HOSTS}{AXIS}", ("sweep", "x.toml", "--engine", "host"), "add --hosts root@alice,bob"),
        (f"{INLINE_HOSTS}{AXIS}", ("sweep", "x.toml", "--engine", "host", "--hosts", "bob"), "root@alice,bob"),
    ],
)  # fmt: skip
def test_no_file_starts_ssh(
    command_with_ssh: Callable[..., Any],
    ssh: Callable[[], list[str]],
    tmp_path: Path,
    file: str,
    arguments: Sequence[str],
    message: str,
) -> None:
    (tmp_path / "x.toml").write_text(file)
    done = command_with_ssh(*arguments, "--out", "out")
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert ssh() == []
    assert not (tmp_path / "out").exists()


@pytest.mark.slow(keep="file0-arguments0")
@pytest.mark.parametrize(
    ("file", "arguments"),
    [
        (WITH_HOSTS, ("run", "x.toml", "--engine", "host", "--hosts", "bob,root@alice")),
        (f"{INLINE_HOSTS}{AXIS}", ("sweep", "x.toml", "--engine", "host", "--hosts", "root@alice, bob")),
    ],
)  # fmt: skip
def test_hosts_that_the_user_names_are_passed_to_ssh_as_operands(
    command_with_ssh: Callable[..., Any],
    ssh: Callable[[], list[str]],
    tmp_path: Path,
    file: str,
    arguments: Sequence[str],
) -> None:
    (tmp_path / "x.toml").write_text(NO_METRICS + file if arguments[0] == "sweep" else file)
    command_with_ssh(*arguments, "--out", "out")
    called = ssh()
    assert {called[at + 1] for at, word in enumerate(called) if word == "--"} == {"root@alice", "bob"}


def test_a_foreign_folder_is_not_resumed_on_the_host_engine(
    command_with_ssh: Callable[..., Any], ssh: Callable[[], list[str]], tmp_path: Path
) -> None:
    """The folder is complete and matches, as if its author had run it here."""
    text = f'engine = "host"\n{NO_METRICS}{INLINE_HOSTS}{AXIS}'
    (tmp_path / "x.toml").write_text(text)
    command_with_ssh("sweep", "x.toml", "--engine", "host", "--hosts", "root@alice,bob", "--out", "theirs")
    assert (tmp_path / "theirs" / "rows.sqlite").exists()
    (tmp_path / "theirs" / "sweep.json").unlink(missing_ok=True)
    (tmp_path / "called").unlink(missing_ok=True)
    done = command_with_ssh("sweep", "x.toml", "--out", "theirs", "--resume")
    assert done.returncode == 2
    assert "add --engine host" in done.stderr
    assert ssh() == []


def test_python_callers_name_engine_and_hosts(
    ssh: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUMBBELL_SSH", str(tmp_path / "ssh"))
    (tmp_path / "x.toml").write_text(WITH_HOSTS)
    (tmp_path / "sweep.toml").write_text(f'engine = "host"\n{NO_METRICS}{INLINE_HOSTS}{AXIS}')
    with_hosts = db.experiment(tmp_path / "x.toml")
    for start in (
        lambda: db.run(with_hosts, engine="host"),
        lambda: db.run(with_hosts, engine="host", hosts=["bob"]),
        lambda: db.run(with_hosts, hosts=["root@alice", "bob"]),
        lambda: db.sweep(tmp_path / "sweep.toml"),
        lambda: db.sweep(tmp_path / "sweep.toml", hosts=["root@alice", "bob"]),
        lambda: db.sweep(tmp_path / "sweep.toml", engine="host"),
        lambda: db.sweep(with_hosts, {"path.mtu": [1500]}, engine="host", metrics=["utilization"]),
    ):
        with pytest.raises(ExperimentError):
            start()
    assert ssh() == []
    with pytest.raises(DumbbellError):
        db.run(with_hosts, engine="host", hosts=["root@alice", "bob"])
    assert "root@alice" in ssh()


def test_engines_check_the_permission(tmp_path: Path) -> None:
    (with_hosts,) = parse(WITH_HOSTS, Path("x.toml"))
    request = Request("x", with_hosts, 1, tmp_path / "out")
    with pytest.raises(ExperimentError, match="the user's permission"):
        HostEngine(Permissions())
    with pytest.raises(ExperimentError, match="the user's permission"):
        engine_called("host", None)
    for engine in (HostEngine(permitted(["host"])), RemoteEngine(permitted(["host"]))):
        with pytest.raises(ExperimentError, match="add --hosts"):
            engine.run(request, lambda _seconds: None)
    with pytest.raises(ExperimentError, match="add --hosts"):
        HostEngine(permitted(["host"])).check(request)


def test_a_cluster_worker_does_not_start_the_host_engine(tmp_path: Path) -> None:
    """A permission that the client sends has no effect."""
    sweep = parse_sweep(SWEEPS["key"], tmp_path / "x.toml")
    base = base_of(sweep, permitted(["host"], kernels=["/bin/true"]))
    task = next_round(sweep, [])[0]
    cluster_worker.equip("one", base, {}, {}, str(tmp_path))
    try:
        (row,) = cluster_worker.run_tasks("one", [task]).rows  # type: ignore[union-attr]
    finally:
        cluster_worker.dismiss("one")
    assert row.status == "failed"
    assert "the user's permission" in (row.reason or "")


PROGRAM = """
#include <stdio.h>
const char *words = "User Mode Linux inf-cpu Linux version 6.12.1 (x) #1 SMP\\n";
int main(int count, char **all) { FILE *f = fopen(MARK, "w"); if (f) fputs(words, f); return 0; }
"""
KERNELS = {
    "key": 'engine = "kernel"\nkernel = "{0}"\n{1}{2}',
    "axis": 'engine = "kernel"\n{1}[[axes]]\nkernel = ["{0}", "x"]\n',
    "hole": 'engine = "kernel"\n{1}[[axes]]\nkernel = ["{{folder}}/linux"]\n[[axes]]\nfolder = ["{3}"]\n',
}


@pytest.mark.slow(keep="key-run")
@pytest.mark.parametrize("options", [(), ("--dry-run",)], ids=["run", "dry"])
@pytest.mark.parametrize("how", KERNELS)
def test_no_sweep_file_starts_a_kernel_by_its_path(
    dumbbell: Dumbbell, tmp_path: Path, how: str, options: Sequence[str]
) -> None:
    """A program in the sweep's folder that prints the expected text would run as a kernel."""
    (tmp_path / "a.c").write_text(PROGRAM)
    kernel, mark = tmp_path / "linux", tmp_path / "ran"
    subprocess.run(["gcc", f'-DMARK="{mark}"', "-o", kernel, tmp_path / "a.c"], check=True)
    (tmp_path / "x.toml").write_text(NO_METRICS + KERNELS[how].format(kernel, INLINE, AXIS, tmp_path))
    done = dumbbell("sweep", "x.toml", "--out", "out", *options)
    assert done.returncode == 2
    assert "a kernel given by its path needs the user's permission" in done.stderr
    assert not mark.exists()
    assert not (tmp_path / "out").exists()


def test_a_kernel_path_that_the_user_names_is_permitted() -> None:
    for settings in (["kernel=/a/linux"], ['kernel=["/a/linux", "x"]'], ["duration=1s", "kernel='/a/linux'"]):
        permitted(kernels=kernels_set(settings)).check_kernel("/a/linux", "kernel")
        with pytest.raises(ExperimentError):
            permitted(kernels=kernels_set(settings)).check_kernel("/b/linux", "kernel")


HOST_TEXTS = st.text(alphabet="-o=Px@%2dh:/[].~+_ \n\0;$(é", max_size=24)


def test_fuzz_no_host_of_a_file_is_an_option_of_ssh() -> None:
    def check(text: str) -> None:
        try:
            with_hosts = parse(WITH_HOSTS, Path("x.toml"), [f"hosts.receiver.ssh={inline_toml(text)}"])[0]
        except ExperimentError:
            return
        arguments = command(text, {"DUMBBELL_SSH": "/bin/true"})
        assert arguments[-3:] == ["--", text, f"sh -c {shlex.quote(LAUNCH)}"]
        *users, host = text.removeprefix("ssh://").split("@")
        assert not any(component.startswith("-") for component in (*users, host, host.strip("[]")))
        # OpenSSH decodes %2d in a URI to a dash, and would pass the decoded text to a shell.
        assert not text.startswith("ssh://") or "%" not in text
        script = plan_remote(with_hosts, 1).script("t")
        assert f'ssh -n -- {shlex.quote(text)} "$@"' in script

    search(HOST_TEXTS, check)
    for text in ("ssh://root@h:22", "fe80::1%eth0", "DOM+user@h", "-oProxyCommand=x", "u@-oP", "ssh://%2dx@h"):
        check(text)
