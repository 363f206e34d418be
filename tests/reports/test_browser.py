"""The page of a real run in a real browser: no requests, no console messages, one zoom for all panels, on a phone.

Skipped without Chromium (Debian's package `chromium`).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

import dumbbell as db
from dumbbell.reports.page import PANELS, write
from dumbbell.results.result import load
from web.browsing import CHROMIUM

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: reports were not opened in a browser"),
]

MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 120 seconds of `cyclic`."""
    return db.run(db.scenario("cyclic")).report(tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


def open_page(browser: Browser, report: Path, width: int, messages: list[str]) -> Page:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: messages.append(request.url) if request.url != report.as_uri() else None)
    page.goto(report.as_uri())
    page.wait_for_function(
        "document.querySelectorAll('.figure').length === document.querySelectorAll('.figure svg.marks').length"
    )
    return page


def axes(page: Page) -> list[str]:
    """The ranges of the time axes of the first figure's panels."""
    labels = page.locator("#figure-0 [aria-label^='X-axis']").evaluate_all(
        "found => found.map(axis => axis.getAttribute('aria-label'))"
    )
    return [label.rpartition("values from ")[2] for label in labels]


def test_a_page_opens_without_network_or_console_messages_and_is_small(browser: Browser, report: Path) -> None:
    messages: list[str] = []
    page = open_page(browser, report, 1200, messages)
    assert messages == []
    assert page.locator("h1").inner_text() == "BBR leads CUBIC at a shallow buffer; their shares rise and fall"
    assert page.locator(".figure svg.marks").count() == 3
    assert report.stat().st_size < MOST_BYTES
    page.close()


def changed_range(page: Page, before: str) -> str:
    """The range of all panels after it has changed."""
    page.wait_for_function(
        """before => {
          const all = [...document.querySelectorAll("#figure-0 [aria-label^='X-axis']")];
          const shown = new Set(all.map(axis => axis.getAttribute("aria-label").split("values from ")[1]));
          return shown.size === 1 && !shown.has(before);
        }""",
        arg=before,
    )
    return axes(page)[0]


@pytest.mark.slow
def test_ctrl_wheel_and_drag_zoom_and_pan_all_panels(browser: Browser, report: Path) -> None:
    messages: list[str] = []
    page = open_page(browser, report, 1200, messages)
    assert axes(page) == ["0 to 120"] * len(PANELS)
    marks = page.locator("#figure-0 svg.marks")
    marks.evaluate("figure => figure.scrollIntoView({block: 'start', behavior: 'instant'})")
    area = marks.bounding_box()
    assert area is not None
    x, y = area["x"] + area["width"] / 2, area["y"] + 100
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.mouse.down()
    page.mouse.move(x + 100, y, steps=5)
    page.mouse.up()
    # Headless Chromium paints a wheel event with the next drag, so test both together.
    first, last = (float(end.replace("−", "-")) for end in changed_range(page, "0 to 120").split(" to "))
    assert last - first < 110  # The wheel's zoom: 120 × 0.8.
    assert (first + last) / 2 < 60  # The drag's pan.
    assert messages == []
    page.close()


@pytest.mark.slow
def test_a_click_on_the_legend_selects_a_flow_and_a_second_deselects_it(browser: Browser, report: Path) -> None:
    page = open_page(browser, report, 1200, [])
    faint = "#figure-0 path[opacity='0.06']"
    entry = page.locator("#figure-0 .role-legend-label text", has_text="bbr-1")
    assert page.locator(faint).count() == 0
    entry.click()
    page.wait_for_function(f'document.querySelectorAll("{faint}").length >= 3')
    entry.click()
    page.wait_for_function(f'document.querySelectorAll("{faint}").length === 0')
    page.close()


def test_a_phone_scrolls_tables_and_not_the_page(browser: Browser, report: Path) -> None:
    page = open_page(browser, report, 390, [])
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".scroll").evaluate_all("all => all.some(one => one.scrollWidth > one.clientWidth)")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.close()


@pytest.mark.slow
def test_print_has_every_figure_and_no_buttons(browser: Browser, report: Path) -> None:
    page = open_page(browser, report, 1000, [])
    page.emulate_media(media="print")
    assert page.locator(".figure svg.marks").count() == 3
    assert not page.locator(".vega-embed summary").first.is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.close()


@pytest.mark.slow
def test_a_page_of_eight_runs_is_short_and_draws_a_run_on_opening_its_section(browser: Browser, tmp_path: Path) -> None:
    runs = [db.run(db.scenario("lossy-download").case(f"bbr at {loss}% loss")) for loss in (0, 1)]
    path = tmp_path / "page.html"
    write([load(run.folder) for run in runs] * 4, path)
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(path.as_uri())
    drawn = ".figure svg.marks"
    page.wait_for_function(f'document.querySelectorAll("{drawn}").length === 4')
    assert page.evaluate("document.documentElement.scrollHeight") < 4000
    page.locator("section > details > summary").first.click()
    page.wait_for_function(f'document.querySelectorAll("{drawn}").length > 4')
    assert page.locator("section > details[open] .figure").count() == page.locator(f"details[open] {drawn}").count()
    page.close()
