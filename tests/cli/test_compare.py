"""Two engines, kernels or results against each other: the JSON, the verdict, the status, and every refusal."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Dumbbell
from dumbbell.cli.compare import CompareOptions, compare_all
from dumbbell.errors import DumbbellError
from dumbbell.importers import Options, import_files
from importers.samples import SAMPLES
from synthetic import Bench, Flow, Rate

KEYS = set(
    "first second metrics one_sided not_in_log conditions settings agrees worst valid warnings wall_s answer method "
    "moved".split()
)
ROW = set("metric first second difference relative interval confidence allowed verdict".split())

EXPERIMENT = """
duration = "2s"
[path]
rtt = "20ms"
loss = "1%"
[path.bottleneck]
rate = "10mbit"
qdisc = "pfifo limit 20"
[[flows]]
cc = "cubic"
[[flows]]
cc = "reno"
"""
CLASSES = """
duration = "2s"
[path]
rtt = "100us"
[path.bottleneck]
rate = "10gbit"
[[flows]]
cc = "cubic"
access = { rate = "2500mbit", delay = "10ms", loss = "1%" }
[[flows]]
cc = "bbr"
access = { rate = "2500mbit", delay = "10ms", loss = "1%" }
"""
CASES = """
[[cases]]
set = { "path.rtt" = ["10ms", "40ms"] }
"""


def arm_folder(folder: Path, *rates_mbps: float, case: str | None = None, **manifest: Any) -> Path:
    """A folder of runs of one flow each, with seeds 1, 2, …"""
    for seed, rate in enumerate(rates_mbps, start=1):
        name = f"{case}-{seed}" if case else f"run-seed{seed}"
        bench = Bench([Flow("cubic", "cubic", rate_bps=rate * 1e6)], manifest={"seed": seed, "case": case} | manifest)
        bench.make_folder(folder / name)
    return folder


def compared(*targets: str | Path, good: bool = True, **options: Any) -> dict[str, Any]:
    """What `--json` prints, without a process of its own; `good` decides the command's status."""
    done = compare_all(CompareOptions([str(target) for target in targets], **options))
    assert (done.agrees is not False and done.valid) == good
    return done.as_json()


def step(late_bps: float) -> Rate:
    """10 Mbit/s, and another rate from 5 s on."""
    return lambda times: np.where(times > 5, late_bps, 10e6)


