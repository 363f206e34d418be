"""The command without a kernel: its refusals, their messages, their exit status."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import COMMAND, Dumbbell
from dumbbell import __version__
from dumbbell.cli.experiment_commands import plan
from dumbbell.engines.base import run_names
from dumbbell.spec import load, scenarios, with_programs

HEAD = 'duration = "1s"\n[path]\nrtt = "10ms"\n'
BOTTLENECK = '[path.bottleneck]\nrate = "10mbit"\n'
FLOW = '[[flows]]\ncc = "cubic"\n'
GOOD = HEAD + BOTTLENECK + FLOW


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    return path


BAD = {
    "unknown key": ("colour=1", "mine.toml: colour: unknown key 'colour'"),
    "negative rate": ("path.bottleneck.rate=-1mbit", "path.bottleneck.rate: a negative rate, got '-1mbit'; a rate is"),
    "rate without unit": ("path.bottleneck.rate=80", "path.bottleneck.rate: a rate without a unit, got 80; a rate is"),
    "zero duration": ("duration=0s", "mine.toml: duration: a time of zero, got '0s'; it must be longer than zero"),
    "unknown option": (
        "path.bottleneck.qdisc=codel targt 5ms",
        "codel has no option 'targt', got 'codel targt 5ms'; did you mean 'target'?",
    ),
    "redirect": ("path.bottleneck.qdisc=pfifo limit 10 > x", "path.bottleneck.qdisc: pfifo has no option '>'"),
    "missing trace": (
        'path.bottleneck={trace="nothing"}',
        "path.bottleneck.rate_trace: no such file, got 'nothing'; it must be in",
    ),
    "foreign trace": (
        'path.bottleneck={trace="../x"}',
        "path.bottleneck.rate_trace: a file outside the folder of the file that names it, got '../x'",
    ),
    "no setting": ("duration", "not a setting, got 'duration'; --set KEY=VALUE, such as --set duration=20s"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_setting_is_an_error_of_one_line_with_status_2(dumbbell: Dumbbell, file: Path, what: str) -> None:
    setting, message = BAD[what]
    done = dumbbell("plan", file.name, "--set", setting)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("dumbbell: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_queue_in_bdp_without_an_rtt_names_its_file(dumbbell: Dumbbell, file: Path) -> None:
    done = dumbbell("plan", file.name, "--set", "path.rtt=0s", "--set", "path.bottleneck.qdisc=bfifo limit 1bdp")
    assert done.returncode == 2
    assert done.stderr.startswith("dumbbell: mine.toml: path.bottleneck.qdisc: a queue in bdp needs both a rate and")


def test_ten_thousand_flows_are_refused_with_a_remedy(dumbbell: Dumbbell, file: Path) -> None:
    done = dumbbell("plan", file.name, "--set", "flows.0.count=10000", "--set", "duration=60s")
    assert done.returncode == 2
    assert "sample less often: --set sample=29ms" in done.stderr


@pytest.mark.slow(keep="arguments0-nothing.toml: no such experiment file")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan", "nothing.toml"], "nothing.toml: no such experiment file"),
        (["ui", "nothing"], "nothing: no such file or folder; name a result folder"),
        (["ui", "nothing.toml"], "nothing.toml: no such file or folder"),
        (["plan", "cylcic"], "no scenario is called 'cylcic'; did you mean 'cyclic'?"),
        (["run", "cyclic", "--engine", "magic"], "unknown engine, got 'magic'; available: sim, kernel"),
        (["run", "cyclic", "--engine", "sim", "--kernel", "x"], "the simulator runs no kernel, got 'x'; use --engine"),
        (["run", "lossy-lan", "--pcap", "x"], "--pcap: a capture needs one run, not 8; choose one case and one seed"),
        (
            ["run", "cyclic", "--set", "path.bottleneck.qdisc=skbprio"],
            "path.bottleneck.qdisc: the simulator has no 'skbprio'",
        ),
        (["plan", "bufferbloat", "--case", "x"], "no case is called 'x'; there is: maxq 10; maxq 100; maxq 200"),
        (["explain", "cubik"], "got 'cubik'; did you mean 'cubic'?"),
        (["list", "wishes"], "can't be listed, got 'wishes'; there is: controllers, figures"),
        (["stats", "nowhere"], "nowhere: no such result folder"),
        (["plot", "nowhere", "-o", "x.svg"], "nowhere: no such result folder"),
        (["plot", "-o", "x.svg"], "RUN: no result given"),
        (["plot", "nowhere"], "--output: no file given"),
        (
            ["plot", "nowhere", "--panels", "rtt", "--figure", "rtt", "-o", "x.svg"],
            "--panels and --figure exclude each other",
        ),
        (["report", "nowhere"], "nowhere: no such result folder"),
    ],
)
def test_an_invalid_command_is_an_error_with_status_2(
    dumbbell: Dumbbell, tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = dumbbell(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--nonsense"], ["run"], ["run", "cyclic", "--jobs", "0"], ["nonsense"]])
def test_a_wrong_option_has_status_2(dumbbell: Dumbbell, arguments: list[str]) -> None:
    done = dumbbell(*arguments)
    assert (done.returncode, done.stdout) == (2, "")


def test_without_a_kernel_the_error_names_the_build_command(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    arguments = ("run", "cyclic", "--engine", "kernel", "--out", "run", "--json")
    done = dumbbell(*arguments, DUMBBELL_CACHE=str(tmp_path / "empty"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "dumbbell: no kernel is installed; install one with: pip install dumbbell-kernel, "
        "or build one with: dumbbell kernel build\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


@pytest.mark.slow
def test_a_cache_that_can_not_be_written_is_an_error(dumbbell: Dumbbell) -> None:
    done = dumbbell("kernel", "build", DUMBBELL_CACHE="/proc/nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("binary", "message"),
    [
        ("/bin/true", "/bin/true: not a User-Mode Linux kernel; use the file 'linux'"),
        ("/etc/hostname", "not an x86-64 program"),
        ("/nowhere/linux", "/nowhere/linux: can't be read (No such file or directory)"),
        ("/", "/: can't be read (Is a directory)"),
    ],
)
def test_a_file_that_is_no_kernel_is_an_error(dumbbell: Dumbbell, tmp_path: Path, binary: str, message: str) -> None:
    done = dumbbell("run", "cyclic", "--engine", "kernel", "--out", "run", DUMBBELL_KERNEL=binary)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_plan_is_printed_and_nothing_else(dumbbell: Dumbbell, file: Path) -> None:
    done = dumbbell("plan", file.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:2] == ["#!/bin/sh", "# mine"]


def test_every_scenario_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the last case; `tests/plan` tests the script of every case."""
    assert plan.callback is not None
    for name, path in (scenarios() | with_programs()).items():
        plan.callback(name, case=load(path)[-1].name)
        assert capsys.readouterr().out.startswith("#!/bin/sh\n# "), name


