"""The links below figures of the documentation: each has an experiment that the playground can run."""

import base64
import importlib
import re
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dumbbell as db
from dumbbell.spec import Experiment
from dumbbell.spec.axes import Point
from dumbbell.spec.sweep import case_at, load_sweep
from dumbbell.web.experiment_text import catalogue
from dumbbell.web.live_figures import FigureRequest, case_of, state
from studies import hpcc, playground

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

docs: Any = importlib.import_module("docs")
FIGURES = playground.of_figures()


def opened(fragment: str) -> str:
    """The text that the page reads from a link's fragment."""
    packed, _, seed = fragment.removeprefix("#e=").partition("&")
    assert seed == "seed=1"
    return zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))).decode()


def shown(figure: str) -> list[Experiment]:
    return [case_of(opened(each.fragment)).experiment for each in FIGURES[ROOT / "docs" / figure]]


@pytest.mark.parametrize("figure", sorted(FIGURES), ids=lambda path: path.relative_to(ROOT / "docs").as_posix())
def test_every_link_has_an_experiment_of_the_simulator(figure: Path) -> None:
    assert figure.is_file()
    links = FIGURES[figure]
    assert len({each.fragment for each in links}) == len({each.name for each in links}) == len(links) > 0
    for each in links:
        answer = state(FigureRequest(toml=opened(each.fragment)))
        assert answer["problem"] is None
        known = set(importlib.import_module("dumbbell.engines.sim").Simulator.controllers())
        assert {flow["cc"] for flow in answer["case"]["experiment"]["flows"]} - {None} <= known


def test_the_links_of_a_figure_have_the_experiments_that_its_script_runs() -> None:
    assert shown("first-run.svg") == [db.scenario("cyclic").one().experiment]
    cases = db.scenario("bufferbloat")
    assert shown("results/gallery/bufferbloat.png") == [cases.case(name).one().experiment for name in cases.cases]
    (short,) = shown("results/gallery/cyclic-throughput-delay.png")
    assert short == db.scenario("cyclic").set(duration="40s").one().experiment
    (bbr,) = shown("controllers/bbr.svg")
    assert [flow.cc for flow in bbr.flows] == ["bbr", "cubic"]
    assert [flows[0].cc for flows in (each.flows for each in shown("results/hpcc.png"))] == list(hpcc.CONTROLLERS)


@pytest.mark.parametrize("name", ["taking-turns", "incast"])
def test_the_links_of_a_map_have_points_of_its_sweep(name: str) -> None:
    sweep = load_sweep(name)
    every: Callable[[Point], Any] = lambda point: case_at(sweep, point.values).experiment  # noqa: E731
    simulated = [every(point) for point in sweep.each_point() if point.values["engine"] == "sim"]
    for experiment in shown(f"results/sweeps/{name}-1.svg"):
        assert experiment in simulated


def test_every_figure_of_the_documentation_has_links_or_a_reason_why_not() -> None:
    pages = {path: docs.IMAGE.findall(path.read_text()) for path in (ROOT / "docs").rglob("*.md")}
    images = {(path.parent / image).resolve() for path, found in pages.items() for image in found}
    exempt = {ROOT / "docs" / name for name in playground.NOT_SIMULATED}
    assert images == set(FIGURES) | exempt
    assert not set(FIGURES) & exempt


def test_the_list_of_built_in_experiments_opens_each_that_the_page_has() -> None:
    listed = re.findall(r'index.html#s=([\w.-]+)"', docs.scenarios(playground=True))
    assert {*listed, "dumbbell"} == {entry["name"] for entry in catalogue()}


def test_the_site_has_the_links_below_each_figure() -> None:
    pages = {"results/gallery/index.md": "A sentence.\n\n![RTT](bufferbloat.png)\n\nMore.\n", "other.md": "None."}
    made = docs.opened_in_playground(pages)
    assert made["other.md"] == "None."
    *names, last = [each.name for each in FIGURES[ROOT / "docs" / "results" / "gallery" / "bufferbloat.png"]]
    assert made["results/gallery/index.md"].count('<a href="../../play/index.html#e=') == len(names) + 1
    assert f">{last}</a></p>\n\nMore." in made["results/gallery/index.md"]