def rows(numbers: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in numbers["metrics"]}


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def similar(tmp_path: Path) -> tuple[Path, Path]:
    """10 Mbit/s on one engine, 10.2 on the other, each with some spread."""
    return (
        arm_folder(tmp_path / "sim", 9.99, 10.0, 10.01),
        arm_folder(tmp_path / "kernel", 10.19, 10.2, 10.21, engine="kernel", kernel={"name": "linux-6.12"}),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(EXPERIMENT)
    return path


@pytest.mark.slow
def test_json_has_exactly_the_contract_s_keys(dumbbell: Dumbbell, similar: tuple[Path, Path]) -> None:
    done = dumbbell("compare", *similar, "--json")
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    numbers = json.loads(done.stdout)
    assert set(numbers) == KEYS | {"format"}
    assert numbers["first"] == {
        "name": "sim", "engine": "sim", "kernel": None, "seeds": [1, 2, 3],
        "runs": [str(similar[0] / f"run-seed{seed}") for seed in (1, 2, 3)],
    }  # fmt: skip
    assert (numbers["second"]["name"], numbers["second"]["kernel"]) == ("kernel", "linux-6.12")
    assert (numbers["agrees"], numbers["valid"], numbers["one_sided"]) == (True, True, [])
    assert all(set(row) == ROW for row in numbers["metrics"])
    row = rows(numbers)["groups.cubic.throughput_mbps"]
    assert row["first"] == {"mean": pytest.approx(10.0), "sd": pytest.approx(0.01), "n": 3}
    assert (row["difference"], row["relative"]) == (pytest.approx(0.2), pytest.approx(0.02))
    assert row["interval"][0] < 0.2 < row["interval"][1]
    assert (row["allowed"], row["confidence"], row["verdict"]) == (pytest.approx(0.5), 0.95, "agrees")
    assert numbers["worst"] == "groups.cubic.throughput_mbps"


@pytest.mark.slow
def test_a_stated_tolerance_decides_verdict_and_status(dumbbell: Dumbbell, similar: tuple[Path, Path]) -> None:
    assert compared(*similar, tolerances=["groups.cubic.throughput_mbps=1%,0.3"])["agrees"]
    done = dumbbell("compare", *similar, "--tolerance", "groups.*.throughput_mbps=1%")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "differs: groups.cubic.throughput_mbps is 2.0 % above, 1.0 % allowed"


def test_the_text_output_is_a_table_with_the_verdict_as_last_line(
    dumbbell: Dumbbell, similar: tuple[Path, Path]
) -> None:
    lines = dumbbell("compare", *similar).stdout.splitlines()
    assert lines[1] == "sim, seeds 1..3; kernel (linux-6.12), seeds 1..3"
    assert lines[3].split()[:4] == ["metric", "sim", "kernel", "difference"]
    assert lines[4].split()[0] == "groups.cubic.throughput_mbps"
    assert lines[-1].startswith("agrees: groups.cubic.throughput_mbps is 2.0 % above, 5.0 % allowed")


def test_the_bootstrap_gives_the_same_difference_and_another_interval(similar: tuple[Path, Path]) -> None:
    welch, bootstrap = (
        rows(compared(*similar, method=how))["groups.cubic.throughput_mbps"] for how in ("welch", "bootstrap")
    )
    assert welch["difference"] == bootstrap["difference"]
    assert welch["interval"][0] < bootstrap["interval"][0] < 0.2


def test_one_seed_gives_numbers_and_no_verdict(dumbbell: Dumbbell, tmp_path: Path) -> None:
    arm_folder(tmp_path / "a", 10)
    for name, rates in (("b", (20,)), ("c", (20, 21))):
        arm_folder(tmp_path / name, *rates)
        numbers = compared("a", name)
        assert numbers["agrees"] is None
        assert {row["verdict"] for row in numbers["metrics"]} == {"shown"}
        assert rows(numbers)["groups.cubic.throughput_mbps"]["difference"] >= 10
        assert numbers["worst"] == "groups.cubic.throughput_mbps"
        done = dumbbell("compare", "a", name)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "not known: one seed; --seeds 1..5")


def test_one_run_per_arm_has_no_interval_and_a_warning(similar: tuple[Path, Path]) -> None:
    numbers = compared(*(folder / "run-seed2" for folder in similar))
    assert all(row["interval"] is None and row["first"]["sd"] is None for row in numbers["metrics"])
    assert [text.split(":")[0] for text in numbers["warnings"]] == ["sim has only one run", "kernel has only one run"]


def test_a_window_leaves_out_the_rest(tmp_path: Path) -> None:
    for name, late in (("a", 20e6), ("b", 10e6)):
        flow = Flow("cubic", "cubic", rate_bps=step(late))
        for seed in (1, 2):
            Bench([flow], manifest={"seed": seed}).make_folder(tmp_path / name / str(seed))
    assert not compared("a", "b", good=False)["agrees"]
    assert rows(compared("a", "b", end="5s"))["groups.cubic.throughput_mbps"]["difference"] == (
        pytest.approx(0, abs=0.1)
    )


def test_an_invalid_run_is_reported_and_fails(dumbbell: Dumbbell, tmp_path: Path) -> None:
    arm_folder(tmp_path / "good", 10, 10.1)
    arm_folder(tmp_path / "bad", 10, 10.1, valid=False, invalid=["it rained"])
    numbers = compared("good", "bad", good=False)
    assert (numbers["valid"], numbers["agrees"]) == (False, True)
    assert "invalid: bad/run-seed1: it rained" in numbers["warnings"]
    assert dumbbell("compare", "good", "bad").stdout.splitlines()[-1].startswith("invalid: at least one run failed")


