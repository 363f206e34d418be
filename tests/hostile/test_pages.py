"""Text from files is text in every page: it adds no tag, attribute, script or comment, and hides nothing.

Pages are parsed as by a browser: they have the same elements for any planted text, and show the planted text.
"""

import json
import re
import shutil
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from dumbbell.control_characters import HIDDEN, visible
from dumbbell.errors import DumbbellError, ImportProblem, ResultError
from dumbbell.importers import Options, import_files
from dumbbell.plots import figure, save, script_json
from dumbbell.reports.page import page
from dumbbell.reports.sweep_page import write_sweep
from dumbbell.results.result import Run, load
from dumbbell.spec.axes import axis
from dumbbell.sweeps.folder import load as load_sweep
from hostile.fuzzing import search
from hostile.planted import PLANTED, text_paths, with_text
from importers.samples import SAMPLES
from sweep_fixtures import made
from synthetic import Bench, Flow
from web.serving import served

EVERYTHING = "".join(text for text in PLANTED if "\ud800" not in text)
"""A lone surrogate in run.json or sweep.json is refused when it is read."""
ELEMENTS = ("script", "img", "style", "iframe", "a", "link", "meta", "form", "object")


class ParsedPage(HTMLParser):
    """A page as parsed by a browser."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.names: set[str] = set()
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        assert not HIDDEN.search(text.replace(next(iter(re.findall("<script>.*?</script>", text, re.DOTALL)), ""), ""))
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.names |= {name for name, _ in attrs}
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        else:
            self.text += data

    def handle_comment(self, data: str) -> None:  # noqa: ARG002
        self.tags["<!--"] += 1


def check_elements(text: str, before: ParsedPage) -> ParsedPage:
    """Check that the page has the same elements as before."""
    after = ParsedPage(text)
    assert {name: after.tags[name] for name in ELEMENTS} == {name: before.tags[name] for name in ELEMENTS}
    assert after.tags["<!--"] == before.tags["<!--"]
    assert not [name for name in after.names if name.startswith("on")]
    assert len(after.scripts) == len(before.scripts)
    return after


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    flows = [Flow("a", "bbr", cc="bbr"), Flow("b", "cubic")]
    manifest = {"warnings": ["a warning"], "invalid": ["a reason"], "title": "t"}
    return load(
        Bench(flows=flows, duration_s=1, manifest=manifest).make_folder(tmp_path_factory.mktemp("runs") / "run")
    )


@pytest.fixture(scope="module")
def before(run: Run) -> ParsedPage:
    return ParsedPage(page([run]))


def run_with_text(run: Run, path: tuple[Any, ...], text: str) -> Run:
    return Run(run.folder, with_text(run.manifest.as_dict(), path, text), run.flows, run.queues, run.probes)


@pytest.mark.slow
def test_every_text_of_a_run_is_text_in_its_report(run: Run, before: ParsedPage) -> None:
    pages = 0
    for path in text_paths(run.manifest.as_dict()):
        try:
            text = page([run_with_text(run, path, EVERYTHING)])
        except DumbbellError:
            continue
        pages += "PLANT" in check_elements(text, before).text
    assert pages > 10


def test_a_lone_surrogate_in_a_file_is_an_error(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.folder, tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text(json.dumps(with_text(run.manifest.as_dict(), ("title",), "\ud800")))
    with pytest.raises(ResultError, match="unexpected end of hex escape"):
        load(tmp_path / "run")
    (tmp_path / "log").write_text(
        SAMPLES["iperf3-json"].replace('"title"', '"\\ud800"', 1).replace("{", '{"x": "\\ud800",', 1)
    )
    with pytest.raises(ImportProblem, match="surrogates not allowed"):
        import_files([tmp_path / "log"], tmp_path / "out", Options())


def test_a_planted_title_is_shown_as_text(run: Run, before: ParsedPage) -> None:
    found = check_elements(page([run_with_text(run, ("title",), EVERYTHING)]), before)
    assert visible(EVERYTHING) in found.text


def test_names_of_flows_are_text_in_figures(tmp_path: Path) -> None:
    def page_with_name(name: str) -> str:
        bench = Bench(flows=[Flow(name, f"bbr{name}")], duration_s=1, manifest={"title": name})
        return page([bench.make(tmp_path)])

    check_elements(page_with_name(EVERYTHING), ParsedPage(page_with_name("a")))


def test_a_planted_title_adds_no_element_to_a_figure_s_page(tmp_path: Path) -> None:
    pages = []
    for title in ("t", EVERYTHING):
        run = Bench(flows=[Flow("a", "bbr")], duration_s=1, manifest={"title": title}).make(tmp_path)
        save(figure(run), tmp_path / "f.html")
        pages.append((tmp_path / "f.html").read_text())
    check_elements(pages[1], ParsedPage(pages[0]))


@pytest.mark.slow
def test_a_planted_title_adds_no_element_to_a_comparison(run: Run, tmp_path: Path) -> None:
    pages = []
    for text in ("", EVERYTHING):
        written = write_comparison(run, tmp_path, text)
        pages.append(written.read_text())
    check_elements(pages[1], ParsedPage(pages[0]))


def write_comparison(run: Run, folder: Path, text: str) -> Path:
    from hostile.planted import run_command  # noqa: PLC0415

    for name in ("one", "two"):
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(run.folder, folder / name)
        (folder / name / "run.json").write_text(json.dumps(with_text(run.manifest.as_dict(), ("title",), text)))
    status, _, err = run_command("compare", folder / "one", folder / "two", "-o", folder / "page.html")
    assert status in (0, 1, 3), err
    return folder / "page.html"


@pytest.mark.slow
def test_every_text_of_a_sweep_is_text_in_its_report(tmp_path: Path) -> None:
    axes = [axis("rate", ["1mbit", "2mbit"]), axis("name", ["x", "y"])]
    points = [{"rate": rate, "name": name} for rate in ("1mbit", "2mbit") for name in "xy"]
    folder = made(tmp_path / "s", axes, points, lambda _point, seed: seed or "r").folder
    manifest = json.loads((folder / "sweep.json").read_text())
    write_sweep(load_sweep(folder), tmp_path / "before.html")
    before = ParsedPage((tmp_path / "before.html").read_text())
    pages = 0
    for path in text_paths(manifest):
        (folder / "sweep.json").write_text(json.dumps(with_text(manifest, path, EVERYTHING)))
        try:
            write_sweep(load_sweep(folder), tmp_path / "after.html")
        except DumbbellError:
            continue
        pages += 1
        check_elements((tmp_path / "after.html").read_text(), before)
    assert pages > 3


@pytest.mark.slow
def test_the_workbench_replies_in_json_and_allows_only_its_own_scripts(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.folder, tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text(json.dumps(with_text(run.manifest.as_dict(), ("title",), EVERYTHING)))
    with served(tmp_path, str(tmp_path / "run")) as ui, ui.asks as client:
        home = client.get("/")
        assert "script-src 'self';" in home.headers["content-security-policy"]
        assert (
            "unsafe-inline" not in home.headers["content-security-policy"].partition("script-src")[2].partition(";")[0]
        )
        response = client.get("/api/results")
        assert response.status_code == 200, response.text
        assert response.json()


def test_fuzz_json_in_a_script_is_valid_and_does_not_end_the_script() -> None:
    def check_json(text: str) -> None:
        encoded = script_json({text: [text]})
        assert not re.search("[<>&]", encoded)
        assert not HIDDEN.search(encoded)
        value = json.loads(encoded)
        assert list(value.values()) == [[key] for key in value]
        if not HIDDEN.search(text):
            assert value == {text: [text]}

    search(
        st.one_of(st.text(), st.sampled_from(PLANTED), st.text(st.sampled_from("</script>!-\u2028\\u"))),
        check_json,
        300,
    )


def test_fuzz_any_text_is_text_in_a_report(run: Run, before: ParsedPage) -> None:
    def check_title(text: str) -> None:
        found = check_elements(page([run_with_text(run, ("title",), text)]), before)
        if text.strip() and "\r" not in text:
            assert " ".join(visible(text).split()) in " ".join(found.text.split())

    search(
        st.text(min_size=1) | st.sampled_from([text for text in PLANTED if "\ud800" not in text]),
        check_title,
        examples=15,
    )
