"""A file alone starts the simulator and stored kernels: the host engine, ssh and a kernel's path need the user's word.

Covers every way from a file to an engine: run, compare, sweeps (key, axis, hole, engine alongside, dry run, `--resume`
of a foreign folder), workers of a sweep and of a cluster, and Python. An ssh that records its words shows whether one
was started, and by which words; so does a program that writes a file, where a sweep names a kernel by its path.
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
from dumbbell.engines.permissions import Permissions, kernels_set, permitted
from dumbbell.engines.remote import RemoteEngine
from dumbbell.engines.remote.ssh import LAUNCH, command
from dumbbell.engines.requests import engine_called
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.plan.remote import plan_remote
from dumbbell.plan.remote_shell import as_remote_script
from dumbbell.spec import parse
from dumbbell.spec.sweep import parse_sweep
from dumbbell.spec.tomlout import inline
from dumbbell.sweeps import cluster_worker
from dumbbell.sweeps.pending import next_round
from dumbbell.sweeps.scheduler import InProcessExecutor
from dumbbell.sweeps.task import base_of
from hostile.fuzzing import search

PLACE = """
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
ALONE, PLACED = BODY.format(""), BODY.format("") + PLACE.format("")
INLINE = "[experiment]" + BODY.format("experiment.")
INLINE_PLACED = INLINE + PLACE.format("experiment.")
AXIS = '[[axes]]\n"path.mtu" = [1500, 1400]\n'
NO_METRICS = 'metrics = ["utilisation"]\n'


@pytest.fixture
def ssh(tmp_path: Path) -> Callable[[], list[str]]:
    """An ssh that writes down how it was called; says each call's words."""
    (tmp_path / "ssh").write_text(f'#!/bin/sh\nfor w; do echo "$w"; done >> {tmp_path}/called\nexit 255\n')
    (tmp_path / "ssh").chmod(0o755)
    return lambda: (tmp_path / "called").read_text().splitlines() if (tmp_path / "called").exists() else []


