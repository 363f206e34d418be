"""The command on both engines: the contract of `--json`, repeatability, Ctrl-C, a full disk."""

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import COMMAND, Dumbbell
from dumbbell.analysis import names
from dumbbell.cli.console import out
from dumbbell.cli.run_summary import DEFAULT_LIMIT_PACKETS, DEFAULT_QDISC, show_cases
from dumbbell.cli.runs import RunResults
from dumbbell.results.reader import TABLES
from dumbbell.spec import load as load_cases
from engines.measured import CUBIC, experiment, table_hashes
from processes import processes_in
from synthetic import Bench, Flow

ENGINES = ["sim", pytest.param("kernel", marks=pytest.mark.kernel)]
SPREAD = {"mean", "min", "p50", "p95", "p99", "max"}
SHORT = ("--set", "duration=2s")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn."""
    return str(request.param)


def run(dumbbell: Dumbbell, engine: str, *arguments: str | Path, **environment: Any) -> dict[str, Any]:
    done = dumbbell("run", *arguments, "--engine", engine, "--json", **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    numbers: dict[str, Any] = json.loads(done.stdout)
    return numbers


def test_json_has_exactly_the_contract_s_keys(dumbbell: Dumbbell, engine: str, tmp_path: Path) -> None:
    numbers = run(dumbbell, engine, "cyclic", *SHORT, "--out", "run")
    assert set(numbers) == {
        *"format run engine seed valid warnings wall_s duration_s flows groups queue queues".split(),
        *"ping_ms one_way_delay_ms utilization jain cycle".split(),
    }
    assert (numbers["run"], numbers["engine"], numbers["seed"], numbers["valid"]) == ("run", engine, 1, True)
    assert (numbers["warnings"], numbers["duration_s"]) == ([], 2.0)
    assert [(flow["name"], flow["group"], flow["cc"]) for flow in numbers["flows"]] == [
        ("bbr-1", "bbr", "bbr"), ("bbr-2", "bbr", "bbr"), ("cubic-1", "cubic", "cubic"), ("cubic-2", "cubic", "cubic"),
    ]  # fmt: skip
    for flow in numbers["flows"]:
        assert set(flow) == {
            *"name group cc throughput_mbps goodput_mbps bytes response_s no_data_share".split(),
            *"retransmits retransmit_rate rtt_ms cwnd_packets lost_datagrams jitter_ms".split(),
            *("one_way_delay_ms", "handshake_ms"),
        }
        assert set(flow["rtt_ms"]) == set(flow["cwnd_packets"]) == SPREAD
    assert list(numbers["groups"]) == ["bbr", "cubic"]
    of_groups = {name for name, *_ in names.parts_of(names.GROUP)} | {names.BASE_RTT}
    assert all(set(group) == of_groups for group in numbers["groups"].values())
    assert set(numbers["queue"]) == {"packets", "delay_ms", "drops", "marks", "loss_rate"}
    assert set(numbers["queue"]["packets"]) == set(numbers["queue"]["delay_ms"]) == set(numbers["ping_ms"]) == SPREAD
    assert sum(group["share"] for group in numbers["groups"].values()) == pytest.approx(1)
    assert numbers["utilization"] > 0.8

    folder = tmp_path / "run"
    for name, columns in TABLES.items():
        assert pl.read_parquet_schema(folder / f"{name}.parquet") == columns
        assert pl.read_parquet(folder / f"{name}.parquet").height > 0
    manifest = json.loads((folder / "run.json").read_text())
    assert [(flow["cc_asked"], flow["cc"]) for flow in manifest["flows"]] == [("bbr", "bbr")] * 2 + [
        ("cubic", "cubic")
    ] * 2
    assert manifest["engine"] == engine
    assert manifest["kernel"]["release"].startswith("6.") if engine == "kernel" else manifest["simulator"]["sha256"]
    assert manifest["command"].split()[:5] == ["dumbbell", "run", "cyclic", "--engine", engine]
    assert (manifest["invalid"], manifest["bottleneck"]) == ([], "bottleneck")


def test_a_sized_flow_reports_its_completion_time(dumbbell: Dumbbell, engine: str) -> None:
    numbers = run(
        dumbbell,
        engine,
        "cyclic",
        "--set",
        "duration=5s",
        "--set",
        "flows.0.bytes=1MB",
        "--set",
        "flows.1.bytes=1MB",
        "--out",
        "run",
    )
    assert all(0 < flow["fct_s"] < 5 and flow["bytes"] == 10**6 for flow in numbers["flows"])
    assert numbers["duration_s"] < 5


def test_a_run_repeats_bit_for_bit_in_any_folder_and_environment(
    dumbbell: Dumbbell, engine: str, tmp_path: Path
) -> None:
    """Another folder, another working directory, another length of its name, another environment."""
    elsewhere = tmp_path / "some" / "where" / "else"
    elsewhere.mkdir(parents=True)
    run(dumbbell, engine, "cyclic", *SHORT, "--out", "a")
    run(
        dumbbell,
        engine,
        "cyclic",
        *SHORT,
        "--out",
        tmp_path / "b" / "a-much-longer-name",
        cwd=elsewhere,
        MARK="x" * 5000,
    )
    run(dumbbell, engine, "cyclic", *SHORT, "--out", "c", "--seed", "3")
    first = table_hashes(tmp_path / "a")
    assert table_hashes(tmp_path / "b" / "a-much-longer-name") == first
    assert table_hashes(tmp_path / "c")["flows"] != first["flows"]


@pytest.mark.slow(keep="sim")
def test_seeds_in_parallel_give_the_same_results_as_alone(dumbbell: Dumbbell, engine: str, tmp_path: Path) -> None:
    numbers = run(dumbbell, engine, "cyclic", "--set", "duration=1s", "--seed", "1..3", "--out", "many", "--jobs", "2")
    assert set(numbers) >= {"run", "engine", "valid", "warnings", "wall_s", "cases"}
    assert [case["seed"] for case in numbers["cases"]] == [1, 2, 3]
    run(dumbbell, engine, "cyclic", "--set", "duration=1s", "--seed", "2", "--out", "alone")
    assert table_hashes(
        tmp_path / "many" / "cyclic-seed2"
        if (tmp_path / "many" / "cyclic-seed2").is_dir()
        else tmp_path / "many" / "run-seed2"
    ) == table_hashes(tmp_path / "alone")


def test_a_file_without_a_queue_gets_the_delay_of_the_default_limit(dumbbell: Dumbbell, tmp_path: Path) -> None:
    text = 'duration = "1s"\n[path]\nrtt = "20ms"\n[path.bottleneck]\nrate = "10mbit"\n[[flows]]\ncc = "cubic"\n'
    (case,) = load_cases(_written(tmp_path / "mine.toml", text))
    assert case.experiment.path.bottleneck is not None
    qdisc = case.experiment.path.bottleneck.qdisc
    assert " ".join([qdisc.kind, *qdisc.words]) == DEFAULT_QDISC
    assert DEFAULT_QDISC.split()[-1] == str(DEFAULT_LIMIT_PACKETS)
    # 1000 packets of 1514 bytes at 10 Mbit/s.
    line = "limit       pfifo limit 1000, the default: up to 1.21 s at 10 Mbit/s\n"
    assert line in dumbbell("run", "mine.toml", "--out", "one").stdout
    other = dumbbell("run", "mine.toml", "--set", "path.bottleneck.qdisc=pfifo limit 20", "--out", "two").stdout
    assert "the default" not in other


def _written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def test_a_wall_limit_that_no_clock_counts_is_refused(dumbbell: Dumbbell) -> None:
    done = dumbbell("run", "cyclic", "--engine", "kernel", "--wall-limit", "9" * 40)
    assert (done.returncode, "is not in the range 1<=x<=1000000" in done.stderr) == (2, True)


def test_cases_are_selected_by_name(dumbbell: Dumbbell, tmp_path: Path) -> None:
    arguments = ("bufferbloat", "--set", "duration=1s")
    run(dumbbell, "sim", *arguments, "--case", "maxq 100", "--out", "one")
    manifest = json.loads((tmp_path / "one" / "run.json").read_text())
    assert manifest["case"] == "maxq 100"
    assert manifest["command"].endswith("--case 'maxq 100' --set duration=1s")
    some = run(dumbbell, "sim", *arguments, "--case", "maxq 200", "--case", "maxq 10", "--out", "some")
    assert [case["name"] for case in some["cases"]] == ["maxq 200", "maxq 10"]
    done = dumbbell("run", *arguments, "--case", "maxq 7")
    assert (done.returncode, "no case is called 'maxq 7'; there is: maxq 10; maxq 100; maxq 200" in done.stderr) == (
        2,
        True,
    )


@pytest.mark.slow(keep="sim")
def test_seeds_and_cases_are_summarized_by_mean_and_range(dumbbell: Dumbbell, engine: str, tmp_path: Path) -> None:
    cases = '[[cases]]\nname = "{path.loss}"\nset = { "path.loss" = ["1%", "3%"] }\n'
    (tmp_path / "mine.toml").write_text(experiment(CUBIC, duration="1s") + cases)
    numbers = run(dumbbell, engine, "mine.toml", "--seed", "1..3", "--out", "many")
    assert [each["name"] for each in numbers["repeated"]] == ["1%", "3%"]
    for each in numbers["repeated"]:
        mine = [case for case in numbers["cases"] if each["name"] == case["name"]]
        rates = [case["groups"]["cubic"]["throughput_mbps"] for case in mine]
        row = each["metrics"]["groups.cubic.throughput_mbps"]
        assert (each["seeds"], each["runs"], each["invalid"]) == ([1, 2, 3], len(mine), 0)
        assert row == {
            "mean": pytest.approx(sum(rates) / len(rates)),
            "min": min(rates),
            "max": max(rates),
            "runs": len(rates),
        }
        assert row["min"] < row["max"]


def test_the_source_s_figure_has_a_row_a_case_with_mean_and_range(tmp_path: Path) -> None:
    seen = [{"what": "rate", "value": 10, "metric": "groups.cubic.throughput_mbps", "unit": "Mbit/s"}]
    runs = [
        Bench(
            [Flow("cubic", "cubic", rate_bps=rate * 1e6)],
            manifest={"case": case, "seed": seed, "expect": [], "source": {"title": "a report", "seen": seen}},
        ).make(tmp_path / f"{case}-{seed}")
        for case, rates in (("slow", (8, 10)), ("fast", (30, 50)))
        for seed, rate in enumerate(rates)
    ]
    with out.capture() as captured:
        show_cases(out, RunResults(tmp_path, runs, several=True, engine="sim", wall_s=1.0))
    shown = captured.get()
    assert "all cases" not in shown
    rows = [line.split() for line in shown.split("reported by the source")[1].splitlines()]
    assert [row for row in rows if row[:1] == ["rate"]] == [
        ["rate", "slow", "10", "Mbit/s", "9", "Mbit/s", "8", "to", "10", "0.90", "×"],
        ["rate", "fast", "10", "Mbit/s", "40", "Mbit/s", "30", "to", "50", "4.00", "×"],
    ]


def test_reasons_with_one_advice_are_one_list_and_expectations_name_their_seed(tmp_path: Path) -> None:
    advice = "fewer flows would help"
    runs = [
        Bench(
            [Flow("cubic", "cubic", rate_bps=seed * 1e7)],
            manifest={
                "case": None, "seed": seed, "valid": False, "invalid": [f"core {seed} was full; {advice}"],
                "expect": ["groups.cubic.throughput_mbps < 15"],
            },
        ).make(tmp_path / str(seed))
        for seed in (1, 2, 3)
    ]  # fmt: skip
    with out.capture() as captured:
        show_cases(out, RunResults(tmp_path, runs, several=True, engine="sim", wall_s=1.0))
    shown = captured.get()
    assert shown.count(advice) == 1
    assert f"INVALID, for 3 reasons; {advice}:\n  " in shown
    assert all(f", seed {seed}: core {seed} was full\n" in shown for seed in (1, 2, 3))
    assert "NOT as expected" in shown.split(", seed 2: groups.cubic")[0].splitlines()[-1]


@pytest.mark.slow(keep="sim")
def test_an_expectation_decides_the_status(dumbbell: Dumbbell, engine: str) -> None:
    def status(expectation: str, out: str) -> int:
        return dumbbell(
            "run", "cyclic", *SHORT, "--engine", engine, "--set", f'expect=["{expectation}"]', "--out", out, "--json"
        ).returncode

    assert status("utilization > 0.5", "good") == 0
    assert status("utilization < 0.5", "bad") == 1


def test_a_controller_that_the_engine_lacks_is_an_error(dumbbell: Dumbbell, engine: str, tmp_path: Path) -> None:
    done = dumbbell("run", "cyclic", "--engine", engine, "--set", "flows.0.cc=cubbic", "--out", "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"flows.0.cc: {'kernel ' if engine == 'kernel' else 'the simulator'}" in done.stderr
    assert "has no congestion control with this name, got 'cubbic'; did you mean 'cubic'? there is: " in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_not_changed(dumbbell: Dumbbell, engine: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    done = dumbbell("run", "cyclic", "--engine", engine, *SHORT, "--out", "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert "run: exists already; results are never overwritten" in done.stderr
    assert list((tmp_path / "run").iterdir()) == []


def test_an_output_path_that_can_not_be_written_is_an_error(dumbbell: Dumbbell, engine: str) -> None:
    done = dumbbell("run", "cyclic", "--engine", engine, *SHORT, "--out", "/proc/nowhere/run")
    assert (done.returncode, done.stdout) == (2, "")
    assert "/proc/nowhere/run: can't be written" in done.stderr


@contextlib.contextmanager
def long_run(folder: Path, engine: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A run that would take hours, once it has started."""
    endless = ["--set", "duration=100000s", "--set", "sample=1s", "--out", "run", "--engine", engine]
    # The guest must run, not only have a folder: it writes its records once it runs.
    started_file = "flows.bin" if engine == "kernel" else ".lock"
    process = subprocess.Popen(
        [COMMAND, "run", "cyclic", *endless, *arguments], cwd=folder,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        while process.poll() is None and not list(folder.glob(f".run.running/**/{started_file}")):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
        for guest in processes_in(folder):
            os.kill(guest, signal.SIGKILL)


@pytest.mark.slow(keep="sim-2-one run")
@pytest.mark.parametrize("arguments", [(), ("--seed", "1..4", "--jobs", "2")], ids=["one run", "two at a time"])
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_no_folder_and_no_guest(
    tmp_path: Path, engine: str, arguments: tuple[str, ...], signal_number: signal.Signals
) -> None:
    with long_run(tmp_path, engine, *arguments) as process:
        assert bool(processes_in(tmp_path / ".run.running")) == (engine == "kernel")
        process.send_signal(signal_number)
        output, errors = process.communicate(timeout=60)
        assert (process.returncode, output) == (130, "")
        assert "Traceback" not in errors
        assert list(tmp_path.iterdir()) == []
        assert processes_in(tmp_path / ".run.running") == []


@pytest.mark.slow(keep="sim")
def test_a_second_run_into_the_same_folder_is_refused(dumbbell: Dumbbell, engine: str, tmp_path: Path) -> None:
    with long_run(tmp_path, engine) as process:
        done = dumbbell("run", "cyclic", "--engine", engine, *SHORT, "--out", "run")
        assert (done.returncode, done.stdout) == (2, "")
        assert "run: being written by another run" in done.stderr
        assert process.poll() is None


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes: mount it with `mount(size)`."""
    disk = tmp_path / "disk"
    disk.mkdir()
    yield disk
    subprocess.run(["umount", disk], check=False, capture_output=True)


@pytest.mark.slow(keep="before the guest")
@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize(
    ("engine", "size"),
    [
        pytest.param("sim", "64k", id="of the simulator's tables"),
        pytest.param("kernel", "64k", id="before the guest", marks=pytest.mark.kernel),
        pytest.param("kernel", "6m", id="in mid-run", marks=pytest.mark.kernel),
    ],
)
def test_a_full_disk_is_an_error_and_leaves_nothing(
    dumbbell: Dumbbell, engine: str, small_disk: Path, size: str
) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", small_disk], check=False)
    if mounted.returncode:
        pytest.skip("this root may not mount")
    arguments = ("--engine", engine, "--set", "duration=20s", "--set", "sample=1ms")
    done = dumbbell("run", "cyclic", *arguments, "--out", small_disk / "run")
    assert list(small_disk.iterdir()) == []
    assert "Traceback" not in done.stderr
    assert "the disk is full; nothing was written" in done.stderr
    assert done.returncode == 2


@pytest.mark.slow(keep="sim")
def test_ten_thousand_flows_run_in_bounded_memory(tmp_path: Path, engine: str) -> None:
    """The command's own memory; the guest's is fixed by its `mem=`. The run may be valid or not."""
    arguments = [
        "run",
        "cyclic",
        "--engine",
        engine,
        "--set",
        "duration=1s",
        "--set",
        "sample=500ms",
        "--set",
        "flows.0.count=10000",
        "--out",
        "run",
        "--json",
    ]
    process = subprocess.Popen(
        [COMMAND, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    numbers = json.loads(output)
    assert process.returncode == (0 if numbers["valid"] else 1)
    assert len(numbers["flows"]) == 10_002
    assert usage.ru_maxrss < 2 << 20


@pytest.mark.slow(keep="sim")
def test_stats_prints_the_same_as_run(dumbbell: Dumbbell, engine: str) -> None:
    numbers = run(dumbbell, engine, "cyclic", *SHORT, "--out", "run")
    assert json.loads(dumbbell("stats", "run", "--json").stdout) == numbers
    late = json.loads(dumbbell("stats", "run", "--from", "1s", "--json").stdout)
    assert late["ping_ms"] != numbers["ping_ms"]
    wrong = dumbbell("stats", "run", "--from", "soon")
    assert wrong.returncode == 2
    assert "--from or --to: not a quantity" in wrong.stderr


def test_a_run_is_printed_as_text(dumbbell: Dumbbell, engine: str) -> None:
    done = dumbbell("run", "cyclic", "--engine", engine, *SHORT, "--out", "run")
    assert done.returncode == 0
    for word in (
        "BBR leads CUBIC at a shallow buffer",
        "bbr-1",
        "cubic-2",
        "utilization",
        "reported by the source",
        "run",
    ):
        assert word in done.stdout


@pytest.mark.kernel
def test_controllers_are_listed_with_the_engines_that_have_them(dumbbell: Dumbbell) -> None:
    entries = json.loads(dumbbell("list", "controllers", "--json").stdout)["controllers"]
    listed = {entry["name"]: entry for entry in entries}
    assert {tuple(listed[name]["engines"][:2]) for name in ("bbr", "cubic", "reno")} == {("sim", "kernel")}
    beta = {"name": "beta", "default": "717", "takes": "an integer from 1 to 1023"}
    assert beta in listed["cubic"]["parameters"]
    assert "beta=717" in dumbbell("list", "controllers").stdout
    kernels = json.loads(dumbbell("kernel", "list", "--json").stdout)["kernels"]
    assert [kernel["default"] for kernel in kernels].count(True) == 1


def _unfit() -> str:
    done = subprocess.run(["unshare", "-n", "true"], capture_output=True, text=True, check=False)
    return done.stderr.strip()


@pytest.mark.skipif(bool(_unfit()), reason="no network namespaces here")
def test_ctrl_c_keeps_the_complete_runs_of_a_host(tmp_path: Path) -> None:
    text = 'duration = "1s"\n[path]\nrtt = "0ms"\n[path.bottleneck]\nrate = "10mbit"\n[[flows]]\ncc = "reno"\n'
    _written(tmp_path / "mine.toml", text)
    arguments = ["run", "mine.toml", "--engine", "host", "--seed", "1..50", "--out", "many"]
    process = subprocess.Popen([COMMAND, *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        while process.poll() is None and not (tmp_path / ".many.running/many/run-seed1/run.json").exists():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, errors
    kept = sorted(path.name for path in (tmp_path / "many").iterdir())
    assert "run-seed1" in kept
    assert len(kept) < 50
    assert f"{len(kept)} of 50 runs are complete and kept: many" in errors


@pytest.mark.skipif(bool(_unfit()), reason="no network namespaces here")
def test_a_run_on_a_host_that_is_too_slow_ends_after_about_twice_its_duration(tmp_path: Path) -> None:
    """The agent is stopped for a while, as by a host that has no time for it."""
    text = 'duration = "1s"\n[path]\nrtt = "0ms"\n[path.bottleneck]\nrate = "10mbit"\n[[flows]]\ncc = "reno"\n'
    _written(tmp_path / "mine.toml", text)
    arguments = ["run", "mine.toml", "--engine", "host", "--out", "one"]
    process = subprocess.Popen([COMMAND, *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        while process.poll() is None and not list(tmp_path.glob(".one.running/**/machine.jsonl")):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
        agents = processes_in(tmp_path / ".one.running")
        assert agents
        for agent in agents:
            os.kill(agent, signal.SIGSTOP)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode != 0
    found = re.search(r"too slow for the experiment: it had not ended after ([0-9.]+) s", errors)
    assert found, errors
    assert float(found[1]) < 6
    assert "Mbit/s" not in errors
    assert not (tmp_path / "one").exists()
    assert processes_in(tmp_path / ".one.running") == []
