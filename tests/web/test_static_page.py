"""The playground: the workbench's page from a static file server, below a path, with the simulator in Web Workers.

The tests need `target/npm` (`make wasm`) and are skipped without it, except in `make test-all PARTS=wasm`.
"""

import importlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from dumbbell.spec import scenarios
from dumbbell.web.experiment_text import BLANK
from dumbbell.web.live_figures import FigureRequest, figure_data
from web.browsing import OpenPage, settled, text_of, visited
from web.serving import file_server

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

static_site: Any = importlib.import_module("static_site")

BUILT = not static_site.what_is_missing()
pytestmark = pytest.mark.skipif(
    not BUILT and not os.environ.get("DUMBBELL_TEST_STATIC"), reason="no npm package: run make wasm"
)
PATH = "some/where"
NEVER_CONNECTS = BLANK.replace("[path.bottleneck]", 'loss = "100%"\n[path.bottleneck]')


@pytest.fixture(scope="module")
def static_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a host that serves the playground below a path."""
    root = tmp_path_factory.mktemp("host")
    static_site.playground(root / PATH)
    with file_server(root) as address:
        yield address


@pytest.fixture
def playground(chromium: Any, static_host: str) -> Iterator[OpenPage]:
    """Opens the playground. A console error, or a request to another host, fails the test."""
    recorded = []
    with ExitStack() as pages:

        def open_(address: str = "", width: int = 1440, **options: Any) -> Any:
            page, errors = pages.enter_context(
                visited(chromium, static_host, f"/{PATH}/{address}", width, 900, **options)
            )
            recorded.append(errors)
            return page

        yield open_
    assert [errors for errors in recorded if not errors.empty] == []


def numbers(page: Any) -> str:
    return str(page.get_by_label("Numbers", exact=True).inner_text())


def test_a_link_gives_the_same_numbers_and_a_control_changes_them(playground: OpenPage) -> None:
    page = playground()
    settled(page)
    first = numbers(page)
    page.get_by_label("RTT, value").fill("17.3 ms")
    page.get_by_label("RTT, value").press("Enter")
    settled(page)
    assert 'rtt = "17.3ms"' in text_of(page)
    assert numbers(page) != first
    page.get_by_role("button", name="Copy link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    other = playground(link.partition(f"/{PATH}/")[2])
    settled(other)
    assert text_of(other) == text_of(page)
    assert numbers(other) == numbers(page)


DRAW = """
const [module, base, toml] = process.argv.slice(2);
globalThis.document = { baseURI: base };
const { figuresOf } = await import(module);
const request = { toml, seed: 1, panels: ["throughput", "states"], points: 900, numbers: [] };
const { state, figureData } = await figuresOf({ files: [] }, request, new AbortController().signal);
if (!figureData) throw new Error(JSON.stringify(state.problem));
const { column, ...facts } = figureData;
process.stdout.write(JSON.stringify(facts), () => process.exit());
"""
"""Draws an experiment in Node.js by the page's own module."""