@pytest.fixture
def go(dumbbell: Dumbbell, tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """The command, with that ssh and a cache of its own."""

    def run(*words: str | Path) -> "subprocess.CompletedProcess[str]":
        return dumbbell(*words, DUMBBELL_SSH=str(tmp_path / "ssh"), DUMBBELL_CACHE=str(tmp_path / "cache"))

    return run


SWEEPS = {
    "key": f'engine = "host"\n{NO_METRICS}{INLINE}{AXIS}',
    "axis": f'{NO_METRICS}{INLINE}[[axes]]\nengine = ["sim", "host"]\n',
    "hole": f'{NO_METRICS}{INLINE}[[axes]]\nengine = ["{{which}}"]\n[[axes]]\nwhich = ["sim", "host"]\n',
    "alongside": f'{NO_METRICS}{INLINE}{AXIS}[validate]\nengine = "host"\n',
}


@pytest.mark.parametrize(
    ("how", "options"),
    [(how, options) for how in SWEEPS for options in ((), ("--dry-run",))] + [("key", ("--set", "engine=host"))],
)
def test_no_sweep_file_starts_the_host_engine(
    go: Callable[..., Any], tmp_path: Path, how: str, options: Sequence[str]
) -> None:
    (tmp_path / "theirs.toml").write_text(SWEEPS[how])
    done = go("sweep", "theirs.toml", "--out", "out", *options)
    assert done.returncode == 2, done.stdout
    assert "the host's own kernel and ssh need the user's permission" in done.stderr
    assert "--engine host" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("how", SWEEPS)
def test_the_user_may_start_it(tmp_path: Path, how: str) -> None:
    """Whether this machine can run it is another question, which is asked only now."""
    sweep = parse_sweep(SWEEPS[how], tmp_path / "theirs.toml")
    allowed = permitted(["host"])
    tasks = [task for task in next_round(sweep, []) if task.engine == "host"]
    assert tasks
    rows = list(InProcessExecutor().rows(base_of(sweep, allowed), tasks))
    assert not any("the user's permission" in (row.reason or "") for row in rows)
    refused = list(InProcessExecutor().rows(base_of(sweep), tasks))
    assert all(row.status == "failed" and "the user's permission" in (row.reason or "") for row in refused)


@pytest.mark.parametrize(
    ("file", "words", "says"),
    [
        (PLACED, ("run", "x.toml", "--engine", "host"), "add --hosts root@alice,bob"),
        (PLACED, ("run", "x.toml", "--engine", "host", "--hosts", "bob"), "add --hosts root@alice,bob"),
        (PLACED, ("run", "x.toml", "--engine", "host", "--hosts", "root@alice,bob,c"), "add --hosts root@alice,bob"),
        (PLACED, ("run", "x.toml", "--engine", "host", "--hosts", "alice,bob"), "add --hosts root@alice,bob"),
        (PLACED, ("run", "x.toml", "--hosts", "root@alice,bob"), "add --engine host"),
        (ALONE, ("run", "x.toml", "--engine", "host", "--hosts", "bob"), "the experiment names no real hosts"),
        (PLACED, ("compare", "x.toml", "--engines", "sim,host"), "add --hosts root@alice,bob"),
        (PLACED, ("compare", "x.toml", "--hosts", "root@alice,bob"), "add --engine host"),
        (f'engine = "host"\n{INLINE_PLACED}{AXIS}', ("sweep", "x.toml"), "add --engine host"),
        (f'engine = "host"\n{INLINE_PLACED}{AXIS}', ("sweep", "x.toml", "--hosts", "root@alice,bob"), "--engine host"),
        (f"{INLINE_PLACED}{AXIS}", ("sweep", "x.toml", "--engine", "host"), "add --hosts root@alice,bob"),
        (f"{INLINE_PLACED}{AXIS}", ("sweep", "x.toml", "--engine", "host", "--hosts", "bob"), "root@alice,bob"),
    ],
)  # fmt: skip
def test_no_file_has_ssh_called(
    go: Callable[..., Any], ssh: Callable[[], list[str]], tmp_path: Path, file: str, words: Sequence[str], says: str
) -> None:
    (tmp_path / "x.toml").write_text(file)
    done = go(*words, "--out", "out")
    assert done.returncode == 2, done.stdout
    assert says in done.stderr
    assert ssh() == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (PLACED, ("run", "x.toml", "--engine", "host", "--hosts", "bob,root@alice")),
        (f"{INLINE_PLACED}{AXIS}", ("sweep", "x.toml", "--engine", "host", "--hosts", "root@alice, bob")),
    ],
)  # fmt: skip
def test_hosts_that_the_user_names_are_called_by_words_that_are_no_options(
    go: Callable[..., Any], ssh: Callable[[], list[str]], tmp_path: Path, file: str, words: Sequence[str]
) -> None:
    (tmp_path / "x.toml").write_text(NO_METRICS + file if words[0] == "sweep" else file)
    go(*words, "--out", "out")
    called = ssh()
    assert {called[at + 1] for at, word in enumerate(called) if word == "--"} == {"root@alice", "bob"}


def test_a_foreign_folder_is_not_resumed_on_the_host_engine(
    go: Callable[..., Any], ssh: Callable[[], list[str]], tmp_path: Path
) -> None:
    """Everything in it fits, as if its author had run it here."""
    text = f'engine = "host"\n{NO_METRICS}{INLINE_PLACED}{AXIS}'
    (tmp_path / "x.toml").write_text(text)
    go("sweep", "x.toml", "--engine", "host", "--hosts", "root@alice,bob", "--out", "theirs")
    assert (tmp_path / "theirs" / "rows.sqlite").exists()
    (tmp_path / "theirs" / "sweep.json").unlink(missing_ok=True)
    (tmp_path / "called").unlink(missing_ok=True)
    done = go("sweep", "x.toml", "--out", "theirs", "--resume")
    assert done.returncode == 2
    assert "add --engine host" in done.stderr
    assert ssh() == []


