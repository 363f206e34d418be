"""`dumbbell evaluate`: verdicts, repeatable budgets, refusals, deliberately bad controllers, the page."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

Dumbbell = Callable[..., CompletedProcess[str]]
EXAMPLES = Path(__file__).parents[2] / "examples"
FEW = "standing-queue,use-four,harm-deep"


def verdicts(done: CompletedProcess[str]) -> dict[str, str]:
    (found,) = json.loads(done.stdout)["evaluations"]
    return {each["name"]: each["verdict"] for section in found["sections"] for each in section["criteria"]}


@pytest.mark.slow
def test_cubic_passes_and_every_section_is_listed(dumbbell: Dumbbell) -> None:
    done = dumbbell("evaluate", "cubic", "--only", FEW, "--against", "reno", "--max-runs", "60", "--json")
    assert verdicts(done)["standing-queue"] == "pass"
    assert verdicts(done)["use-four"] == "pass"
    sections: list[dict[str, Any]] = json.loads(done.stdout)["evaluations"][0]["sections"]
    assert len(sections) == 25
    multipath = next(each for each in sections if each["number"] == "7.10")
    assert not multipath["tested"]
    assert multipath["not_tested"]


@pytest.mark.slow
def test_a_window_of_a_thousand_packets_fails_for_harm_and_standing_queue(dumbbell: Dumbbell) -> None:
    done = dumbbell("evaluate", "fixed", "--parameter", "cwnd=1000", "--only", FEW, "--against", "cubic", "--json")
    assert done.returncode == 1
    found = verdicts(done)
    assert (found["standing-queue"], found["harm-deep/cubic"]) == ("fail", "fail")


def test_two_packets_fail_for_utilization(dumbbell: Dumbbell) -> None:
    done = dumbbell("evaluate", "fixed", "--parameter", "cwnd=2", "--only", FEW, "--against", "cubic", "--json")
    assert verdicts(done)["use-four"] == "fail"
    assert verdicts(done)["harm-deep/cubic"] == "pass"


@pytest.mark.slow
def test_the_same_number_of_runs_gives_the_same_answer(dumbbell: Dumbbell) -> None:
    def answer(jobs: str) -> dict[str, Any]:
        done = dumbbell(
            "evaluate", "reno", "--only", "use-one,overshoot", "--max-runs", "9", "--jobs", jobs, "--json"
        )  # fmt: skip
        (found,) = json.loads(done.stdout)["evaluations"]
        return {key: value for key, value in found.items() if key != "wall_s"}

    first = answer("1")
    assert first == answer("2")
    assert first["runs"] == 9
    assert first["ended"] == "budget" or first["runs"] <= 9


def test_a_budget_that_ends_early_leaves_not_known(dumbbell: Dumbbell) -> None:
    done = dumbbell("evaluate", "cubic", "--only", "use-one", "--max-runs", "3", "--json")
    assert verdicts(done) == {"use-one": "not known"}
    assert done.returncode == 0


@pytest.mark.slow
def test_two_controllers_side_by_side_on_a_page(dumbbell: Dumbbell, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = dumbbell("evaluate", "reno", "cubic", "--only", "use-one", "--max-runs", "6", "-o", str(page))
    text = page.read_text(encoding="utf-8")
    assert "Evaluation by RFC 9743: reno and cubic" in text
    assert "7.10 Multipath Transport" in text
    assert "dumbbell run evaluate/alone --engine sim --seed 1 --set" in text
    assert "not tested" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["cubic", "--only", "no-such"], "unknown criterion"),
        (["cubic", "--engine", "host"], "no such engine"),
        (["cubic", "--runs", "3", "--full"], "only one of these"),
        (["tcp_mine.c", "--engine", "sim"], "a C file runs in a kernel"),
        (["cubic", "--budget", "soon"], "--budget"),
        (["cubic", "--parameter", "cwnd"], "not a parameter"),
    ],
)
def test_mistakes_are_refused(dumbbell: Dumbbell, arguments: list[str], problem: str) -> None:
    done = dumbbell("evaluate", *arguments)
    assert done.returncode == 2
    assert problem in done.stderr
    assert done.stdout == ""


def test_a_command_of_the_page_runs(dumbbell: Dumbbell) -> None:
    done = dumbbell("run", "evaluate/alone", "--set", "flows.tested.cc=reno", "--set", "duration=2s", "--json")
    assert json.loads(done.stdout)["flows"][0]["cc"] == "reno"


@pytest.mark.slow
@pytest.mark.kernel
def test_c_files_are_judged_on_the_kernel(dumbbell: Dumbbell) -> None:
    arguments = ("--only", FEW, "--against", "cubic", "--runs", "60", "--json")
    thousand = verdicts(dumbbell("evaluate", str(EXAMPLES / "tcp_thousand.c"), *arguments))
    assert (thousand["standing-queue"], thousand["harm-deep/cubic"]) == ("fail", "fail")
    assert verdicts(dumbbell("evaluate", str(EXAMPLES / "tcp_two.c"), *arguments))["use-four"] == "fail"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuchcc"], "CC: the simulator has no congestion control with this name, got 'nosuchcc'"),
        (["cubic", "--against", "reno,nosuch"], "--against: the simulator has no congestion control with this name"),
        (["cubic", "--kernel", "nosuch"], "--kernel: the simulator runs no kernel, got 'nosuch'"),
        (["cubic", "--parameter", "foo=1"], "cubic: no parameter 'foo'; its parameters: initial_ssthresh"),
        (["cubic", "--parameter", "beta=99999999"], "parameter 'beta' is 99999999; it takes an integer from 1 to 1023"),
    ],
)
def test_what_the_engine_lacks_is_refused_before_any_run(
    dumbbell: Dumbbell, arguments: list[str], message: str
) -> None:
    done = dumbbell("evaluate", *arguments, "--max-runs", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.kernel
def test_what_the_kernel_lacks_is_refused_before_any_run(dumbbell: Dumbbell) -> None:
    for arguments in (["bbr3"], ["cubic", "--kernel", "nosuch"], ["cubic", "--parameter", "foo=1"]):
        done = dumbbell("evaluate", *arguments, "--engine", "kernel", "--max-runs", "1")
        assert (done.returncode, done.stdout) == (2, "")
        assert arguments[-1].split("=")[0] in done.stderr