def test_different_experiments_are_compared_with_a_warning(tmp_path: Path) -> None:
    arm_folder(
        tmp_path / "a", 10, 10.1, experiment={"path": {"rtt": "20ms"}, "flows": [{"cc": "bbr"}], "seeds": [1, 2]}
    )
    arm_folder(tmp_path / "b", 10, 10.1, experiment={"path": {"rtt": "30ms"}, "flows": [{"cc": "cubic"}], "seeds": [1]})
    assert compared("a", "b")["warnings"] == [
        "the experiments differ (a and b): path.rtt: 20ms and 30ms; flows.0.cc: bbr and cubic",
        "both arms have the same numbers with the same seeds: the change has no effect on this experiment",
    ]


def test_two_controllers_of_one_experiment_are_paired(file: Path) -> None:
    done = compare_all(CompareOptions([str(file)], controllers="cubic,reno", seeds="1..2", settings=("duration=1s",)))
    numbers = done.as_json()
    assert [numbers[arm]["name"] for arm in ("first", "second")] == ["cubic", "reno"]
    assert numbers["one_sided"] == []
    assert {row["metric"].split(".")[1] for row in numbers["metrics"] if row["metric"].startswith("groups.")} == {
        "cubic/reno",
        "cubic-2/reno-2",
    }
    assert numbers["answer"] in {"no change", "changed", "not known"}
    assert done.out is not None
    again = compared(done.out, good=done.agrees is not False)
    assert [again[arm]["name"] for arm in ("first", "second")] == ["cubic", "reno"]
    assert (again["metrics"], again["answer"]) == (numbers["metrics"], numbers["answer"])


def test_the_cases_of_one_folder_are_its_arms(tmp_path: Path) -> None:
    arm_folder(tmp_path / "run", 10, 10.1, case="plain")
    arm_folder(tmp_path / "run", 20, 20.1, case="tuned")
    assert compared("run", good=False)["answer"] == "changed"


def test_a_tolerance_for_one_group_holds_for_its_pair(tmp_path: Path) -> None:
    for name, cc, rates in (("a", "cubic", (10, 10.1)), ("b", "bbr", (12, 12.1))):
        for seed, rate in enumerate(rates, start=1):
            manifest = {"seed": seed, "experiment": {"flows": [{"cc": cc}]}}
            Bench([Flow(cc, cc, rate_bps=rate * 1e6)], manifest=manifest).make_folder(tmp_path / name / str(seed))
    assert compared("a", "b", good=False)["answer"] == "changed"
    loose = compared("a", "b", tolerances=["groups.bbr.throughput_mbps=30%"])
    assert rows(loose)["groups.cubic/bbr.throughput_mbps"]["verdict"] == "agrees"


def test_a_completion_time_of_one_arm_only_is_outside(dumbbell: Dumbbell, tmp_path: Path) -> None:
    for name, fct_s in (("a", 2.0), ("b", None)):
        flow = Flow("cubic", "cubic", bytes_asked=1000, fct_s=fct_s)
        for seed in (1, 2):
            Bench([flow], manifest={"seed": seed}).make_folder(tmp_path / name / str(seed))
    numbers = compared("a", "b", good=False)
    assert numbers["one_sided"] == ["groups.cubic.fct_s"]
    done = dumbbell("compare", "a", "b")
    assert done.stdout.splitlines()[-1].startswith("changed: groups.cubic.fct_s: missing in one arm")


