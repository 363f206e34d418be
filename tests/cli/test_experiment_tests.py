"""`dumbbell test`: experiments with expectations as tests."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from conftest import Dumbbell
from engines.measured import CUBIC, experiment

CASES = {"short": 1, "long": 2}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tests = tmp_path / "tests"
    (tests / "deep").mkdir(parents=True)
    met, missed = 'expect = ["utilization > 0.5"]\n', 'expect = ["utilization > 0.5", "utilization > 2", "jain == 3"]\n'
    (tests / "a.toml").write_text(met + experiment(CUBIC, duration="1s"))
    (tests / "deep" / "b.toml").write_text(missed + experiment(CUBIC, duration="1s"))
    (tests / "none.toml").write_text(experiment(CUBIC, duration="1s"))
    (tests / "wrong.toml").write_text('expect = ["utilization > 0.5"]\ndurations = "1s"\n')
    (tests / "other.toml").write_text('[project]\nname = "mine"\n')
    return tests


def test_each_experiment_with_expectations_is_a_test(dumbbell: Dumbbell, folder: Path) -> None:
    done = dumbbell("test", "tests", "--junit", "out.xml")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == ["KTAP version 1", "1..3", "ok 1 a.toml"]
    missed = next(line for line in lines if line.startswith("not ok 2"))
    assert missed.startswith("not ok 2 deep/b.toml # utilization > 2 (0.9"), missed
    assert missed.endswith("), and 1 more")
    assert any(line.startswith("# as expected: utilization > 0.5 (0.9") for line in lines)
    wrong = next(line for line in lines if line.startswith("not ok 3"))
    assert wrong.startswith("not ok 3 wrong.toml # ERROR ")
    assert "durations" in wrong
    assert lines[-1] == "# Totals: pass:1 fail:1 xfail:0 xpass:0 skip:0 error:1"
    root = ET.parse(folder.parent / "out.xml").getroot()
    assert [(root.get(key)) for key in ("tests", "failures", "errors")] == ["3", "1", "1"]
    assert not list(folder.parent.glob("runs*"))


def test_seeds_and_cases_are_tests_of_their_own(dumbbell: Dumbbell, folder: Path) -> None:
    cases = "".join(f'[[cases]]\nname = "{name}"\nset = {{ duration = "{n}s" }}\n' for name, n in CASES.items())
    (folder / "a.toml").write_text('expect = ["utilization > 0.5"]\n' + experiment(CUBIC, duration="1s") + cases)
    done = dumbbell("test", "tests/a.toml", "--seed", "1..2", "--list")
    names = [f"tests/a.toml {case} seed {seed}" for case in CASES for seed in (1, 2)]
    assert (done.returncode, done.stdout.splitlines()) == (0, names)
    done = dumbbell("test", "tests/a.toml", "--seed", "1..2", "--match", "long seed 2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:3] == ["1..1", "ok 1 tests/a.toml long seed 2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tests/none.toml",), "tests/none.toml: expect: nothing is expected, so there is nothing to test"),
        (("empty",), "empty: no experiment has `expect`; add expect = "),
        (("nothing.toml",), "nothing.toml: no such file or folder"),
        (("tests", "--match", "quic"), "--match: none of the 3 tests matches, got 'quic'"),
        (("tests", "--engine", "ns3"), "--engine: unknown engine, got 'ns3'"),
        (("tests", "--junit", "none/out.xml"), "none/out.xml: can't be written"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_request_without_tests_is_refused(
    dumbbell: Dumbbell, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    done = dumbbell("test", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"dumbbell: {message}"), done.stderr
