"""The tour's statements hold in the simulator: every step at its start, at its answer, and next to it.

The page has its own evaluator of expectations, `ui/src/tour/expectation.ts`. `ui/src/tour/expectations.json` tests both
evaluators: vitest the page's, this module the Python one.
"""

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dumbbell import _sim
from dumbbell.analysis.expect import Reader, parse_expectation
from dumbbell.analysis.summary import measures
from dumbbell.engines.sim import Simulator
from dumbbell.plots import available
from dumbbell.results.result import Run
from dumbbell.spec.built_in import page
from dumbbell.web.handlers import Limits
from dumbbell.web.live_figures import case_of, simulate

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "ui" / "src" / "tour"
STEPS: dict[str, Any] = {
    step["experiment"]: step for step in json.loads((TOUR / "steps.json").read_text(encoding="utf-8"))
}
LIVE_BITS = 30 * 50e6
"""The largest experiment that the page simulates live while a control moves: 30 s at 50 Mbit/s."""
NS = 1_000_000_000

steps = pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)


def text_of(step: dict[str, Any]) -> str:
    return (TOUR / "experiments" / f"{step['experiment']}.toml").read_text(encoding="utf-8")


@cache
def run_of(text: str, seed: int = 1) -> Run:
    return simulate(case_of(text), seed, Limits(live_s=120).deadline())


def edited(text: str, edit: dict[str, Any]) -> str:
    """The text with one key set, as the page's controls do."""
    document: Any = tomllib.loads(text)
    *path, last = (int(part) if part.isdecimal() else part for part in edit["key"].split("."))
    node = document
    for part in path:
        node = node.setdefault(part, {}) if isinstance(node, dict) else node[part]
    if edit.get("value") is None:
        node.pop(last, None)
    else:
        node[last] = edit["value"]
    return _sim.write_toml(document)


def run_step(step: dict[str, Any], edit: dict[str, Any] | None = None) -> Run:
    return run_of(edited(text_of(step), edit) if edit else text_of(step))


def found(step: dict[str, Any], run: Run) -> bool:
    """Return the verdict on the numbers that the page gets; `expect` of the command line must give the same."""
    numbers, reader = measures(run), Reader(run)
    verdicts = []
    for entry in step["expect"]:
        expectation = parse_expectation(entry["test"])
        verdict = expectation.holds(numbers.get(expectation.metric.name))
        if numbers.get(expectation.metric.name) is not None:
            assert reader.check([entry["test"]])[0].passed == verdict
        verdicts.append(verdict)
    return all(verdicts)


@pytest.mark.slow(keep="bdp")
@steps
def test_a_step_is_solved_by_its_answer_and_not_at_its_start_or_next_to_it(step: dict[str, Any]) -> None:
    assert not found(step, run_step(step))
    assert found(step, run_step(step, step["answer"]))
    assert step["wrong"]
    for edit in step["wrong"]:
        assert not found(step, run_step(step, edit)), edit


@steps
def test_a_step_has_a_text_for_every_setting_of_its_control(step: dict[str, Any]) -> None:
    for edit in (None, *step["wrong"]):
        numbers = measures(run_step(step, edit))
        unmet = next(one for one in step["expect"] if not _holds(one, numbers))
        expectation = parse_expectation(unmet["test"])
        value = numbers.get(expectation.metric.name)
        off = "unknown" if value is None else "low" if value <= (expectation.value or 0) else "high"
        assert set(metrics_in(unmet[off])) <= set(numbers), (off, unmet)
    assert set(metrics_in(step["found"])) <= set(measures(run_step(step, step["answer"])))


@steps
def test_a_step_is_small_enough_to_simulate_live_and_its_panels_can_be_drawn(step: dict[str, Any]) -> None:
    experiment = case_of(text_of(step)).experiment
    bottleneck = experiment.path.bottleneck
    assert bottleneck is not None
    assert bottleneck.rate is not None
    assert bottleneck.rate * experiment.duration / NS <= LIVE_BITS
    for edit in (None, step["answer"]):
        run = run_step(step, edit)
        assert run.manifest.valid
        assert set(available(run, tuple(step["panels"]))) == set(step["panels"])


@steps
def test_the_references_of_a_step_exist(step: dict[str, Any]) -> None:
    for reference in step["read"]:
        if reference.startswith("dumbbell explain "):
            page(reference.removeprefix("dumbbell explain "))
        elif reference.startswith("docs/"):
            assert (ROOT / reference).is_file()
    control = step["control"]
    if control["kind"] == "controller":
        assert set(control["choices"]) <= set(Simulator.controllers())


@pytest.mark.parametrize(("text", "value", "holds"), json.loads((TOUR / "expectations.json").read_text()))
def test_python_and_the_page_evaluate_expectations_alike(text: str, value: float | None, holds: bool) -> None:
    assert parse_expectation(text).holds(value) is holds