def test_a_case_is_chosen_by_its_name(dumbbell: Dumbbell) -> None:
    last = load(scenarios()["lossy-download"])[-1].name
    assert last is not None
    first, done = dumbbell("plan", "lossy-download"), dumbbell("plan", "lossy-download", "--case", last)
    assert (first.returncode, done.returncode, done.stderr) == (0, 0, "")
    assert last in done.stdout.splitlines()[1]
    assert last in first.stderr
    assert first.stdout != done.stdout


def test_a_title_can_not_break_out_of_the_script(dumbbell: Dumbbell, file: Path, tmp_path: Path) -> None:
    for title in ("innocent\\nrm -rf /", "innocent\\rrm -rf /", "innocent\\u2028touch broken"):
        file.write_text(f'title = "{title}"\n{GOOD}')
        done = dumbbell("plan", file.name)
        assert done.returncode == 2
        assert " title: " in done.stderr
        assert "mine.toml" in done.stderr
        assert not done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize(
    "name", ["; touch broken", "$(touch broken)", "`touch broken`", "../../broken", "a\\nb", "-rf", "a/b", ""]
)
def test_a_name_with_shell_syntax_or_a_path_is_refused(
    dumbbell: Dumbbell, file: Path, tmp_path: Path, name: str
) -> None:
    file.write_text(GOOD + f'name = "{name}"\n')
    done = dumbbell("plan", file.name)
    assert done.returncode == 2
    assert "flows.0.name: not a name" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_scenarios_are_listed_as_text_and_as_json(dumbbell: Dumbbell) -> None:
    listed = json.loads(dumbbell("scenarios", "--json").stdout)["scenarios"]
    assert [entry["name"] for entry in listed] == [*scenarios(), *with_programs()]
    assert all(entry["source"] and entry["title"] for entry in listed)
    shown = dumbbell("scenarios").stdout
    assert all(name in shown for name in [*scenarios(), *with_programs()])


