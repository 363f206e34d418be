"""Published results as scenarios: each has a source and plans for both engines; short cases pass."""

from pathlib import Path

import pytest

from dumbbell.analysis.expect import Reader, parse_expectation, parse_metric
from dumbbell.engines import Request, Simulator
from dumbbell.plan import plan_case
from dumbbell.results import result
from dumbbell.spec import Case, find, load, published

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


def test_every_published_scenario_has_its_source_and_the_origin_of_its_bounds() -> None:
    sources = {name: case.experiment.source for name, case in CASES}
    assert {name for name, source in sources.items() if not (source and source.seen)} == set()
    assert {name for name, source in sources.items() if "Bounds" not in ((source and source.note) or "")} == set()


def test_every_expectation_is_a_figure_of_the_source() -> None:
    for name, case in CASES:
        source = case.experiment.source
        assert source is not None
        seen = {parse_metric(s.metric) for s in source.seen if s.metric and s.case in (None, case.name)}
        assert {parse_expectation(text).metric for text in case.experiment.expect} <= seen, (name, case.name)


def test_every_case_has_a_plan_for_both_engines() -> None:
    for name, case in CASES:
        plan = plan_case(case, 1)
        lacks = plan.drops_every_nth
        assert lacks == ((name, case.name) in KERNEL_LACKS), (name, case.name)
        assert plan.for_simulator(1)


@pytest.mark.slow(keep="bbr2016-five-flows-")
@pytest.mark.parametrize(("name", "case"), QUICK)
def test_a_short_case_passes_on_the_simulator(tmp_path: Path, name: str, case: str) -> None:
    selected = case_of(name, case)
    run = result.load(Simulator().run(Request(name, selected, 1, tmp_path / "run"), lambda _seconds: None))
    assert run.manifest.valid, run.manifest.invalid
    outcomes = Reader(run).check(selected.experiment.expect)
    assert outcomes
    assert [outcome for outcome in outcomes if not outcome.passed] == []
