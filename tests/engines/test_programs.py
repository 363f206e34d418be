"""Programs in a guest: what they see, what they can't do, and what is reported about them."""

import json
import subprocess
import sys
import sysconfig
import textwrap
import venv
from pathlib import Path

import pytest

import dumbbell
from dumbbell.engines import KernelEngine, Request, Simulator
from dumbbell.engines.programs import Typed
from dumbbell.errors import ExperimentError
from dumbbell.results import result
from dumbbell.results.reader import TABLES
from dumbbell.spec import parse
from engines.measured import PYTHON, Outcome, experiment, measure

ROOT = Path(__file__).parents[2]


def program(name: str, on: str, script: str, more: str = "") -> str:
    """A program that runs a Python script."""
    text = textwrap.dedent(script)
    return (
        f'[[programs]]\nname = "{name}"\non = "{on}"\nrun = ["{PYTHON}", "main.py"]\n{more}\n'
        f"[programs.files]\n\"main.py\" = '''\n{text}'''\n"
    )


SERVER = program(
    "server",
    "sender",
    """
    import http.server
    http.server.HTTPServer(("", 80), http.server.SimpleHTTPRequestHandler).serve_forever()
    """,
    'serves = 80\ncc = "bbr"',
).replace("[programs.files]\n", '[programs.files]\n"big" = { bytes = "3MB" }\n')
CLIENT = program(
    "client",
    "receiver",
    """
    import time, urllib.request
    began = time.monotonic()
    print(len(urllib.request.urlopen("http://sender/big").read()), time.monotonic() - began)
    """,
)


def output_of(outcome: Outcome, name: str) -> str:
    return (outcome.run.folder / "programs" / f"{name}.out").read_text()


@pytest.mark.kernel
def test_a_download_is_a_flow_of_the_server_s_controller_and_repeats_byte_for_byte(tmp_path: Path) -> None:
    text = experiment(SERVER + CLIENT, duration="20s")
    first, second = measure(tmp_path, text, name="one"), measure(tmp_path, text, name="again")
    assert first.problems == []
    size, seconds = output_of(first, "client").split()
    assert int(size) == 3_000_000
    assert output_of(second, "client") == output_of(first, "client")
    for table in TABLES:
        assert (second.run.folder / f"{table}.parquet").read_bytes() == (
            first.run.folder / f"{table}.parquet"
        ).read_bytes()
    flow = first.flow("server")
    assert (flow["cc"], flow["group"]) == ("bbr", "server")
    assert 3_000_000 < flow["bytes"] < 3_001_000  # Including the response header.
    assert 3_000_000 * 8 / 10e6 < float(seconds) < 4
    # The experiment ends with the client.
    assert first.run.manifest["duration_s"] == pytest.approx(first.run.manifest["programs"][1]["ended_s"])
    rows = first.run.flows.filter(flow="server")
    assert rows["bbr_bw_bps"].drop_nulls().len() > 100
    assert rows["bytes_received"].is_sorted()
    assert rows["bytes_received"].max() == flow["bytes"]


ESCAPE = """
import ctypes, json, os, pathlib, signal
libc = ctypes.CDLL(None, use_errno=True)
none = ctypes.c_char_p(None)
report = {"uid": os.getuid(), "cwd": os.getcwd(), "homes": os.path.isdir("/root") and os.listdir("/root")}
report["mounts"] = [
    libc.mount(none, b"/", none, 4096 | 32, none),  # MS_BIND | MS_REMOUNT
    libc.mount(none, b"/", none, 32, none),  # MS_REMOUNT, to be written
    libc.mount(b"none", b"/mnt", b"hostfs", 0, b"/"),
    libc.umount(b"/run"),
    libc.unshare(0x00020000),  # CLONE_NEWNS
    libc.chroot(b"/tmp"),
]
def tries(work):
    try:
        work()
        return "done"
    except OSError as error:
        return error.strerror
report["writes"] = {path: tries(lambda: open(path, "a").write("x")) for path in PATHS}
report["own"] = {path: tries(lambda: open(path, "w").write("x")) for path in ("file", "/tmp/x", "/var/log/x")}
report["device"] = tries(lambda: os.mknod("/tmp/mem", 0o20666, os.makedev(1, 1)))
report["memory"] = tries(lambda: open("/dev/mem", "r+b"))
report["agent"] = tries(lambda: os.listdir("/proc/1/root"))
report["core"] = tries(lambda: open("/proc/sys/kernel/core_pattern", "w").write("|/bin/sh"))
report["network"] = tries(lambda: open("/proc/sys/net/ipv4/tcp_ecn", "w").write("1"))
report["folder"] = os.path.exists("/run/dumbbell")
report["hosts"] = pathlib.Path("/etc/hosts").read_text()
os.kill(1, signal.SIGKILL)
print(json.dumps(report))
"""


