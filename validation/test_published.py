"""Reasons belong to existing expectations; each failure has a reason and each reason a failure."""

from pathlib import Path

import pytest
from published import ENGINES, REASONS, RUNS, Answer, judged, mistakes, read_reasons
from published_page import page
from verdicts import Expected

from dumbbell.analysis.expect import Outcome
from dumbbell.spec import find, load, published

MET = Outcome("jain > 0.5", 0.9, passed=True)
MISSED = Outcome("jain > 0.5", 0.4, passed=False)
WHY = {("mine", "a", "jain > 0.5", "sim"): "measured"}


def test_every_reason_is_of_an_expectation_that_exists() -> None:
    known = {
        (name, case.name, expression, engine)
        for name in published()
        for case in load(find(name))
        for expression in (*case.experiment.expect, RUNS)
        for engine in ENGINES
    }
    reasons = read_reasons(REASONS)
    assert reasons.keys() <= known
    assert all(len(why) > 20 for why in reasons.values())


def test_an_expectation_passes_when_every_seed_meets_it() -> None:
    (good,) = judged("mine", "a", "sim", [Answer((MET,), 1), Answer((MET,), 1)])
    (bad,) = judged("mine", "a", "sim", [Answer((MET,), 1), Answer((MISSED,), 1)])
    assert (good.passed, bad.passed, bad.values) == (True, False, (0.9, 0.4))


def test_a_refused_run_fails_its_case() -> None:
    (row,) = judged("mine", "a", "sim", [Answer((MET,), 1), Answer((), 1, "refused: no pie")])
    assert (row.expression, row.passed, row.problem) == (RUNS, False, "refused: no pie")


@pytest.mark.parametrize(
    ("outcome", "reasons", "message"),
    [(MET, {}, None), (MISSED, WHY, None), (MISSED, {}, "fails without a reason"), (MET, WHY, "does not fail")],
)
def test_failures_and_reasons_belong_together(
    outcome: Outcome, reasons: dict[tuple[str, str, str, str], str], message: str | None
) -> None:
    rows = list(judged("mine", "a", "sim", [Answer((outcome,), 1)]))
    found = list(mistakes(rows, reasons))
    assert len(found) == (message is not None)
    assert message is None or message in found[0]


def test_reasons_are_read_for_both_engines_unless_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "reasons.toml"
    file.write_text('[[reasons]]\nscenario = "s"\ncases = ["a", "b"]\nengines = ["sim"]\nreason = "x\\ny"\n')
    assert read_reasons(file) == {("s", case, RUNS, "sim"): "x y" for case in "ab"}
    file.write_text('[[reasons]]\nscenario = "s"\ncases = ["a"]\nexpect = ["jain > 1"]\nreason = "x"\n')
    assert {key[3] for key in read_reasons(file)} == set(ENGINES)


def test_the_page_shows_source_both_engines_and_the_reason_once() -> None:
    name = "ware2019-sixteen"
    share, link = load(find(name))[0].experiment.expect
    rows = [
        Expected(name, "", expression, engine, (0.2,), passed=expression == link)
        for expression in (share, link)
        for engine in ENGINES
    ]
    text = page([name], ENGINES, rows, {row.key: "its share grows" for row in rows if not row.passed}, 1, {"sim": 1.0})
    assert f"`{share}` | BBR's share (the paper): 0.4; BBR's share (reproduction): 0.45 | 0.2 **fails** (1)" in text
    assert text.count("its share grows") == 1
    assert f"`{link}` | the link is full: 1 | 0.2 ok | 0.2 ok |" in text
