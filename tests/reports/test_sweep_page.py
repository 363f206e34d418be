"""The page of a sweep: its text, the commands of its cells, and its behaviour in a browser."""

import json
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from playwright.sync_api import sync_playwright

from dumbbell.errors import ResultError
from dumbbell.reports.sweep_page import maps_of, sweep_page, write_sweep
from dumbbell.spec.axes import axis
from dumbbell.spec.sweep import read_map
from dumbbell.sweeps.folder import Sweep, load
from dumbbell.sweeps.rows import reproduce_command
from sweep_fixtures import TWO, made, ran
from web.browsing import CHROMIUM


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return ran(TWO, tmp_path_factory.mktemp("sweeps") / "two")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Two points, two seeds; one of the four results was removed, and the folder's name contains a space."""
    text = TWO.replace('"1..3"', '"1..2"\nkeep = "runs"').replace('["5ms", "20ms", "80ms"]', '["5ms", "20ms"]')
    text = text.replace('["0.5bdp", "1bdp", "4bdp", "16bdp"]', '["4bdp"]').replace('"5s"', '"2s"')
    sweep = ran(text, tmp_path_factory.mktemp("sweeps") / "the kept")
    shutil.rmtree(sweep.folder / "runs" / "point-1-seed-2")
    return sweep


def points_of(page: str) -> dict[str, Any]:
    match = re.search(r"^const points = (\{.*\});$", page, re.MULTILINE)
    assert match is not None
    found: dict[str, Any] = json.loads(match[1])
    return found


def test_every_cell_links_its_runs(two: Sweep) -> None:
    points = points_of(sweep_page(two, ["utilization"]))
    assert points["values"] == ["utilization"]
    runs = {
        (int(point), run["seed"]): run["values"][0]
        for point, entry in points["points"].items()
        for run in entry["runs"]
    }
    assert runs == {(row["point"], row["seed"]): row["utilization"] for row in two.runs.iter_rows(named=True)}


@pytest.mark.slow
def test_the_command_of_a_run_reproduces_its_numbers(two: Sweep, dumbbell: Any, tmp_path: Path) -> None:
    row = two.runs.row(10, named=True)
    program, *arguments = shlex.split(reproduce_command(two, row))
    assert program == "dumbbell"
    process = dumbbell(*arguments, "--json", "--out", tmp_path / "repeated")
    assert process.returncode == 0, process.stderr
    numbers = json.loads(process.stdout)
    assert numbers["utilization"] == row["utilization"]
    assert numbers["groups"]["bbr"]["share"] == row["groups.bbr.share"]


@pytest.mark.slow
def test_the_page_has_these_commands(two: Sweep) -> None:
    points = points_of(sweep_page(two))["points"]
    for row in two.runs.iter_rows(named=True):
        assert points[str(row["point"])]["command"].replace("{seed}", str(row["seed"])) == reproduce_command(two, row)


def test_engine_hashes_are_folded_and_a_window_is_in_seconds(two: Sweep) -> None:
    kernel = {"release": "6.12.117", "sha256": "5eed" * 16, "tc_sha256": "7c" * 32}
    engines = two.manifest["engines"] | {"kernel linux-6.12": kernel}
    page = sweep_page(with_keys(two, window=[500_000_000, None], engines=engines))
    assert "sim (version 0.1.0); kernel linux-6.12 (release 6.12.117)" in page
    assert "from 0.5 s to the end" in page
    before, fold, hashes = page.partition("<details><summary>SHA-256 of the engines")
    assert fold
    for digest in ("5eed" * 16, "7c" * 32, engines["sim"]["sha256"]):
        assert digest not in before
        assert digest in hashes.partition("</details>")[0]


def test_kept_runs_are_linked_relative_to_the_page(kept: Sweep, tmp_path: Path) -> None:
    page = tmp_path / "out" / "page.html"
    page.parent.mkdir()
    assert write_sweep(kept, page) is None
    points = points_of(page.read_text())["points"]
    for point, seed in ((0, 1), (0, 2), (1, 1)):
        entry = points[str(point)]["runs"][seed - 1]["kept"]
        assert entry["page"] is None
        assert " " not in entry["folder"]
        assert (page.parent / unquote(entry["folder"]) / "run.json").is_file()
        assert shlex.split(entry["command"])[2] == str(kept.folder / "runs" / f"point-{point}-seed-{seed}")
    assert points["1"]["runs"][1]["kept"] is None


