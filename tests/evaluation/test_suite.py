"""The suite: RFC 9743's subsections, experiments that parse, metrics that exist."""

import pytest

from dumbbell import spec
from dumbbell.analysis.expect import parse_metric
from dumbbell.evaluation.criteria import load_suite
from dumbbell.evaluation.readings import METRICS
from dumbbell.evaluation.referee import Controller, _Referee
from dumbbell.spec.built_in import evaluations

SUITE = load_suite()


def test_every_subsection_is_there_with_criteria_or_a_reason() -> None:
    numbers = [section.number for section in SUITE.sections]
    chapters = [number.rpartition(".")[0] for number in numbers]
    counts = {chapter: chapters.count(chapter) for chapter in ("5.1", "5.2", "5.3", "6", "7")}
    assert counts == {"5.1": 5, "5.2": 3, "5.3": 2, "6": 4, "7": 11}
    tested = {each.section for each in SUITE.criteria}
    assert tested <= set(numbers)
    assert [each.number for each in SUITE.sections if each.number not in tested and not each.not_tested] == []


def test_every_criterion_has_a_reason_and_a_name_of_its_own() -> None:
    names = [each.name for each in SUITE.criteria]
    assert len(set(names)) == len(names)
    assert [each.name for each in SUITE.criteria if not each.why] == []


def test_every_experiment_is_used() -> None:
    assert {f"evaluate/{each.experiment}" for each in SUITE.criteria} == set(evaluations())


@pytest.mark.parametrize("criterion", SUITE.criteria, ids=lambda each: each.name)
def test_a_criterion_names_a_metric_and_its_experiment_parses(criterion: object) -> None:
    referee = _Referee(SUITE.only([criterion.name]), Controller("bbr"), ["reno"])  # type: ignore[attr-defined]
    assert parse_metric(criterion.metric).name.split(".")[0] in {  # type: ignore[attr-defined]
        *METRICS, "utilization", "queue", "ping_ms", "groups", "jain",
    }  # fmt: skip
    for unit in referee.units:
        file = evaluations()[f"evaluate/{unit.experiment}"]
        assert spec.read(unit.document(), file)