@pytest.mark.slow
def test_compare_proposes_settings_that_give_a_run_the_log_s_conditions(dumbbell: Dumbbell, tmp_path: Path) -> None:
    logs = Path(__file__).parents[2] / "examples" / "logs"
    import_files([logs / "iperf3-bbr.txt", logs / "iperf3-cubic.txt"], tmp_path / "log", Options())
    (tmp_path / "classes.toml").write_text(CLASSES)
    assert dumbbell("run", "classes.toml", "--out", "run").returncode == 0
    numbers = compared("log", "run")
    options = [each["option"] for each in numbers["settings"]]
    assert options == [
        "--set duration=60s", "--set path.mtu=4200", "--set path.offloads=true", "--set tcp.rmem_max=6291456",
        "--set tcp.wmem_max=4194304",
    ]  # fmt: skip
    assert set(numbers["settings"][0]) == {"key", "run", "value", "because", "option"}
    assert {each["name"]: each["value"] for each in numbers["conditions"]}["mtu_bytes"] == 4200
    assert all(set(each) == {"name", "value", "evidence", "low", "high"} for each in numbers["conditions"])
    assert "groups.bbr.rtt_ms.mean" in numbers["not_in_log"]
    done = dumbbell("compare", "run", "log", "-o", "page.html")
    lines = done.stdout.splitlines()
    assert " ".join(options) in lines
    assert "Settings that give sim the log's conditions:" in lines
    assert any(line.startswith("MTU ") and " 4,200 bytes " in line for line in lines)
    page = (tmp_path / "page.html").read_text()
    assert all(text in page for text in ("Conditions inferred from the log", " ".join(options)))