@pytest.mark.slow
def test_pages_of_kept_runs_are_written_on_request(kept: Sweep, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert write_sweep(kept, page, runs=True) == tmp_path / "page-runs"
    written = sorted(file.name for file in (tmp_path / "page-runs").iterdir())
    assert written == ["point-0-seed-1.html", "point-0-seed-2.html", "point-1-seed-1.html"]
    entry = points_of(page.read_text())["points"]["1"]["runs"][0]
    assert entry["kept"]["page"] == "page-runs/point-1-seed-1.html"
    assert "engine sim, seed 1" in (tmp_path / entry["kept"]["page"]).read_text()


def test_a_sweep_without_kept_runs_has_no_links(two: Sweep, tmp_path: Path) -> None:
    assert write_sweep(two, tmp_path / "page.html", runs=True) is None
    points = points_of((tmp_path / "page.html").read_text())["points"]
    assert {run["kept"] for point in points.values() for run in point["runs"]} == {None}
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_a_page_shows_the_requested_maps_or_notes_its_defaults(two: Sweep) -> None:
    maps, note = maps_of(two)
    assert [map_spec.value for map_spec in maps] == ["groups.bbr.share", "utilization", "queue.delay_ms.mean"]
    assert maps[0] == read_map(value="groups.bbr.share", x="buffer", y="path.rtt", middle=0.5, contour=(0.5,))
    assert note in sweep_page(two)
    shown = {"value": "utilization", "x": "buffer", "lines": "path.rtt", "title": "Full?", "text": "Yes."}
    page = sweep_page(with_keys(two, maps=[shown]))
    assert "<h3>Full?</h3><p>Yes.</p>" in page
    assert note not in page
    with pytest.raises(ResultError, match="a map in its manifest is not valid"):
        sweep_page(with_keys(two, maps=[{"vale": 1}]))


def with_keys(sweep: Sweep, **keys: Any) -> Sweep:
    return replace(sweep, manifest=sweep.manifest.with_keys(keys))


def test_every_reason_is_on_the_page_and_untrusted_text_is_escaped(tmp_path: Path) -> None:
    rtt, qdisc = axis("path.rtt", ["5ms", "9ms"]), axis("qdisc", ["fq", "<b>bold</b>"])
    points = [{"path.rtt": one, "qdisc": other} for one in rtt.values for other in qdisc.values]
    sweep = made(
        tmp_path / "made", [rtt, qdisc], points,
        lambda point, seed: "<i>hang</i></script>" if point["qdisc"] == "fq" and seed == 1 else float(seed),
    )  # fmt: skip
    page = sweep_page(sweep)
    assert "10 of 12 runs at 4 points are valid; 0 are invalid, 2 failed." in page
    assert "2 failed: &lt;i&gt;hang&lt;/i&gt;" in page
    assert "<b>bold" not in page
    assert "hang</i>" not in page
    assert points_of(page)["points"]["0"]["runs"][0]["reason"] == "<i>hang</i></script>"
    assert points_of(page)["points"]["0"]["command"] == ""  # The folder has no sweep.toml.


def test_additional_axes_become_panels_up_to_the_limit(tmp_path: Path) -> None:
    axes = [axis("a", [1, 2, 3]), axis("b", [1, 2]), axis("c", ["x", "y"]), axis("d", [f"d{n}" for n in range(13)])]
    points = [{"a": a, "b": b, "c": c, "d": d} for a in (1, 2, 3) for b in (1, 2) for c in "xy" for d in axes[3].values]
    sweep = made(tmp_path / "made", axes, points, lambda point, seed: float(point["a"] + seed), seeds=(1,))
    (map_spec,), _ = maps_of(sweep)
    assert (map_spec.x, map_spec.y, map_spec.panels, map_spec.where) == ("a", "b", ("d",), "\"c\" = 'x'")
    assert "where &quot;c&quot; = &#x27;x&#x27;" in sweep_page(load(sweep.folder))


@pytest.mark.slow(keep="390-dark")
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: the page was not opened in a browser")
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_a_click_or_a_key_shows_a_cell_s_runs(two: Sweep, width: int, scheme: Any, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_sweep(two, file)
    messages: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: messages.append(request.url) if request.url != file.as_uri() else None)
        page.goto(file.as_uri())
        page.wait_for_function("document.querySelectorAll('.figure svg.marks').length === 3")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator("#figure-0 .mark-rect path").first.click(position={"x": 6, "y": 6})
        dialog = page.locator("dialog")
        assert dialog.locator("h2").inner_text() == "Point 0: path.rtt 5ms, buffer 0.5bdp"
        assert dialog.locator("tbody tr").count() == 3
        assert dialog.locator("pre").first.inner_text() == reproduce_command(two, two.runs.row(0, named=True))
        page.keyboard.press("Escape")
        assert not dialog.is_visible()
        page.locator("summary", has_text="Cells as a table").first.press("Enter")
        page.locator("button[data-point='7']").first.press("Enter")
        assert dialog.locator("h2").inner_text() == "Point 7: path.rtt 20ms, buffer 16bdp"
        dialog.locator("pre + button").first.press("Enter")
        page.wait_for_function("document.querySelector('dialog pre + button').textContent === 'Copied'")
        browser.close()
    assert messages == []


@pytest.mark.slow(keep="False")
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: the page was not opened in a browser")
@pytest.mark.parametrize("runs", [False, True])
def test_a_cell_links_its_kept_runs(kept: Sweep, *, runs: bool, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_sweep(kept, file, ["utilization"], runs=runs)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(file.as_uri())
        page.wait_for_function("document.querySelectorAll('.figure svg.marks').length === 1")
        page.locator("button[data-point='1']").first.evaluate("button => button.click()")
        links = page.locator("dialog tbody tr").first.locator("a")
        assert links.all_inner_texts() == (["page", "folder"] if runs else ["folder"])
        assert page.locator("dialog tbody tr").nth(1).locator("a").count() == 0
        commands = page.locator("dialog pre").all_inner_texts()
        assert len([text for text in commands if text.startswith("dumbbell report ")]) == (0 if runs else 1)
        assert len([text for text in commands if text.startswith("dumbbell run ")]) == 2
        links.first.click()
        page.wait_for_load_state()
        if runs:
            assert page.locator("h1").inner_text() == "Who wins, BBR or CUBIC?"
        else:
            assert "run.json" in page.content()
        browser.close()
