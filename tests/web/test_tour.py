"""The tour says nothing that the simulator doesn't show: every step at its start, at its answer, and beside it.

The page judges with an evaluator of its own (`ui/src/tour/expectation.ts`); both are held against
`ui/src/tour/expectations.json`, there by vitest, here by the project's own grammar.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dumbbell.analysis import measures
from dumbbell.analysis.expect import Reader
from dumbbell.engines.sim.sim_engine import Simulator
from dumbbell.plots import available
from dumbbell.results.result import Run
from dumbbell.spec.expectation import parse_expectation
from dumbbell.spec.pages import page
from dumbbell.web.live_figures import case_of, simulated
from dumbbell.web.page_limits import Limits
from dumbbell.web.text import Edit, edited

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "ui" / "src" / "tour"
STEPS: dict[str, Any] = {
    step["experiment"]: step for step in json.loads((TOUR / "steps.json").read_text(encoding="utf-8"))
}
LIVE_BITS = 30 * 50e6
"""What the page promises to follow a control with: 30 s at 50 Mbit/s."""
NS = 1_000_000_000

steps = pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)


def text_of(step: dict[str, Any]) -> str:
    return (TOUR / "experiments" / f"{step['experiment']}.toml").read_text(encoding="utf-8")


@cache
def played(text: str, seed: int = 1) -> Run:
    return simulated(case_of(text), seed, Limits(live_s=120).patience())


def turned(step: dict[str, Any], edit: dict[str, Any] | None = None) -> Run:
    return played(edited(text_of(step), [Edit(**edit)] if edit else []))


def found(step: dict[str, Any], run: Run) -> bool:
    """The verdict, from the numbers that the page gets; the command's `expect` must say the same of the run."""
    numbers, reader = measures(run), Reader(run)
    verdicts = []
    for expected in step["expect"]:
        wanted = parse_expectation(expected["test"])
        verdict = wanted.holds(numbers.get(wanted.metric.name))
        if numbers.get(wanted.metric.name) is not None:
            assert reader.check([expected["test"]])[0].passed == verdict
        verdicts.append(verdict)
    return all(verdicts)


@steps
def test_a_step_is_not_found_at_its_start_found_at_its_answer_and_not_beside_it(step: dict[str, Any]) -> None:
    assert not found(step, turned(step))
    assert found(step, turned(step, step["answer"]))
    assert step["wrong"]
    for edit in step["wrong"]:
        assert not found(step, turned(step, edit)), edit


@steps
def test_wherever_the_control_stands_the_step_has_words_for_it(step: dict[str, Any]) -> None:
    for edit in (None, *step["wrong"]):
        numbers = measures(turned(step, edit))
        unmet = next(one for one in step["expect"] if not _holds(one, numbers))
        wanted = parse_expectation(unmet["test"])
        value = numbers.get(wanted.metric.name)
        off = "unknown" if value is None else "low" if value <= (wanted.value or 0) else "high"
        assert set(named(unmet[off])) <= set(numbers), (off, unmet)
    assert set(named(step["found"])) <= set(measures(turned(step, step["answer"])))


@steps
def test_a_step_is_light_enough_for_the_live_path_and_its_panels_can_be_drawn(step: dict[str, Any]) -> None:
    experiment = case_of(text_of(step)).experiment
    bottleneck = experiment.path.bottleneck
    assert bottleneck is not None
    assert bottleneck.rate is not None
    assert bottleneck.rate * experiment.duration / NS <= LIVE_BITS
    for edit in (None, step["answer"]):
        run = turned(step, edit)
        assert run.manifest["valid"]
        assert set(available(run, tuple(step["panels"]))) == set(step["panels"])


@steps
def test_what_a_step_refers_to_is_there(step: dict[str, Any]) -> None:
    for where in step["read"]:
        if where.startswith("dumbbell explain "):
            page(where.removeprefix("dumbbell explain "))
        elif where.startswith("docs/"):
            assert (ROOT / where).is_file()
    control = step["control"]
    if control["kind"] == "controller":
        assert set(control["choices"]) <= set(Simulator.controllers())


@pytest.mark.parametrize(("text", "value", "holds"), json.loads((TOUR / "expectations.json").read_text()))
def test_the_page_and_the_command_read_expectations_alike(text: str, value: float | None, holds: bool) -> None:
    assert parse_expectation(text).holds(value) is holds


