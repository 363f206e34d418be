"""Published results as scenarios: each has a source and plans for both engines; short cases pass."""

from pathlib import Path

import pytest

from dumbbell.analysis.expect import Reader
from dumbbell.engines import Request, Simulator
from dumbbell.plan import as_world, plan_case
from dumbbell.results import result
from dumbbell.spec import Case, find, load, published
from dumbbell.spec.expectation import parse_expectation, parse_metric

CASES = [(name, case) for name in published() for case in load(find(name))]
KERNEL_LACKS = {(name, case.name) for name, case in CASES if case.name.endswith(", exact")}
"""netem has no exact loss; in a guest, tc fails."""

QUICK = [
    ("bbr2016-five-flows", ""),
    ("bbr2016-startup", "cubic"),
    ("ware2019-one", "0.25 bdp"),
    ("ware2019-one", "8 bdp"),
    ("bbr2016-loss", "cubic at 1%"),
    ("bbr2016-loss", "bbr at 5%"),
    ("bbr2016-loss", "bbr at 50%"),
    ("codel2012-queue", "CoDel"),
    ("codel2012-queue", "drop-tail"),
    ("ucas-bufferbloat", "maxq 50"),
    ("stanford-page-fetch", "100 packets"),
    ("copa2018-sharing", "next to cubic"),
    ("ledbatpp-yields", "alone"),
    ("ledbatpp-yields", "next to cubic"),
    ("ledbatpp-yields", "two of them"),
]


def case_of(name: str, case: str) -> Case:
    return next(each for each in load(find(name)) if each.name == case)


@pytest.mark.parametrize("name", published())
def test_a_published_scenario_has_its_source_and_the_origin_of_its_bounds(name: str) -> None:
    source = load(find(name))[0].experiment.source
    assert source is not None
    assert source.seen
    assert source.note is not None
    assert "Bounds" in source.note


@pytest.mark.parametrize("name", published())
def test_every_expectation_is_a_figure_of_the_source(name: str) -> None:
    for case in load(find(name)):
        source = case.experiment.source
        assert source is not None
        seen = {parse_metric(s.metric) for s in source.seen if s.metric and s.case in (None, case.name)}
        assert {parse_expectation(text).metric for text in case.experiment.expect} <= seen


@pytest.mark.parametrize("name", published())
def test_figures_of_a_source_belong_to_existing_cases(name: str) -> None:
    cases = load(find(name))
    source = cases[0].experiment.source
    assert source is not None
    assert {seen.case for seen in source.seen} <= {None, *(case.name for case in cases)}


@pytest.mark.parametrize(("name", "case"), CASES, ids=lambda value: value if isinstance(value, str) else value.name)
def test_every_case_has_a_plan_for_both_engines(name: str, case: Case) -> None:
    plan = plan_case(case, 1)
    assert any("every" in command.argv for command in plan.setup) == ((name, case.name) in KERNEL_LACKS)
    assert as_world(plan, 1)


@pytest.mark.parametrize(("name", "case"), QUICK)
def test_a_short_case_passes_on_the_simulator(tmp_path: Path, name: str, case: str) -> None:
    selected = case_of(name, case)
    run = result.load(Simulator().run(Request(name, selected, 1, tmp_path / "run"), lambda _seconds: None))
    assert run.manifest["valid"], run.manifest["invalid"]
    outcomes = Reader(run).check(selected.experiment.expect)
    assert outcomes
    assert [outcome for outcome in outcomes if not outcome.passed] == []
