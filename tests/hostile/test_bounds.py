"""Inputs that need too much time or memory: each is refused by its limit, quickly and with little memory.

Commands run with a limited address space: one that allocates too much ends with a `MemoryError` instead.
"""

import gzip
import re
import resource
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from conftest import COMMAND
from dumbbell import limits
from dumbbell.engines import Request, Simulator
from dumbbell.errors import DumbbellError, ExperimentError, PlanError
from dumbbell.importers import Options, import_files
from dumbbell.results import result
from dumbbell.spec import load, scenarios
from dumbbell.spec.document import distinct, parse
from dumbbell.web.live_figures import FigureRequest, figure_data
from importers.packets import pcapng_block

ROOT = Path(__file__).parents[2]
ADDRESS_SPACE = 3 << 30
"""3 GiB, of which libraries and stacks of threads take more than one."""
SMALL = """
duration = "1s"
[path]
rtt = "10ms"
[path.bottleneck]
rate = "1mbit"
[[flows]]
cc = "cubic"
"""
RTTS = ", ".join(f"'{n}ms'" for n in range(1, 10_001))
DIGITS = ", ".join(f"{key} = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]" for key in "abcdefghi")
HOSTILE = {
    "a trace of many steps": (
        SMALL.replace('"1s"', '"20000s"').replace('rate = "1mbit"', 'rate_trace = "t.trace"\nrate_trace_step = "1ms"'),
        "path.bottleneck.rate_trace_step: 20,000,000 steps in this time, more than 200,000",
    ),
    "a dotted key": (f"{'.'.join('a' * 50_000)} = 1\n{SMALL}", "tables within tables, more than 24"),
    "brackets": (f"a = {'[' * 50_000}\n{SMALL}", "tables within tables, more than 24"),
    "braces": (f"a = {'{a = ' * 20_000}1{'}' * 20_000}\n{SMALL}", "tables within tables, more than 24"),
    "a header of many parts": (f"{SMALL}\n[{'.'.join('a' * 50_000)}]\n", "tables within tables, more than 24"),
    "a long text": (f'title = "{"x" * 1_000_001}"\n{SMALL}', "larger than 1 MB"),
    "many keys": ("".join(f"k{n}=1\n" for n in range(30_000)) + SMALL, "keys and values, more than 20,000"),
    "many tables": (SMALL + "[[flows]]\n" * 30_000, "keys and values, more than 20,000"),
    "samples": ('sample = "1us"\n' + SMALL.replace('"1s"', '"2000s"'), "GB of memory, more than 8 GB"),
    "cases of many groups": (
        SMALL + '[[flows]]\ncc = "bbr"\n' * 3_001
        + f"[[cases]]\nset = {{ 'path.rtt' = [{RTTS}] }}\n",
        "10,000 cases with 30,070,000 keys in all, more than 1,000,000",
    ),
    "cases crossed": (
        f"{SMALL}[[cases]]\nset = {{ {DIGITS} }}\n",
        "1,000,000,000 cases, more than 10,000",
    ),
    "a name that multiplies": (
        f"{SMALL}[[cases]]\nname = \"{'{a}' * 100_000}\"\nset = {{ a = \"{'x' * 300_000}\" }}\n",
        "cases.0.name: a name of more than 4000 characters",
    ),
    "many groups": (SMALL + '[[flows]]\ncc = "bbr"\n' * 3_001, "3,002 groups, more than 500"),
    "many flows": (SMALL + '[[flows]]\ncc = "bbr"\ncount = 100000\n' * 200, "20,000,001 flows, more than 100,000"),
    "a fast link for long": (
        SMALL.replace("1mbit", "1tbit").replace('"1s"', '"1000000s"').replace("duration", 'sample = "10s"\nduration'),
        "packets in this time, more than 100,000,000,000",
    ),
    "a number of many digits": (f"a = 0x{'f' * 100_000}\n{SMALL}", "an integer of more than 64 bits"),
    "a number of 5,000 digits": (f"seed = {'9' * 5_000}\n{SMALL}", "an integer of more than 64 bits"),
    "a huge exponent": (SMALL.replace('"10ms"', '"1e999999999ms"'), "path.rtt: a number that is too large"),
    "a tiny exponent": (SMALL.replace('"1s"', '"1e-999999999s"'), "duration: a time of zero"),
}  # fmt: skip


CHECK = """
import sys
from pathlib import Path
from dumbbell.engines import Request, Simulator
from dumbbell.errors import DumbbellError
from dumbbell.spec import load
for number in range(int(sys.argv[1])):
    try:
        cases = load(Path(f"{number}.toml"))
        Simulator().check(Request("x", cases[0], 1, Path("out")))
        print("accepted", flush=True)
    except DumbbellError as error:
        print(str(error).replace("\\n", " "), flush=True)
"""


