"""Open, import, share and download: the pages of a real server in a real browser."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from dumbbell.engines import Request, Simulator
from dumbbell.web.experiment_text import BLANK
from dumbbell.web.live_figures import case_of
from importers.samples import IPERF3
from sweep_fixtures import TWO, ran
from web.browsing import text_of, visited
from web.serving import Served, served

MINE = BLANK.replace("30s", "3s").replace("A dumbbell", "My own")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("here")
    Simulator().run(Request("one", case_of(MINE), 7, folder / "one"), lambda _seconds: None)
    ran('keep = "runs"\n' + TWO.replace('"5s"', '"1s"').replace("1..3", "1..2"), folder / "two")
    (folder / "other.toml").write_text(MINE.replace("My own", "The other"))
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    with served(folder, ".") as running:
        yield running


def seed_of(page: Page) -> str:
    return page.get_by_label("Seed", exact=True).input_value()


@pytest.mark.slow
def test_a_result_s_report_is_shown_and_its_experiment_played(chromium: Browser, server: Served) -> None:
    with visited(chromium, server.url) as (page, errors):
        page.get_by_role("button", name="Open…").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Report of My own, one").click()
        report = page.frame_locator("iframe")
        expect(report.locator("h1")).to_have_text("My own")
        expect(report.locator("#figure-0 svg.marks")).to_be_visible(timeout=30_000)
        dialog.get_by_role("button", name="Play this experiment").click()
        expect(dialog).to_have_count(0)
        expect(page.locator(".cm-content")).to_contain_text('title = "My own"')
        assert seed_of(page) == "7"
        assert errors.empty, errors


def sweep_report(page: Page) -> FrameLocator:
    page.get_by_role("button", name="Open…").click()
    page.get_by_role("button", name="Report of Who wins").click()
    report = page.frame_locator("iframe")
    expect(report.locator("#figure-0 svg.marks")).to_be_visible(timeout=30_000)
    return report


@pytest.mark.slow
def test_a_cell_of_a_sweep_s_map_opens_its_run(chromium: Browser, server: Served) -> None:
    with visited(chromium, server.url) as (page, errors):
        report = sweep_report(page)
        report.locator("#figure-0 svg .mark-rect path").nth(3).click(force=True)
        runs = report.locator("dialog#runs")
        at = runs.locator("h2").inner_text()
        runs.get_by_role("button", name="Open the experiment of seed 2").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        rtt, buffer = (part.split()[-1] for part in at.split(": ")[1].split(", "))
        expect(page.locator(".cm-content")).to_contain_text(f'rtt = "{rtt}"')
        expect(page.locator(".cm-content")).to_contain_text(f"bfifo limit {buffer}")
        assert seed_of(page) == "2"
        assert errors.empty, errors


@pytest.mark.slow
def test_a_sweep_s_map_opens_the_report_of_a_kept_run(chromium: Browser, server: Served) -> None:
    with visited(chromium, server.url) as (page, errors):
        report = sweep_report(page)
        report.locator("#figure-0 svg .mark-rect path").first.click(force=True)
        report.get_by_role("button", name="Report of seed 2").click()
        expect(page.get_by_role("dialog").locator("h2")).to_contain_text("seed 2")
        expect(report.locator("#figure-0 svg.marks")).to_be_visible(timeout=30_000)
        page.get_by_role("button", name="Back to the maps").click()
        expect(report.locator("#figure-0 svg .mark-rect path").first).to_be_attached(timeout=30_000)
        assert errors.empty, errors


@pytest.mark.slow
def test_a_typed_path_is_added_and_one_outside_the_folder_is_refused(chromium: Browser, server: Served) -> None:
    with visited(chromium, server.url) as (page, errors):
        page.get_by_role("button", name="Open…").click()
        path = page.get_by_label("A path below")
        path.fill("../../etc")
        path.press("Enter")
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("no such file or folder below")
        path.fill("other.toml")
        path.press("Enter")
        page.get_by_role("button", name="Play The other").click()
        expect(page.locator(".cm-content")).to_contain_text("The other")
        # Chromium writes the status of a refused request to its console.
        assert [text for text in errors.messages if "422" not in text] == []
        assert errors.foreign_requests == []


@pytest.mark.slow
def test_a_log_is_imported_from_the_file_dialog_and_by_drag_and_drop(
    chromium: Browser, server: Served, tmp_path: Path
) -> None:
    log = tmp_path / "first.log"
    log.write_text(IPERF3)
    with visited(chromium, server.url) as (page, errors):
        page.get_by_role("button", name="Open…").click()
        page.get_by_label("Import a log").set_input_files(log)
        expect(page.frame_locator("iframe").locator("body")).to_contain_text("Imported logs", timeout=30_000)
        page.get_by_role("button", name="Back").click()
        expect(page.locator(".things")).to_contain_text("first")
        page.keyboard.press("Escape")
        drop(page, "second.log", IPERF3)
        expect(page.get_by_role("dialog")).to_contain_text("second")
        page.keyboard.press("Escape")
        before = text_of(page)
        drop(page, "third.log", "no log at all\n")
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("third.log: line 1: unknown log format")
        page.keyboard.press("Escape")
        assert text_of(page) == before
        drop(page, "mine.toml", MINE)
        expect(page.locator(".cm-content")).to_contain_text("My own")
        assert [text for text in errors.messages if "422" not in text] == []
        assert errors.foreign_requests == []


def drop(page: Page, name: str, content: str) -> None:
    """Drop a file on the editor, which would otherwise insert its text."""
    data = page.evaluate_handle(
        """([name, content]) => {
          const data = new DataTransfer();
          data.items.add(new File([content], name));
          return data;
        }""",
        [name, content],
    )
    for event in ("dragover", "drop"):
        page.dispatch_event(".cm-content", event, {"dataTransfer": data})


def test_a_link_restores_the_experiment_and_its_seed(chromium: Browser, server: Served) -> None:
    with visited(chromium, server.url) as (page, errors):
        drop(page, "mine.toml", MINE.replace("My own", "Über → 东"))
        page.get_by_role("button", name="Next seed").click()
        page.get_by_role("button", name="Copy link").click()
        expect(page.locator(".tools [role='status']")).to_contain_text("Copied")
        link = page.evaluate("navigator.clipboard.readText()")
        before = text_of(page)
        assert link == page.url
        assert errors.empty, errors
    with visited(chromium, server.url, link.removeprefix(server.url.rstrip("/"))) as (page, errors):
        expect(page.locator(".cm-content")).to_contain_text("Über → 东")
        assert text_of(page) == before
        assert seed_of(page) == "2"
        assert errors.empty, errors


@pytest.mark.slow
def test_a_broken_link_is_reported_and_the_page_works(chromium: Browser, server: Served) -> None:
    with visited(chromium, server.url, "/#e=eJwLycgsVgCi") as (page, errors):
        expect(page.locator(".tools [role='status']")).to_contain_text("This link is broken")
        expect(page.locator(".cm-content")).to_contain_text("A dumbbell")
        assert errors.empty, errors


DOWNLOADS = ["figure.svg", "figure.png", "figure.pdf", "data.csv", "data.parquet", "experiment.toml", "report.html"]


@pytest.mark.slow
def test_the_shown_run_can_be_downloaded(chromium: Browser, server: Served, tmp_path: Path) -> None:
    with visited(chromium, server.url) as (page, errors):
        drop(page, "mine.toml", MINE)
        expect(page.locator(".cm-content")).to_contain_text("My own")
        for what in DOWNLOADS:
            page.get_by_label("What to download").select_option(what)
            with page.expect_download() as download:
                page.get_by_role("button", name="Download").click()
            file = download.value
            suffix = f"{what.split('.')[1]}.zip" if what.startswith("data") else what.split(".")[1]
            assert file.suggested_filename == f"my-own-seed1{'-' if suffix.endswith('zip') else '.'}{suffix}"
            file.save_as(tmp_path / file.suggested_filename)
        assert errors.empty, errors
    assert (tmp_path / "my-own-seed1.toml").read_text() == MINE
    assert (tmp_path / "my-own-seed1.png").read_bytes().startswith(b"\x89PNG")
    with zipfile.ZipFile(tmp_path / "my-own-seed1-parquet.zip") as archive:
        assert json.loads(archive.read("my-own-seed1-parquet/run.json"))["seed"] == 1


@pytest.mark.slow
def test_another_seed_gives_another_run(chromium: Browser, server: Served) -> None:
    with visited(chromium, server.url) as (page, errors):
        drop(page, "mine.toml", MINE.replace("[path]", '[path]\nloss = "1%"'))
        figure = page.locator(".panel .plot").first
        expect(page.locator(".cm-content")).to_contain_text("My own")
        first = figure.get_attribute("aria-label") or ""
        page.get_by_role("button", name="Next seed").click()
        expect(figure).not_to_have_attribute("aria-label", first)
        assert seed_of(page) == "2"
        assert errors.empty, errors
