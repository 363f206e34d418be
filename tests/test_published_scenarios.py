"""Published results as scenarios: each names its source, both engines have a plan for it, the quick ones pass."""

from pathlib import Path

import pytest

from dumbbell.analysis import Reader
from dumbbell.engines import Request, Simulator
from dumbbell.plan import plan_case
from dumbbell.plan.world import as_world
from dumbbell.results import result
from dumbbell.spec import Case, find, load, published
from dumbbell.spec.expectation import parse_expectation, parse_metric

CASES = [(name, case) for name in published() for case in load(find(name))]
KERNEL_LACKS = {(name, case.name) for name, case in CASES if case.name.endswith(", exact")}
"""netem has no exact loss, and tc says so in a guest."""

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
    ("copa2018-sharing", "beside cubic"),
    ("ledbatpp-yields", "alone"),
    ("ledbatpp-yields", "beside cubic"),
    ("ledbatpp-yields", "two of them"),
]


def case_of(name: str, case: str) -> Case:
    return next(each for each in load(find(name)) if each.name == case)


@pytest.mark.parametrize("name", published())
def test_a_published_result_names_its_source_and_where_its_bounds_come_from(name: str) -> None:
    source = load(find(name))[0].experiment.source
    assert source is not None
    assert source.seen
    assert source.note is not None
    assert "Bounds" in source.note


@pytest.mark.parametrize("name", published())
def test_whatever_is_expected_was_seen_by_the_source(name: str) -> None:
    for case in load(find(name)):
        source = case.experiment.source
        assert source is not None
        seen = {parse_metric(s.metric) for s in source.seen if s.metric and s.case in (None, case.name)}
        assert {parse_expectation(text).metric for text in case.experiment.expect} <= seen


@pytest.mark.parametrize("name", published())
def test_what_was_seen_was_seen_in_a_case_that_exists(name: str) -> None:
    cases = load(find(name))
    source = cases[0].experiment.source
    assert source is not None
    assert {seen.case for seen in source.seen} <= {None, *(case.name for case in cases)}


@pytest.mark.parametrize(("name", "case"), CASES, ids=lambda part: part if isinstance(part, str) else part.name)
def test_both_engines_can_be_told_of_it(name: str, case: Case) -> None:
    made = plan_case(case, 1)
    assert any("every" in command.argv for command in made.setup) == ((name, case.name) in KERNEL_LACKS)
    assert as_world(made, 1)


@pytest.mark.parametrize(("name", "case"), QUICK)
def test_a_quick_one_passes_on_the_simulator(tmp_path: Path, name: str, case: str) -> None:
    chosen = case_of(name, case)
    run = result.load(Simulator().run(Request(name, chosen, 1, tmp_path / "run"), lambda _seconds: None))
    assert run.manifest["valid"], run.manifest["invalid"]
    outcomes = Reader(run).check(chosen.experiment.expect)
    assert outcomes
    assert [outcome for outcome in outcomes if not outcome.passed] == []