def run_bounded(arguments: Sequence[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a process with at most one minute of CPU time and an address space for little data."""

    def set_limits() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))

    return subprocess.run(
        arguments, cwd=folder, preexec_fn=set_limits, capture_output=True, text=True, check=False, timeout=600
    )


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command within these limits."""
    return run_bounded([COMMAND, *arguments], cwd)


def test_experiments_that_exceed_a_limit_are_refused(tmp_path: Path) -> None:
    """All in one process, as the workbench reads them: after each, it has memory for the next."""
    (tmp_path / "t.trace").write_text("1\n1\n3\n")
    for number, (text, _) in enumerate(HOSTILE.values()):
        (tmp_path / f"{number}.toml").write_text(text)
    done = run_bounded([sys.executable, "-c", CHECK, str(len(HOSTILE))], tmp_path)
    lines = done.stdout.splitlines()
    assert len(lines) == len(HOSTILE), done.stderr[-2000:]
    assert {name: problem in line for line, (name, (_, problem)) in zip(lines, HOSTILE.items(), strict=True)} == (
        dict.fromkeys(HOSTILE, True)
    ), lines


def test_the_error_names_the_setting_that_allows_it_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(HOSTILE["many flows"][0])
    done = run("run", "x.toml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("or allow it: DUMBBELL_LIMITS=flows=20000001\n")
    assert [path.name for path in tmp_path.iterdir()] == ["x.toml"]


def test_a_refused_trace_runs_with_a_larger_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.toml").write_text(
        SMALL.replace('rate = "1mbit"', 'rate_trace = "t.trace"\nrate_trace_step = "10ms"')
    )
    (tmp_path / "t.trace").write_text("1\n1\n300\n")
    case = load(tmp_path / "x.toml")[0]
    monkeypatch.setenv(limits.VARIABLE, "changes=99")
    with pytest.raises(ExperimentError, match="DUMBBELL_LIMITS=changes=100"):
        Simulator().check(Request("x", case, 1, tmp_path / "out"))
    monkeypatch.setenv(limits.VARIABLE, "changes=100")
    Simulator().check(Request("x", case, 1, tmp_path / "out"))


@pytest.mark.parametrize("text", ["memory", "memory=", "memory=-1", "memory=1XB", "flows=1GB", "nothing=1"])
def test_limits_that_cannot_be_read_are_errors(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.VARIABLE, text)
    with pytest.raises(DumbbellError, match="DUMBBELL_LIMITS: "):
        limits.most("memory")


def test_a_deeply_nested_setting_is_refused() -> None:
    with pytest.raises(ExperimentError, match="tables within tables"):
        parse(SMALL, Path("x.toml"), [f"{'.'.join('a' * 3000)}=1"])


def test_rows_of_events_are_counted_during_the_run(tmp_path: Path) -> None:
    """The plan does not give their number."""
    case = parse(SMALL.replace("1mbit", "1gbit").replace("duration", 'record = "events"\nduration'), Path("x.toml"))[0]
    request = Request("x", case, 1, tmp_path / "out")
    Simulator().run(request, lambda _seconds: None)
    with pytest.raises(PlanError, match=r"packets and samples use .* GB, more than 3/4 of the run's limit \(0.002 GB"):
        Simulator(2_000_000).run(Request("x", case, 1, tmp_path / "out2"), lambda _seconds: None)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_queued_packets_are_counted(tmp_path: Path) -> None:
    """Each is duplicated, which the plan does not count."""
    text = SMALL.replace('"1mbit"', '"100kbit"\nqdisc = "pfifo limit 10000000"').replace('"1s"', '"9s"')
    text = text.replace("rtt =", 'duplicate = "100%"\nrtt =')
    text += '[[flows]]\nkind = "udp"\nrate = "1gbit"\n'
    case = parse(text, Path("x.toml"))[0]
    with pytest.raises(PlanError, match="packets and samples use"):
        Simulator(200_000_000).run(Request("x", case, 1, tmp_path / "out"), lambda _seconds: None)


def test_the_workbench_refuses_a_figure_of_gigabytes() -> None:
    """Once it took 16 s and 3.2 GB: the time limit held only for the simulation."""
    request = FigureRequest(toml='sample = "1us"\n' + SMALL.replace('"1s"', '"2s"'))
    assert b"GB of memory, more than 1 GB" in figure_data(request, lambda _seconds: None)


@pytest.mark.slow
def test_gzip_is_unpacked_up_to_the_size_limit_of_a_log(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "bomb.txt.gz", "wb", 9) as file:
        for _ in range(200):
            file.write(b" " * (1 << 20))
    (tmp_path / "small.txt.gz").write_bytes(gzip.compress(b"hello\n"))
    done = run("import", "bomb.txt.gz", "--out", "out", cwd=tmp_path)
    assert (done.returncode, "exceeds 128 MB when unpacked" in done.stderr) == (2, True), done.stderr
    done = run("import", "small.txt.gz", "--out", "out", cwd=tmp_path)
    assert (done.returncode, "unknown log format" in done.stderr) == (2, True), done.stderr


def test_a_text_log_has_limits_of_size_lines_and_line_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ping.txt"
    head = "PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n"
    for limit, text, problem in (
        ("log=1kB", head + "x\n" * 1000, "bytes of text exceed 1 kB"),
        ("lines=100", head + "x\n" * 1000, "lines exceed 100"),
        ("", head + "1" * 100_001 + "\n", "a line of 100,001 bytes"),
    ):
        file.write_text(text)
        monkeypatch.setenv(limits.VARIABLE, limit)
        with pytest.raises(DumbbellError, match=re.escape(problem)):
            import_files([file], tmp_path / "out", Options())


def _capture(days: int) -> bytes:
    """Two connections with two packets each, so many days apart."""
    data = pcapng_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + pcapng_block(
        1, struct.pack("<HHI", 1, 0, 65535)
    )
    for port in (1000, 1001):
        for time_us in (10**6, 10**6 + days * 86400 * 10**6):
            tcp = struct.pack(">HHIIBBHHH", port, 80, port, 1, 0x50, 16, 1000, 0, 0)
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 140, port, 0, 64, 6, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
            frame = bytes(12) + b"\x08\0" + ip + tcp
            lengths = struct.pack("<IIIII", 0, time_us >> 32, time_us & 0xFFFFFFFF, len(frame), len(frame) + 100)
            data += pcapng_block(6, lengths + frame + bytes(-len(frame) % 4))
    return data


@pytest.mark.slow
def test_a_capture_of_few_packets_over_a_long_time_has_limited_rows(tmp_path: Path) -> None:
    (tmp_path / "far.pcapng").write_bytes(_capture(1))
    done = run("import", "far.pcapng", "--out", "out", cwd=tmp_path)
    assert (done.returncode, "too many rows; a larger --interval" in done.stderr) == (2, True), done.stderr
    done = run("import", "far.pcapng", "--out", "out", "--interval", "10s", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert pl.read_parquet(tmp_path / "out" / "flows.parquet").height == 2 * 8641


def test_a_capture_has_a_limit_of_packets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.pcapng").write_bytes(_capture(0))
    monkeypatch.setenv(limits.VARIABLE, "capture-packets=3")
    with pytest.raises(DumbbellError, match="more than 3 packets"):
        import_files([tmp_path / "x.pcapng"], tmp_path / "out", Options())


def test_a_result_with_more_rows_than_fit_in_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet's run-length encoding stores many equal rows in a few bytes."""
    case = parse(SMALL, Path("x.toml"))[0]
    folder = Simulator().run(Request("x", case, 1, tmp_path / "out"), lambda _seconds: None)
    table = folder / "flows.parquet"
    pl.read_parquet(table)[[0] * 100_000].write_parquet(table, compression="zstd")
    assert table.stat().st_size < 100_000
    assert result.load(folder).flows.height == 100_000
    monkeypatch.setenv(limits.VARIABLE, "memory=10MB")
    with pytest.raises(DumbbellError, match="at most 10 MB are expected: allow it: DUMBBELL_LIMITS=memory="):
        result.load(folder)


def test_a_manifest_has_a_size_limit(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / "run.json").open("wb") as file:
        file.truncate(1 << 40)
    done = run("stats", "out", cwd=tmp_path)
    assert (done.returncode, "at most 256,000,000 are expected" in done.stderr) == (2, True), done.stderr


def test_naming_folders_takes_linear_time() -> None:
    assert distinct(["a"] * 50_000)[-1] == "a-50000"
    assert distinct(["a", "A", "a-2", "a", "A-2"]) == ["a", "A-2", "a-2-2", "a-3", "A-2-3"]


def test_built_in_experiments_need_a_tenth_of_the_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(
        limits.VARIABLE, ",".join(f"{name}={limit.default // 10}" for name, limit in limits.LIMITS.items())
    )
    for file in scenarios().values():
        for case in load(file):
            Simulator().check(Request(file.stem, case, 1, Path("nowhere")))


def test_the_manual_lists_every_limit() -> None:
    manual = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    for name, limit in limits.LIMITS.items():
        assert f"| `{name}` | {limits.shown(name)} | {limit.what} | {limit.why} |" in manual
    assert manual.count("\n| `") == len(limits.LIMITS)
