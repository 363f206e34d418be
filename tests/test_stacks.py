"""QUIC stacks: the declaration, the commands, builds, and each driver's command line over the loopback."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import COMMAND, Dumbbell, Finished
from dumbbell import _sim, stacks
from dumbbell.stacks import Built, store
from dumbbell.stacks.certificate import make_certificate

NAMES = [stack.name for stack in stacks.stacks()]
BYTES = 300_000


def built(name: str) -> Built:
    found = stacks.find(name)
    if found is None:
        pytest.skip(f"no stack is built of this name: {name}")
    return found


@pytest.fixture(params=NAMES)
def stack(request: pytest.FixtureRequest) -> Built:
    return built(request.param)


def test_each_stack_is_declared_with_its_version_and_controllers() -> None:
    declared = {stack["name"]: stack for stack in _sim.stacks()}
    assert {"quinn", "quic-go", "aioquic", "ngtcp2"} <= declared.keys()
    for each in declared.values():
        assert each["version"].replace(".", "").isdigit()
        assert len(set(each["controllers"])) == len(each["controllers"]) > 0
        assert all(isinstance(name, str) and isinstance(value, str) for name, value in each["environment"])
    assert declared["quinn"]["controllers"][0] == "cubic"


def test_each_stack_has_a_driver_that_pins_the_declared_version() -> None:
    for each in stacks.stacks():
        texts = [
            path.read_text() for path in each.sources.rglob("*") if path.suffix in (".toml", ".mod", ".txt", ".lock")
        ]
        pinned = each.registry == "debian" or any(
            f"{each.package}{mark}{each.version}" in text
            for text in texts
            for mark in ("==", " v", '"\nversion = "', ' = { version = "=')
        )
        assert pinned, each.name


def test_the_guide_lists_each_stack_as_declared() -> None:
    guide = (Path(__file__).parents[1] / "docs/guides/quic.md").read_text()
    for each in stacks.stacks():
        known = ", ".join(f"`{name}`" for name in each.controllers)
        assert f"| {each.name} | {each.version} | {known} |" in guide


def test_drivers_in_rust_are_formatted() -> None:
    sources = sorted(store.DRIVERS.glob("*/src/main.rs"))
    root = Path(__file__).parents[1]
    command = ["rustfmt", "--check", "--edition", "2024", "--config-path", str(root), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert len(sources) >= 4
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_changed_driver_is_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "DRIVERS", tmp_path)
    (tmp_path / "common.rs").write_text("")
    (tmp_path / "quinn").mkdir()
    (tmp_path / "quinn/main.rs").write_text("fn main() {}")
    first = store.folder_of(stacks.named("quinn"))
    assert first.name.startswith(f"quinn-{stacks.named('quinn').version}-")
    (tmp_path / "quinn/main.rs").write_text("fn main() { }")
    second = store.folder_of(stacks.named("quinn"))
    (tmp_path / "common.rs").write_text("//")
    assert len({first, second, store.folder_of(stacks.named("quinn"))}) == 3


@pytest.mark.usefixtures("empty_cache")
def test_stacks_are_listed_with_their_controllers(dumbbell: Dumbbell) -> None:
    listed = json.loads(dumbbell("stack", "list", "--json").stdout)["stacks"]
    assert [each["name"] for each in listed] == NAMES
    assert all((each["built"], each["folder"], each["bytes"]) == (False, None, None) for each in listed)
    shown = dumbbell("stack", "list")
    assert all(name in shown.stdout for name in NAMES)
    assert f"dumbbell stack build {NAMES[0]}" in shown.stderr


@pytest.mark.parametrize("command", ["build", "remove"])
def test_an_unknown_stack_is_an_error_with_those_that_there_are(
    dumbbell: Dumbbell, empty_cache: Path, command: str
) -> None:
    done = dumbbell("stack", command, "quinn", "quin")
    assert done.returncode == 2
    assert "no stack 'quin'; did you mean 'quinn'? there is: aioquic" in done.stderr
    assert not (empty_cache / "stacks").exists()


@pytest.mark.usefixtures("empty_cache")
def test_a_missing_tool_is_named_with_its_package(dumbbell: Dumbbell, tmp_path: Path) -> None:
    done = dumbbell("stack", "build", "quic-go", PATH=str(tmp_path))
    assert done.returncode == 2
    assert "'go' is needed to build a stack in Go and is not installed" in done.stderr
    assert "golang" in done.stderr


def fake(folder: Path, name: str, script: str) -> None:
    """A program that stands for a tool."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_a_tool_that_fails_is_an_error_with_its_last_lines(
    dumbbell: Dumbbell, empty_cache: Path, tmp_path: Path
) -> None:
    fake(tmp_path / "bin", "cargo", "echo 'error: no registry'; echo 'Caused by: no network'; exit 101")
    done = dumbbell("stack", "build", "quinn", PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert done.returncode == 2
    assert "quinn: cargo failed with status 101; full log: " in done.stderr
    assert "error: no registry" in done.stderr
    assert "Caused by: no network" in done.stderr
    assert list((empty_cache / "stacks").iterdir()) == []


def test_ctrl_c_leaves_nothing_half(empty_cache: Path, tmp_path: Path) -> None:
    fake(tmp_path / "bin", "cargo", f"echo $$ > {tmp_path}/pid; yes '  Downloaded a' | head -n 2000; exec sleep 100")
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    command = [str(COMMAND), "stack", "build", "quinn"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        log = empty_cache / "build/stack-quinn/build.log"
        until(lambda: log.is_file() and "Downloaded" in log.read_text())  # What it says is read.
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command continues" in errors
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
    assert list((empty_cache / "stacks").iterdir()) == []


@pytest.mark.slow
def test_a_stack_is_built_once_and_removed(dumbbell: Dumbbell, empty_cache: Path) -> None:
    done = json.loads(dumbbell("stack", "build", "aioquic", "--json").stdout)["stacks"][0]
    assert (done["name"], done["built"]) == ("aioquic", True)
    folder = Path(done["folder"])
    assert {"driver.py", "lib", "cert.pem", "key.pem", "stack.json"} == {path.name for path in folder.iterdir()}
    assert not (empty_cache / "build/stack-aioquic").exists()
    before = (folder / "stack.json").stat().st_mtime_ns
    assert dumbbell("stack", "build", "aioquic").returncode == 0
    assert (folder / "stack.json").stat().st_mtime_ns == before
    assert json.loads(dumbbell("stack", "remove", "aioquic", "--json").stdout)["removed"] == [str(folder)]
    assert not folder.exists()


def test_the_certificate_is_valid_in_every_guest(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    command = ["openssl", "x509", "-in", str(tmp_path / "cert.pem"), "-noout", "-startdate", "-enddate", "-serial"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "notBefore=Jan  1 00:00:00 2000 GMT\nnotAfter=Dec 31 23:59:59 2099 GMT\nserial=01" in shown


def until(happened: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def is_bound(port: int) -> bool:
    return any(f":{port:04X} " in Path(table).read_text() for table in ("/proc/net/udp", "/proc/net/udp6"))


@contextmanager
def serving(stack: Built, cc: str, folder: Path, host: str = "127.0.0.1") -> Iterator[str]:
    """A server of the stack; its address. At the end it gets SIGTERM and must exit with status 0."""
    port = free_port()
    at = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    options = ["--listen", at, "--cc", cc, "--cert", str(stack.certificate), "--key", str(stack.key)]
    command = [*stack.argv, "server", *options, "--qlog", str(folder / "server.sqlog")]
    environment = os.environ | stack.environment
    with subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: is_bound(port) or process.poll() is not None)
            assert process.poll() is None
            yield at
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors


def run(stack: Built, folder: Path, *words: str) -> Finished:
    return subprocess.run(
        [*stack.argv, *words], env=os.environ | stack.environment, cwd=folder, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip


def cwnd_of(qlog: Path) -> list[int]:
    """Congestion windows of a qlog; every record must be whole."""
    found = []
    for line in qlog.read_text().split("\x1e" if "\x1e" in qlog.read_text() else "\n"):
        data = json.loads(line).get("data", {}) if line.strip() else {}
        found += [data[key] for key in ("congestion_window", "cwnd") if key in data]
    return found


@pytest.mark.slow(keep="quinn")
def test_a_driver_sends_the_bytes_with_each_controller(stack: Built, tmp_path: Path) -> None:
    for cc in stack.stack.controllers:
        with serving(stack, cc, tmp_path) as at:
            done = run(stack, tmp_path, "client", "--connect", at, "--bytes", str(BYTES))
            assert done.returncode == 0, (cc, done.stderr)
        assert max(cwnd_of(tmp_path / "server.sqlog")) > 10_000, cc


@pytest.mark.slow(keep="quinn")
def test_a_client_without_a_number_reads_until_it_is_stopped(stack: Built, tmp_path: Path) -> None:
    with serving(stack, stack.stack.controllers[0], tmp_path, "::1") as at:
        command = [*stack.argv, "client", "--connect", at]
        with subprocess.Popen(command, cwd=tmp_path, env=os.environ | stack.environment) as process:
            until(lambda: (tmp_path / "server.sqlog").is_file() or process.poll() is not None)
            time.sleep(0.2)
            assert process.poll() is None
            process.terminate()
            assert process.wait(timeout=30) == 0


@pytest.mark.slow(keep="quinn")
def test_a_wrong_request_is_one_line(stack: Built, tmp_path: Path) -> None:
    known = ", ".join(stack.stack.controllers)
    credentials = ["--cert", str(stack.certificate), "--key", str(stack.key)]
    for words, message in (
        (["server", "--listen", "127.0.0.1:1", "--cc", "vegas", *credentials], f"cc 'vegas' is not one of {known}"),
        (["client", "--connect", "127.0.0.1"], "an address and a port such as 10.0.0.1:4433, got '127.0.0.1'"),
    ):
        done = run(stack, tmp_path, *words)
        assert done.returncode == 2
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