@pytest.mark.kernel
def test_root_in_a_guest_can_t_write_the_host_s_files_or_leave_its_sandbox(tmp_path: Path) -> None:
    # The test's user could write at least the last of these.
    paths = ["/dumbbell-was-here", "/etc/dumbbell-was-here", "/usr/dumbbell-was-here"]
    paths += [f"{sys.base_prefix}/dumbbell-was-here", str(ROOT / "was-here")]
    got = measure(tmp_path, experiment(program("prisoner", "sender", ESCAPE.replace("PATHS", repr(paths)))))
    assert got.problems == []
    report = json.loads(output_of(got, "prisoner"))
    assert report["uid"] == 0
    assert report["cwd"] == "/run/program"
    root, installation = Path("/root"), (Path(sys.prefix), Path(sys.base_prefix), ROOT / "python")
    shown = {each.relative_to(root).parts[0] for each in installation if each.is_relative_to(root)}
    assert set(report["homes"] or []) == shown
    assert report["mounts"] == [-1] * 6
    # If the checkout is below a covered folder, the file is written to a tmpfs, or the folder is missing.
    assert set(list(report["writes"].values())[:4]) == {"Read-only file system"}
    assert report["own"] == {"file": "done", "/tmp/x": "done", "/var/log/x": "done"}
    assert report["device"] == "Operation not permitted"
    for denied in ("memory", "agent", "core"):
        assert report[denied] != "done", denied
    assert report["network"] == "Read-only file system"
    assert report["folder"] is False
    assert "10.0.1.1\tsender" in report["hosts"]
    assert not any(Path(path).exists() for path in paths)


@pytest.mark.kernel
def test_vector_registers_are_preserved_by_system_calls_threads_and_signals(tmp_path: Path) -> None:
    source = (Path(__file__).parent / "registers.c").read_text()
    text = f"""
        [[programs]]
        name = "registers"
        on = "sender"
        run = ["/bin/sh", "-c", "cc -O1 -pthread main.c -o main && ./main"]
        [programs.files]
        "main.c" = '''{source}'''
    """
    outcome = measure(tmp_path, experiment(text, duration="20s"))
    assert output_of(outcome, "registers") == "2400 of 2400, 0\n"


