"""The kernel's curves in the workbench's page, in a browser."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from web.browsing import text_of, visited
from web.serving import Served, served

RUN = "Run on the real kernel"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("here")) as running:
        yield running


def write(page: Page, old: str, new: str) -> None:
    """Replace the editor's line that contains `old`, by the keyboard."""
    page.locator(".cm-line", has_text=old).click()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")
    page.keyboard.type(new)


@pytest.mark.slow
@pytest.mark.kernel
def test_the_kernel_s_curves_are_shown_until_the_text_changes(chromium: Browser, server: Served) -> None:
    with visited(chromium, server.url) as (page, errors):
        page.get_by_role("button", name=RUN).click()
        section = page.get_by_role("region", name="Agreement of simulator and kernel")
        expect(section.get_by_role("row").nth(1)).to_contain_text("groups.", timeout=60_000)
        expect(section).to_contain_text("only one run")
        expect(page.locator(".key")).to_contain_text("kernel")
        plot = page.locator(".panel").first
        plot.locator(".u-over").hover()
        expect(plot.locator(".readout")).to_contain_text("kernel: bbr")
        before = text_of(page)
        page.get_by_label("RTT", exact=True).fill("300")
        expect(section).to_have_count(0)
        expect(page.locator(".key")).to_have_count(0)
        expect(page.locator(".stale")).to_contain_text("another experiment")
        page.get_by_role("button", name="Back to it").click()
        expect(section).to_be_visible()
        assert text_of(page) == before
        assert errors.empty, errors


@pytest.mark.kernel
def test_a_cancelled_run_can_be_restarted(chromium: Browser, server: Served) -> None:
    with visited(chromium, server.url) as (page, errors):
        write(page, "duration", 'duration = "300s"')
        expect(page.locator(".panel .plot").first).to_have_attribute(
            "aria-label", re.compile("over 300 s"), timeout=30_000
        )
        page.get_by_role("button", name=RUN).click()
        expect(page.get_by_role("progressbar")).to_be_visible()
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("button", name=RUN)).to_be_enabled()
        expect(page.get_by_role("region", name="Agreement of simulator and kernel")).to_have_count(0)
        assert errors.empty, errors


@pytest.mark.slow
@pytest.mark.kernel
def test_an_unsupported_setting_is_reported_with_its_line(chromium: Browser, server: Served) -> None:
    with visited(chromium, server.url) as (page, errors):
        write(page, "rtt", 'telemetry = true\nrtt = "40ms"')
        page.get_by_role("button", name=RUN).click()
        expect(page.locator(".kernel .trouble")).to_contain_text("line 5, path.telemetry")
        assert errors.empty, errors


@pytest.mark.slow
def test_without_a_kernel_the_page_names_the_command_that_builds_one(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path))
    with served(tmp_path) as server, visited(chromium, server.url) as (page, errors):
        expect(page.locator(".kernel")).to_contain_text("dumbbell kernel build")
        expect(page.get_by_role("button", name=RUN)).to_be_disabled()
        assert errors.empty, errors