def test_bdp_the_throughput_grows_with_the_window_up_to_100_packets_and_only_the_queue_beyond() -> None:
    at = {window: measures(run_step(STEPS["bdp"], _window(window))) for window in (25, 50, 100, 200)}
    rate = {window: numbers["groups.fixed.throughput_mbps"] for window, numbers in at.items()}
    assert rate[50] == pytest.approx(2 * rate[25], rel=0.02)
    assert rate[100] == pytest.approx(4 * rate[25], rel=0.02)
    assert rate[200] == pytest.approx(rate[100], rel=0.01)
    assert at[200]["queue.delay_ms.mean"] == pytest.approx(50, rel=0.02)


def test_codel_is_the_only_answer_among_the_offered_queues_and_pie_is_second() -> None:
    step = STEPS["codel"]
    runs = {
        kind: run_step(step, {"key": "path.bottleneck.qdisc", "value": f"{kind} limit 10bdp"})
        for kind in step["control"]["choices"]
    }
    assert [kind for kind, run in runs.items() if found(step, run)] == ["codel"]
    delays = {kind: measures(run)["queue.delay_ms.mean"] for kind, run in runs.items()}
    assert sorted(delays, key=delays.__getitem__)[:2] == ["codel", "pie"]
    assert delays["pie"] == pytest.approx(15, rel=0.2)


@pytest.mark.parametrize("percent", [0.25, 1, 4])
def test_loss_cubics_window_is_about_1_2_by_the_root_of_the_loss(percent: float) -> None:
    numbers = measures(run_step(STEPS["loss"], {"key": "path.loss", "value": f"{percent}%"}))
    assert numbers["groups.cubic.cwnd_packets.mean"] == pytest.approx(1.2 / (percent / 100) ** 0.5, rel=0.3)


def test_loss_bbr_keeps_most_of_its_rate_until_about_15_percent() -> None:
    rate = {
        loss: measures(run_step(STEPS["loss"], {"key": "path.loss", "value": loss}))["groups.bbr.throughput_mbps"]
        for loss in ("1%", "12%", "18%")
    }
    assert rate["12%"] > 0.75 * rate["1%"] > 0.5 * rate["1%"] > rate["18%"]


def test_turns_the_lead_changes_about_every_ten_seconds() -> None:
    run = run_step(STEPS["turns"], STEPS["turns"]["answer"])
    shares = [
        measures(run, (start * NS, (start + 10) * NS), ("groups.cubic.share",))["groups.cubic.share"]
        for start in range(1, 61, 10)
    ]
    assert [share > 0.5 for share in shares] == [True, False] * 3


def test_turns_probe_rtt_finds_the_path_empty_once_a_period() -> None:
    run = run_step(STEPS["turns"], STEPS["turns"]["answer"])
    flow = run.flows.filter(run.flows["flow"] == "bbr-1").sort("time_ns")
    empty = flow.filter(flow["rtt_ns"] < 30_000_000)["time_ns"].to_numpy() / NS
    visits = [time for at, time in enumerate(empty) if time > 5 and (at == 0 or time - empty[at - 1] > 5)]
    assert [round(time / 20) for time in visits] == [1, 2, 3]


@pytest.mark.slow(keep="1")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_bbr3_leaves_cubic_more_than_version_1_and_less_than_version_2(seed: int) -> None:
    texts = {
        cc: edited(text_of(STEPS["bbr3"]), {"key": "flows.0.cc", "value": cc})
        for cc in STEPS["bbr3"]["control"]["choices"]
    }
    share = {cc: measures(run_of(text, seed))["groups.cubic.share"] for cc, text in texts.items()}
    assert share["bbr"] < 0.1 < 0.25 < share["bbr3"] < 0.5 < share["bbr2"]


def test_bbr3_retransmits_less_than_a_fifth_of_version_1() -> None:
    rate = {
        cc: measures(run_step(STEPS["bbr3"], {"key": "flows.0.cc", "value": cc}))["groups.BBR.retransmit_rate"]
        for cc in ("bbr", "bbr3")
    }
    assert rate["bbr3"] < 0.2 * rate["bbr"]


@pytest.mark.slow
def test_hpcc_is_the_only_answer_among_all_controllers() -> None:
    step = STEPS["hpcc"]
    solving = [cc for cc in Simulator.controllers() if found(step, run_step(step, {"key": "flows.0.cc", "value": cc}))]
    assert solving == ["hpcc"]


def _window(packets: int) -> dict[str, Any]:
    return {"key": "flows.0.cc_parameters.cwnd", "value": packets}


def _holds(entry: dict[str, Any], numbers: dict[str, float]) -> bool:
    expectation = parse_expectation(entry["test"])
    return expectation.holds(numbers.get(expectation.metric.name))


def metrics_in(text: str) -> list[str]:
    """Return the metrics that a text shows."""
    return re.findall(r"\{([^{}:]+):", text)