@pytest.mark.kernel
def test_an_installation_in_a_hidden_folder_is_visible_and_what_is_not_is_named(tmp_path: Path) -> None:
    """The test's folder is below `/tmp`: a virtual environment there is that of the command that starts the run."""
    environment, script = tmp_path / "environment", tmp_path / "script"
    command = environment / "bin" / "dumbbell"
    venv.create(environment, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    (packages / "all.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT / 'python'}\n")
    command.write_text(f"#!{environment}/bin/python\nfrom dumbbell.cli import main\nmain()\n")
    script.write_text("#!/bin/sh\n")
    for file in (command, script):
        file.chmod(0o755)
    programs = (("path", f"{command} --version"), ("name", "dumbbell --version"), ("hidden", str(script)))
    named = "".join(f'[[programs]]\nname = "{name}"\non = "sender"\nrun = "{run}"\n' for name, run in programs)
    file, out = tmp_path / "experiment.toml", tmp_path / "out"
    file.write_text(experiment(named))
    done = subprocess.run(
        [command, "run", file, "--engine", "kernel", "--out", out], capture_output=True, text=True, check=False
    )
    problems = result.load(out).manifest.invalid
    said = [(out / "programs" / f"{name}.out").read_text() for name in ("path", "name")]
    assert said == 2 * [f"dumbbell {dumbbell.__version__}\n"], (problems, done.stderr)
    (problem,) = problems
    assert f"'{script}' was not found on this host; {script} is hidden: /tmp is empty for programs" in problem


@pytest.mark.slow
@pytest.mark.kernel
def test_problems_of_programs_are_reported(tmp_path: Path) -> None:
    text = experiment(
        program("fails", "sender", "import sys\nsys.exit('no file')")
        + program("dies", "sender", "import os\nos.kill(os.getpid(), 9)")
        + program("talks", "sender", "import sys\nsys.stdout.write('x' * (17 << 20))")
        + program("sleeps", "sender", "import time\ntime.sleep(1)", 'stop = "0.1s"\nexpect_status = 3')
        + program("stays", "sender", "import time\ntime.sleep(1)", 'stop = "end"')
        + program("waits", "sender", "import time\ntime.sleep(100)")
        + '[[programs]]\nname = "missing"\non = "receiver"\nrun = "no-such-program"\n'
        + program("deaf", "receiver", "print('not serving')", "serves = 90")
    )
    got = measure(tmp_path, text)
    problems = "\n".join(got.problems)
    assert "program 'fails' exited with status 1, not 0; its last output: no file" in problems
    assert "program 'dies' was killed by signal 9" in problems
    assert "program 'missing' did not start: 'no-such-program' was not found on this host" in problems
    assert "program 'deaf' did not start: it exited before it listened" in problems
    assert len(got.problems) == 4
    notes = "\n".join(got.run.manifest.warnings)
    assert "program 'talks' wrote more output than is stored: 1,048,576 bytes are lost" in notes
    assert "program 'waits' was not done when the experiment ended" in notes
    assert "program 'stays' exited before the experiment ended" in notes
    entries = {entry["name"]: entry for entry in got.run.manifest["programs"]}
    assert entries["sleeps"]["signal"] == 15
    assert entries["sleeps"]["ended_s"] == pytest.approx(0.1, abs=1e-3)
    assert (got.run.folder / "programs" / "talks.out").stat().st_size == 16 << 20


@pytest.mark.kernel
def test_short_connections_of_two_programs_are_discovered(tmp_path: Path) -> None:
    server_script = """
    import socket
    listener = socket.create_server(("", {port}))
    while True:
        socket_, _ = listener.accept()
        socket_.sendall(bytes({size}))
        socket_.close()
    """
    client_script = """
    import socket
    for port, size in ((81, 1000), (82, 50000), (82, 50000)):
        with socket.create_connection(("sender", port)) as connection:
            got = 0
            while piece := connection.recv(65536):
                got += len(piece)
        assert got == size
    """
    text = experiment(
        '[[flows]]\ncc = "cubic"\nbytes = "1MB"\n'
        + program("small", "sender", server_script.format(port=81, size=1000), "serves = 81")
        + program("large", "sender", server_script.format(port=82, size=50000), "serves = 82")
        + program("asker", "receiver", client_script),
        top='sample = "500ms"',
        rtt="2ms",
        duration="5s",
    )
    got = measure(tmp_path, text)
    assert got.problems == []
    sizes = sorted(flow["bytes"] for flow in got.numbers["flows"])
    # The sampling interval exceeds the lifetime of these connections.
    assert sizes == [1000, 50_000, 50_000, 1_000_000]
    assert got.flow("cubic")["bytes"] == 1_000_000


@pytest.mark.kernel
def test_a_typed_program_sees_the_current_folder(tmp_path: Path) -> None:
    below_tmp = tmp_path / "here"
    below_tmp.mkdir()
    (below_tmp / "data").write_text("mine")
    for number, typed in enumerate([Path.home(), below_tmp]):
        names = sorted(path.name for path in typed.iterdir() if path.is_file())[:1]
        script = f"""
        import os
        print(os.path.isdir({str(typed)!r}), all(map(os.path.exists, {names!r})), os.access({str(typed)!r}, os.W_OK))
        """
        case = parse(experiment(program("mine", "sender", script)), tmp_path / "x.toml")[0]
        out = tmp_path / f"out{number}"
        request = Request("x", case, 1, out, typed=Typed(frozenset({"mine"}), typed, "/usr/bin:/bin"))
        run = result.load(KernelEngine().run(request, lambda _seconds: None))
        assert run.manifest.invalid == []
        assert (run.folder / "programs" / "mine.out").read_text() == "True True False\n"


def test_the_simulator_refuses_programs_by_name(tmp_path: Path) -> None:
    case = parse(experiment(CLIENT), tmp_path / "x.toml")[0]
    with pytest.raises(ExperimentError, match=r"programs\.0: the simulator runs no programs, got 'client'"):
        Simulator().run(Request("x", case, 1, tmp_path / "out"), lambda _seconds: None)