def test_queues_are_listed_with_their_options(dumbbell: Dumbbell) -> None:
    listed = {entry["name"]: entry for entry in json.loads(dumbbell("list", "queues", "--json").stdout)["queues"]}
    options = [option["name"] for option in listed["codel"]["parameters"]]
    assert options == ["limit", "interval", "target", "ecn", "noecn", "ce_threshold"]
    assert "sim" in listed["codel"]["engines"]
    assert "sim" not in listed["skbprio"]["engines"]
    assert "rehash db max" in dumbbell("list", "queues").stdout


def test_a_manual_page_is_printed(dumbbell: Dumbbell) -> None:
    done = dumbbell("explain", "codel")
    assert done.returncode == 0
    for word in ("Controlled delay", "What it does", "ce_threshold"):
        assert word in done.stdout
    assert "<!--" not in done.stdout


def test_the_schema_of_a_file_is_printed(dumbbell: Dumbbell) -> None:
    assert json.loads(dumbbell("schema", "experiment").stdout)["title"] == "Dumbbell experiment"
    assert json.loads(dumbbell("schema", "sweep").stdout)["title"] == "Dumbbell sweep"
    wrong = dumbbell("schema", "result")
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "dumbbell: has no schema, got 'result'; choose from: experiment, sweep\n",
    )


def test_the_version_is_that_of_the_package(dumbbell: Dumbbell) -> None:
    assert dumbbell("--version").stdout == f"dumbbell {__version__}\n"
    module = subprocess.run([sys.executable, "-m", "dumbbell", "--version"], capture_output=True, text=True, check=True)
    assert module.stdout == dumbbell("--version").stdout


def test_a_closed_pipe_causes_no_traceback() -> None:
    done = subprocess.run(f"'{COMMAND}' list queues | true", shell=True, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


def test_cases_with_similar_names_get_separate_folders(file: Path) -> None:
    file.write_text(GOOD + "".join(f'[[cases]]\nname = "{name}"\nset = {{}}\n' for name in ("a-3", "a", "a?")))
    names = run_names([(case, 1) for case in load(file)])
    assert len(set(names)) == 3


def test_a_case_s_name_is_not_used_as_a_path(file: Path) -> None:
    hostile = ["../../etc", "/etc/passwd", "..", ".", "; reboot", "", "-rf", "x" * 500]
    file.write_text(GOOD + "".join(f'[[cases]]\nname = "{name}"\nset = {{}}\n' for name in hostile))
    names = run_names([(case, 1) for case in load(file)])
    assert len(set(names)) == len(hostile)
    assert all(
        set(name) & set("/\n; ") == set() and not name.startswith((".", "-")) and len(name) < 100 for name in names
    )


def test_every_figure_is_listed(dumbbell: Dumbbell) -> None:
    for arguments in (["plot", "--list"], ["list", "figures"]):
        done = dumbbell(*arguments)
        assert done.returncode == 0
        assert "throughput-delay" in done.stdout