def test_from_python_the_caller_names_engine_and_hosts(
    ssh: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUMBBELL_SSH", str(tmp_path / "ssh"))
    (tmp_path / "x.toml").write_text(PLACED)
    (tmp_path / "sweep.toml").write_text(f'engine = "host"\n{NO_METRICS}{INLINE_PLACED}{AXIS}')
    placed = db.experiment(tmp_path / "x.toml")
    for start in (
        lambda: db.run(placed, engine="host"),
        lambda: db.run(placed, engine="host", hosts=["bob"]),
        lambda: db.run(placed, hosts=["root@alice", "bob"]),
        lambda: db.sweep(tmp_path / "sweep.toml"),
        lambda: db.sweep(tmp_path / "sweep.toml", hosts=["root@alice", "bob"]),
        lambda: db.sweep(tmp_path / "sweep.toml", engine="host"),
        lambda: db.sweep(placed, {"path.mtu": [1500]}, engine="host", metrics=["utilisation"]),
    ):
        with pytest.raises(ExperimentError):
            start()
    assert ssh() == []
    with pytest.raises(DumbbellError):
        db.run(placed, engine="host", hosts=["root@alice", "bob"])
    assert "root@alice" in ssh()


def test_engines_refuse_by_themselves(tmp_path: Path) -> None:
    (placed,) = parse(PLACED, Path("x.toml"))
    request = Request("x", placed, 1, tmp_path / "out")
    with pytest.raises(ExperimentError, match="the user's permission"):
        HostEngine(Permissions())
    with pytest.raises(ExperimentError, match="the user's permission"):
        engine_called("host", None)
    for engine in (HostEngine(permitted(["host"])), RemoteEngine(permitted(["host"]))):
        with pytest.raises(ExperimentError, match="add --hosts"):
            engine.run(request, lambda _seconds: None)
    with pytest.raises(ExperimentError, match="add --hosts"):
        HostEngine(permitted(["host"])).check(request)


def test_a_worker_of_a_cluster_starts_nothing_of_its_machine(tmp_path: Path) -> None:
    """Whatever the sender says that its user named."""
    sweep = parse_sweep(SWEEPS["key"], tmp_path / "x.toml")
    base = base_of(sweep, permitted(["host"], kernels=["/bin/true"]))
    task = next_round(sweep, [])[0]
    cluster_worker.equip("one", base, {}, {})
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


@pytest.mark.parametrize("options", [(), ("--dry-run",)], ids=["run", "dry"])
@pytest.mark.parametrize("how", KERNELS)
def test_no_sweep_file_starts_a_program_by_its_path(
    dumbbell: Dumbbell, tmp_path: Path, how: str, options: Sequence[str]
) -> None:
    """A file beside the sweep with the right words in it would run as a kernel."""
    (tmp_path / "a.c").write_text(PROGRAM)
    kernel, mark = tmp_path / "linux", tmp_path / "ran"
    subprocess.run(["gcc", f'-DMARK="{mark}"', "-o", kernel, tmp_path / "a.c"], check=True)
    (tmp_path / "x.toml").write_text(NO_METRICS + KERNELS[how].format(kernel, INLINE, AXIS, tmp_path))
    done = dumbbell("sweep", "x.toml", "--out", "out", *options)
    assert done.returncode == 2
    assert "a kernel given by its path needs the user's permission" in done.stderr
    assert not mark.exists()
    assert not (tmp_path / "out").exists()


def test_the_kernel_that_the_user_names_by_its_path_may_run() -> None:
    for settings in (["kernel=/a/linux"], ['kernel=["/a/linux", "x"]'], ["duration=1s", "kernel='/a/linux'"]):
        permitted(kernels=kernels_set(settings)).check_kernel("/a/linux", "kernel")
        with pytest.raises(ExperimentError):
            permitted(kernels=kernels_set(settings)).check_kernel("/b/linux", "kernel")


WORDS = st.text(alphabet="-o=Px@%2dh:/[].~+_ \n\0;$(é", max_size=24)


def test_fuzz_no_host_of_a_file_is_an_option_of_ssh() -> None:
    def check(text: str) -> None:
        try:
            placed = parse(PLACED, Path("x.toml"), [f"hosts.receiver.ssh={inline(text)}"])[0]
        except ExperimentError:
            return
        words = command(text, {"DUMBBELL_SSH": "/bin/true"})
        assert words[-3:] == ["--", text, f"sh -c {shlex.quote(LAUNCH)}"]
        *users, host = text.removeprefix("ssh://").split("@")
        assert not any(part.startswith("-") for part in (*users, host, host.strip("[]")))
        # OpenSSH reads %2d in a URI as a dash, and would let a shell see what it reads.
        assert not text.startswith("ssh://") or "%" not in text
        script = as_remote_script(plan_remote(placed, 1), "t")
        assert f'ssh -n -- {shlex.quote(text)} "$@"' in script

    search(WORDS, check)
    for text in ("ssh://root@h:22", "fe80::1%eth0", "DOM+user@h", "-oProxyCommand=x", "u@-oP", "ssh://%2dx@h"):
        check(text)
