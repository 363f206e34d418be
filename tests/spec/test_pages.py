"""The pages about controllers and queues: one for each in the simulator, with common sections and real parameters."""

import re

import pytest

from dumbbell import _sim
from dumbbell._sim import SIMULATED
from dumbbell.errors import ExperimentError
from dumbbell.spec import load
from dumbbell.spec.built_in import KINDS, explained, page, pages
from dumbbell.spec.units import GRAMMAR, POLICE

SIMULATED_NAMES = {"controllers": set(_sim.CONTROLLERS), "queues": {*SIMULATED, POLICE}}
PAGES = [(kind, name, file) for kind in KINDS for name, file in pages(kind).items()]
HEADINGS = ["What it does", "Strengths", "Weaknesses", "Parameters", "Differences from its source", "Measured"]
OPTIONAL = {"Differences from its source"}
FACTS = {"controllers": ["name", "signal", "engines", "source"], "queues": ["name", "engines", "source"]}
OTHER_PAGES = {"hystart++"}
"""Pages that describe neither a controller nor a queue."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_simulated_controller_and_queue_has_a_page(kind: str) -> None:
    assert SIMULATED_NAMES[kind] - set(pages(kind)) == set()


def test_a_page_has_the_common_sections() -> None:
    for kind, name, file in PAGES:
        text = file.read_text(encoding="utf-8")
        assert text.startswith("# "), name
        headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert headings == [heading for heading in HEADINGS if heading in headings], name
        assert set(HEADINGS) - set(headings) <= OPTIONAL, name
        facts = dict(re.findall(r"^\| ([a-z]+) \| (.+) \|$", text.partition("\n## ")[0], re.MULTILINE))
        assert [fact for fact in facts if fact in FACTS[kind]] == FACTS[kind], name
        assert facts["name"].startswith(f"`{name}`"), name
        if name not in OTHER_PAGES:
            assert ("simulator" in facts["engines"]) == (name in SIMULATED_NAMES[kind]), name


def test_a_page_names_the_existing_parameters() -> None:
    for kind, name, file in PAGES:
        section = file.read_text(encoding="utf-8").partition("\n## Parameters\n")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
        documented = {option for row in rows for option in re.findall(r"`([^`]+)`", row)}
        if name in OTHER_PAGES:
            continue
        if kind == "controllers":
            assert documented == {parameter for parameter, _, _ in _sim.parameters(name)}, name
            assert documented or "None." in section, name
        else:
            assert {option.split()[0] for option in documented} <= set(GRAMMAR[name]), name


def test_a_page_is_found_by_its_name() -> None:
    assert page("cubic").read_text(encoding="utf-8").startswith("# CUBIC")
    with pytest.raises(ExperimentError, match="did you mean 'codel'"):
        page("codle")


@pytest.mark.parametrize("kind", KINDS)
def test_the_measured_experiments_can_be_loaded(kind: str) -> None:
    assert len(load(page("cubic").parents[1] / kind / "measured.toml")) >= 4


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("BBR", "# BBR"),
        ("FQ_CODEL", "# FQ-CoDel"),
        ("drop-tail", "drops what arrives when its buffer is full"),
        ("cwnd", "congestion window, in packets or bytes"),
        ("STARTUP", "BBR's first two states"),
        ("probe_rtt", "every ten seconds, to measure min RTT"),
        ("BDP", "bottleneck rate × base RTT"),
    ],
)
def test_pages_and_terms_are_found_however_they_are_written(name: str, text: str) -> None:
    assert text in explained(name)


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(ExperimentError, match="did you mean 'cubic'"):
        explained("CUBICC")