@pytest.fixture(scope="module")
def drawn_by_the_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """Draws an experiment's text as the playground does."""
    folder = tmp_path_factory.mktemp("page")
    static_site.playground(folder)
    # Below node_modules, where it finds the libraries.
    built = ROOT / "ui" / "node_modules" / f".dumbbell-test-{os.getpid()}"
    vite: list[str | Path] = [
        ROOT / "ui" / "node_modules" / ".bin" / "vite",
        "build",
        "--ssr",
        "src/local/figures.ts",
        "--outDir",
        built,
    ]
    environment = os.environ | {"PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"}
    subprocess.run(vite, cwd=ROOT / "ui", env=environment, check=True, capture_output=True)
    (script := folder / "draw.mjs").write_text(DRAW)

    def draw(toml: str) -> Any:
        command = [ROOT / ".venv" / "bin" / "node", script]
        arguments = [(built / "figures.js").as_uri(), f"{folder.as_uri()}/", toml]
        return json.loads(subprocess.run([*command, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout)

    yield draw
    shutil.rmtree(built)


def answer_of_the_server(toml: str) -> Any:
    response = figure_data(FigureRequest(toml=toml, panels=("throughput", "states")), lambda _seconds: None)
    (length,) = struct.unpack_from("<I", response)
    return json.loads(response[4 : 4 + length])


EXPERIMENTS = {
    "dumbbell": BLANK,
    "cyclic": scenarios()["cyclic"].read_text(),
    "hpcc-incast": scenarios()["hpcc-incast"].read_text(),
    "invalid": NEVER_CONNECTS,
    "warned": f'{BLANK}[[flows]]\ncc = "reno"\nstart = "29.99s"\n[[flows]]\ncc = "reno"\nbytes = "1GB"\n',
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_answer_is_that_of_the_server(drawn_by_the_page: Callable[[str], Any], name: str) -> None:
    toml = EXPERIMENTS[name]
    ours, theirs = answer_of_the_server(toml), drawn_by_the_page(toml)
    assert (ours["valid"], len(ours["warnings"])) == (name != "invalid", 2 if name == "warned" else 0)
    for key in ("duration_s", "valid", "invalid", "warnings", "panels"):
        assert theirs[key] == ours[key], key
    assert theirs["numbers"] == {name: pytest.approx(ours["numbers"][name], rel=1e-12) for name in theirs["numbers"]}


def test_an_error_is_shown_at_its_line(playground: OpenPage) -> None:
    page = playground()
    editor = page.get_by_label("Experiment as TOML")
    editor.click()
    editor.press("Control+End")
    editor.press_sequentially("count = -3")
    alert = page.locator("#text [role=alert]")
    alert.get_by_text(re.compile("line 17")).wait_for()
    assert page.locator(".cm-lint-marker-error").count() == 1


def test_a_new_value_cancels_a_long_run(playground: OpenPage) -> None:
    page = playground()
    for label, value in (("Duration", "300 s"), ("Rate", "10 Gbit/s")):
        page.get_by_label(f"{label}, value").fill(value)
        page.get_by_label(f"{label}, value").press("Enter")
    page.get_by_label("Rate, value").fill("5 Mbit/s")
    page.get_by_label("Rate, value").press("Enter")
    settled(page)
    assert 'rate = "5mbit"' in text_of(page)


def test_a_built_in_experiment_with_a_file_opens_by_its_name(playground: OpenPage) -> None:
    page = playground("#s=cellular")
    settled(page)
    assert "cellular.trace" in text_of(page)
    assert page.locator(".trouble").count() == 0


def test_packets_are_shown_and_downloads_work(playground: OpenPage, tmp_path: Path) -> None:
    page = playground()
    settled(page)
    page.locator(".panel .u-over").first.click(position={"x": 200, "y": 60})
    page.locator(".board canvas").wait_for()
    for what in ("figure.svg", "figure.png", "data.csv", "experiment.toml"):
        page.get_by_label("What to download").select_option(what)
        with page.expect_download() as found:
            page.get_by_role("button", name="Download", exact=True).click()
        found.value.save_as(tmp_path / what)
    assert (tmp_path / "figure.svg").read_text().startswith("<svg")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "data.csv").read_bytes().startswith(b"PK")
    assert (tmp_path / "experiment.toml").read_text() == BLANK


def test_an_invalid_run_says_so_before_its_figures_and_in_a_download(playground: OpenPage, tmp_path: Path) -> None:
    page = playground()
    settled(page)
    assert page.locator(".validity").inner_text() == ""
    page.get_by_label("Loss, value").fill("100%")
    page.get_by_label("Loss, value").press("Enter")
    settled(page)
    told = page.locator(".validity")
    told.get_by_text("2 flows (bbr, cubic) never connected").wait_for()
    assert told.inner_text().startswith("INVALID")
    assert told.bounding_box()["y"] < page.locator(".panel").first.bounding_box()["y"]
    with page.expect_download() as found:
        page.get_by_role("button", name="Download", exact=True).click()
    found.value.save_as(tmp_path / "figure.svg")
    assert ">INVALID: 2 flows (bbr, cubic) never connected<" in (tmp_path / "figure.svg").read_text()
    page.get_by_role("button", name="Pin this run").click()
    page.get_by_role("button", name=re.compile("pin 1, invalid")).first.wait_for()


def test_what_needs_a_server_says_so(playground: OpenPage) -> None:
    page = playground()
    assert "dumbbell ui" in page.get_by_label("On the real kernel").inner_text()


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_axe_finds_nothing(playground: OpenPage, width: int, theme: str) -> None:
    page = playground(width=width, color_scheme=theme)
    settled(page)
    # Not as a script of the page, which its policy would refuse.
    page.evaluate((ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js").read_text())
    found = page.evaluate("axe.run()")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []


def test_the_first_figure_is_above_the_fold_and_wide(playground: OpenPage) -> None:
    page = playground()
    settled(page)
    box = page.locator(".panel").first.bounding_box()
    assert box["y"] + box["height"] <= 900
    assert box["width"] >= 0.6 * 1440