def test_bdp_the_throughput_grows_with_the_window_up_to_100_packets_and_only_the_queue_beyond() -> None:
    at = {window: measures(turned(STEPS["bdp"], _window(window))) for window in (25, 50, 100, 200)}
    rate = {window: numbers["groups.fixed.throughput_mbps"] for window, numbers in at.items()}
    assert rate[50] == pytest.approx(2 * rate[25], rel=0.02)
    assert rate[100] == pytest.approx(4 * rate[25], rel=0.02)
    assert rate[200] == pytest.approx(rate[100], rel=0.01)
    assert at[200]["queue.delay_ms.mean"] == pytest.approx(50, rel=0.02)


def test_codel_is_the_only_one_of_the_queues_on_offer_and_pie_the_second() -> None:
    step = STEPS["codel"]
    runs = {
        kind: turned(step, {"key": "path.bottleneck.qdisc", "value": f"{kind} limit 10bdp"})
        for kind in step["control"]["choices"]
    }
    assert [kind for kind, run in runs.items() if found(step, run)] == ["codel"]
    waits = {kind: measures(run)["queue.delay_ms.mean"] for kind, run in runs.items()}
    assert sorted(waits, key=waits.__getitem__)[:2] == ["codel", "pie"]
    assert waits["pie"] == pytest.approx(15, rel=0.2)


@pytest.mark.parametrize("percent", [0.25, 1, 4])
def test_loss_cubics_window_is_about_1_2_by_the_root_of_the_loss(percent: float) -> None:
    numbers = measures(turned(STEPS["loss"], {"key": "path.loss", "value": f"{percent}%"}))
    assert numbers["groups.cubic.cwnd_packets.mean"] == pytest.approx(1.2 / (percent / 100) ** 0.5, rel=0.3)


def test_loss_bbr_keeps_most_of_its_rate_until_about_15_percent() -> None:
    rate = {
        loss: measures(turned(STEPS["loss"], {"key": "path.loss", "value": loss}))["groups.bbr.throughput_mbps"]
        for loss in ("1%", "12%", "18%")
    }
    assert rate["12%"] > 0.75 * rate["1%"] > 0.5 * rate["1%"] > rate["18%"]


def test_turns_each_group_leads_for_about_ten_seconds() -> None:
    run = turned(STEPS["turns"], STEPS["turns"]["answer"])
    shares = [
        measures(run, (start * NS, (start + 10) * NS), ("groups.cubic.share",))["groups.cubic.share"]
        for start in range(1, 61, 10)
    ]
    assert [share > 0.5 for share in shares] == [True, False] * 3


def test_turns_probe_rtt_finds_the_path_empty_once_a_turn() -> None:
    run = turned(STEPS["turns"], STEPS["turns"]["answer"])
    flow = run.flows.filter(run.flows["flow"] == "bbr-1").sort("time_ns")
    empty = flow.filter(flow["rtt_ns"] < 30_000_000)["time_ns"].to_numpy() / NS
    visits = [time for at, time in enumerate(empty) if time > 5 and (at == 0 or time - empty[at - 1] > 5)]
    assert [round(time / 20) for time in visits] == [1, 2, 3]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_bbr3_stands_between_version_1_which_takes_all_and_version_2_which_gives_way(seed: int) -> None:
    texts = {
        cc: edited(text_of(STEPS["bbr3"]), [Edit(key="flows.0.cc", value=cc)])
        for cc in STEPS["bbr3"]["control"]["choices"]
    }
    share = {cc: measures(played(text, seed))["groups.cubic.share"] for cc, text in texts.items()}
    assert share["bbr"] < 0.1 < 0.25 < share["bbr3"] < 0.5 < share["bbr2"]


def test_bbr3_repeats_a_fraction_of_what_version_1_repeats() -> None:
    repeated = {
        cc: measures(turned(STEPS["bbr3"], {"key": "flows.0.cc", "value": cc}))["groups.BBR.retransmit_rate"]
        for cc in ("bbr", "bbr3")
    }
    assert repeated["bbr3"] < 0.2 * repeated["bbr"]


def test_hpcc_is_the_only_one_of_all_controllers() -> None:
    step = STEPS["hpcc"]
    alone = [cc for cc in Simulator.controllers() if found(step, turned(step, {"key": "flows.0.cc", "value": cc}))]
    assert alone == ["hpcc"]


def _window(packets: int) -> dict[str, Any]:
    return {"key": "flows.0.cc_parameters.cwnd", "value": packets}


def _holds(expected: dict[str, Any], numbers: dict[str, float]) -> bool:
    wanted = parse_expectation(expected["test"])
    return wanted.holds(numbers.get(wanted.metric.name))


def named(text: str) -> list[str]:
    """The metrics that a text shows."""
    return re.findall(r"\{([^{}:]+):", text)