def test_a_log_is_compared_with_each_case(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(SAMPLES["ss"])
    import_files([tmp_path / "log"], tmp_path / "theirs", Options())
    for case in ("slow", "fast"):
        arm_folder(tmp_path / "mine", 10, case=case)
    for targets in (("theirs", "mine"), ("mine", "theirs")):
        numbers = compared(*targets)
        assert [case["name"] for case in numbers["cases"]] == ["fast", "slow"]
        assert sorted(len(numbers[key]["runs"]) for key in ("first", "second")) == [1, 2]


def test_two_runs_have_no_conditions_of_a_log(similar: tuple[Path, Path]) -> None:
    numbers = compared(*similar)
    assert (numbers["conditions"], numbers["settings"], numbers["not_in_log"]) == ([], [], [])


def test_each_case_is_compared(dumbbell: Dumbbell, tmp_path: Path) -> None:
    for name, fast in (("a", 20.0), ("b", 30.0)):
        arm_folder(tmp_path / name, 10, 10.1, case="slow")
        arm_folder(tmp_path / name, fast, fast + 0.1, case="fast")
    numbers = compared("a", "b", good=False)
    assert [(case["name"], case["agrees"]) for case in numbers["cases"]] == [("fast", False), ("slow", True)]
    assert set(numbers) == (
        KEYS - {"metrics", "one_sided", "not_in_log", "conditions", "settings", "method", "moved"}
    ) | {
        "cases",
        "worst_case",
    }
    assert set(numbers["cases"][0]) == (KEYS - {"wall_s"}) | {"name"}
    assert (numbers["worst"], numbers["worst_case"]) == ("groups.cubic.throughput_mbps", "fast")
    assert (numbers["first"]["seeds"], len(numbers["first"]["runs"])) == ([1, 2], 4)
    last = dumbbell("compare", "a", "b").stdout.splitlines()[-1]
    assert last.startswith("changed in 1 of 2 cases; fast: changed: groups.cubic.throughput_mbps is 49.")


def test_a_case_of_one_arm_only_is_reported_and_fails(dumbbell: Dumbbell, tmp_path: Path) -> None:
    for name, cases in (("a", ("one", "two", "three")), ("b", ("one", "two"))):
        for case in cases:
            arm_folder(tmp_path / name, 10, case=case)
    numbers = compared("a", "b", good=False)
    assert not numbers["agrees"]
    assert "the case 'three' is only in the first arm" in numbers["warnings"]
    assert "the case 'three' is only in the first arm" in dumbbell("compare", "a", "b").stdout


@pytest.mark.slow
def test_a_page_is_written(dumbbell: Dumbbell, similar: tuple[Path, Path], tmp_path: Path) -> None:
    done = dumbbell("compare", *similar, "-o", "page.html")
    assert (done.returncode, done.stderr) == (0, "wrote page.html\n")
    assert "groups.<wbr>cubic.<wbr>throughput_mbps" in (tmp_path / "page.html").read_text()
    assert dumbbell("compare", *similar, "-o", "nowhere/page.html").returncode == 2


def test_runs_with_two_queue_lengths_differ_in_the_queue(dumbbell: Dumbbell, file: Path) -> None:
    for name, limit in (("a", 20), ("b", 200)):
        settings = ("--set", f"path.bottleneck.qdisc=pfifo limit {limit}", "--set", "path.loss=0%")
        done = dumbbell("run", file.name, "--seed", "1..2", *settings, "--out", name)
        assert done.returncode == 0, done.stderr
    numbers = compared("a", "b", good=False)
    assert "path.bottleneck.qdisc: pfifo limit 20 and pfifo limit 200" in numbers["warnings"][0]
    assert rows(numbers)["queue.packets.mean"]["verdict"] == "differs"
    assert "all 2 seeds of a gave the same numbers: nothing in the experiment is random" in numbers["warnings"]
    last = dumbbell("compare", "a", "b").stdout.splitlines()[-1]
    assert last.endswith("; all seeds gave the same numbers: nothing in the experiment is random")


@pytest.mark.kernel
def test_an_experiment_on_the_simulator_and_on_the_kernel(dumbbell: Dumbbell, file: Path, tmp_path: Path) -> None:
    file.write_text(EXPERIMENT + CASES)
    arguments = (file.name, "--seeds", "1..2", "--engines", "sim,kernel", "--out", "both", "-o", "page.html", "--json")
    done = dumbbell("compare", *arguments, "--tolerance", "groups.*.throughput_mbps=30%")
    numbers = json.loads(done.stdout)
    assert done.returncode == (0 if numbers["agrees"] else 1)
    assert [case["name"] for case in numbers["cases"]] == ["10ms", "40ms"]
    assert numbers["valid"]
    for case in numbers["cases"]:
        assert rows(case)["groups.cubic.throughput_mbps"]["verdict"] in {"agrees", "inconclusive"}
    assert (numbers["first"]["engine"], numbers["second"]["engine"]) == ("sim", "kernel")
    assert numbers["second"]["kernel"]
    assert sorted(folder.name for folder in (tmp_path / "both").iterdir()) == ["kernel", "sim"]
    assert sorted(folder.name for folder in (tmp_path / "both" / "sim").iterdir()) == [
        "10ms-seed1", "10ms-seed2", "40ms-seed1", "40ms-seed2",
    ]  # fmt: skip
    results = json.loads(dumbbell("compare", "both/sim", "both/kernel", "--json").stdout)
    assert [case["name"] for case in results["cases"]] == ["10ms", "40ms"]
    assert 'id="figure-1"' in (tmp_path / "page.html").read_text()


@pytest.mark.slow(keep="options4---kernels: the number of kernels is not that of kernel engines, 1")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (CompareOptions(["cyclic"], engines="sim,magic"), "--engines: unknown engine, got 'magic'; available: sim"),
        (
            CompareOptions(["cyclic"], engines="sim"),
            "--engines: compare needs two engines, got 'sim'; such as sim,kernel",
        ),
        (CompareOptions(["cyclic"], controllers="bbr"), "--cc: compare needs two controllers, got 'bbr'"),
        (
            CompareOptions(["cyclic"], controllers="bbr,cubic", engines="sim,kernel"),
            "--engines: two controllers are compared on one engine and one kernel",
        ),
        (
            CompareOptions(["cyclic"], engines="sim,sim"),
            "--engines: both arms are the same, got 'sim,sim'; name two, such as",
        ),
        (CompareOptions(["cyclic"], kernels="a,a"), "--kernels: both arms are the same, got 'a,a'"),
        (
            CompareOptions(["cyclic"], kernels="a,b", engines="sim,kernel"),
            "--kernels: the number of kernels is not that of kernel engines, 1",
        ),
        (CompareOptions(["cyclic"], seeds="many"), "--seeds: not a seed, got 'many'"),
        (
            CompareOptions(["cyclic"], tolerances=["ping_ms.mean"]),
            "--tolerance: not a tolerance, got 'ping_ms.mean'; write METRIC=3%",
        ),
        (
            CompareOptions(["cyclic"], tolerances=["ping.mean=3%"]),
            "--tolerance: no metric matches, got 'ping.mean'; choose from:",
        ),
        (
            CompareOptions(["cyclic"], method="guess"),
            "--ci: unknown method, got 'guess'; choose from: welch, bootstrap",
        ),
        (CompareOptions(["cylcic"]), "no scenario is called 'cylcic'; did you mean 'cyclic'?"),
        (CompareOptions(["a"]), "a: 2 runs of one experiment; name a second folder to compare them with"),
        (CompareOptions(["a", "b", "c"]), "compare needs one experiment or two results"),
        (CompareOptions(["a", "a"]), "a/run-seed1: is in both arms; name two different results"),
        (CompareOptions(["a", "a/run-seed1"]), "run-seed1: is in both arms"),
        (CompareOptions(["a", "nowhere"]), "nowhere: no such result folder"),
        (
            CompareOptions(["a", "empty"]),
            "empty: neither a result folder nor a folder of result folders: it has no run.json",
        ),
        (
            CompareOptions(["a", "b"], seeds="1..2"),
            "--seeds: this option needs an experiment; leave it out to compare two results",
        ),
        (CompareOptions(["a", "b"], engines="sim,kernel"), "--engines: this option needs an experiment"),
        (
            CompareOptions(["a", "b"], start="20s"),
            "--from or --to: the window is empty, got '20s .. the end'",
        ),
        (CompareOptions(["a", "mixed"]), "are different experiments in one arm: path.rtt: 20ms and 30ms"),
        (CompareOptions(["a", "engines"]), "are in one arm, but ran on sim and kernel"),
        (CompareOptions(["a", "twice"]), "twice: seed 1 occurs 2 times"),
        (
            CompareOptions(["cased", "others"]),
            "no case is in both arms: 'x', 'y' in the first, 'z', 'w' in the second",
        ),
    ],
)
def test_an_invalid_comparison_is_an_error_with_status_2(tmp_path: Path, options: CompareOptions, message: str) -> None:
    arm_folder(tmp_path / "a", 10, 11, experiment=SHORT)
    arm_folder(tmp_path / "b", 10, 11, experiment=SHORT)
    (tmp_path / "empty").mkdir()
    for name, manifests in SEVERAL.items():
        for seed, manifest in enumerate(manifests, start=1):
            complete = {"seed": seed, "experiment": SHORT} | manifest
            Bench([Flow("cubic", "cubic")], manifest=complete).make_folder(tmp_path / name / str(seed))
    with pytest.raises(DumbbellError) as error:
        compare_all(options)
    assert message in str(error.value)
    assert error.value.exit_status == 2
    assert not (tmp_path / "runs").exists()


SHORT = {"path": {"rtt": "20ms"}}
SEVERAL: dict[str, list[dict[str, Any]]] = {
    "mixed": [{}, {"experiment": {"path": {"rtt": "30ms"}}}],
    "engines": [{}, {"engine": "kernel"}],
    "twice": [{}, {"seed": 1}],
    "cased": [{"case": "x"}, {"case": "y"}],
    "others": [{"case": "z"}, {"case": "w"}],
}


def test_an_error_of_compare_is_one_line(dumbbell: Dumbbell, tmp_path: Path) -> None:
    done = dumbbell("compare", "nowhere", "nowhere-else")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "dumbbell: nowhere: no such result folder\n")
    (tmp_path / "ss.log").write_text("")
    done = dumbbell("compare", "ss.log", "mine", cwd=tmp_path)
    assert done.stderr == (
        "dumbbell: ss.log: a file, not a result folder; import a log first: dumbbell import ss.log --out log\n"
    )
