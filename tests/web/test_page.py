"""The page in a headless Chromium: every control, the text and the controls in sync, pins, widths."""

import re
import tomllib
from typing import Any

import pytest
from playwright.sync_api import expect

from web.browsing import TIMEOUT_MS, OpenPage, settled


def toml(page: Any) -> dict[str, Any]:
    """Return the experiment in the editor."""
    return tomllib.loads(page.locator(".cm-content").inner_text())


def figure_text(page: Any) -> str:
    """Return the descriptions of the figures, which change with the figures."""
    return " ".join(box.get_attribute("aria-label") for box in page.locator(".plot").all())


@pytest.mark.slow(keep="RTT-keys1-ArrowRight")
@pytest.mark.parametrize(
    ("control", "keys", "key"),
    [
        ("Rate", ("path", "bottleneck", "rate"), "ArrowLeft"),
        ("RTT", ("path", "rtt"), "ArrowRight"),
        ("Buffer", ("path", "bottleneck", "qdisc"), "ArrowRight"),
        ("Loss", ("path", "loss"), "ArrowRight"),
        ("Duration", ("duration",), "ArrowLeft"),
        ("Start of cubic", ("flows", 1, "start"), "ArrowRight"),
    ],
)
def test_a_control_changes_the_text_and_the_figure(
    opened: OpenPage, control: str, keys: tuple[Any, ...], key: str
) -> None:
    page = opened()
    settled(page)
    before, drawn = toml(page), figure_text(page)
    slider = page.get_by_label(control, exact=True)
    for _ in range(30):
        slider.press(key)
    settled(page)
    assert value_at(toml(page), keys) != value_at(before, keys)
    assert figure_text(page) != drawn


def value_at(document: Any, keys: tuple[Any, ...]) -> Any:
    for key in keys:
        document = document[key] if isinstance(key, int) or key in document else None
    return document


@pytest.mark.slow
def test_a_queue_discipline_can_be_selected(opened: OpenPage) -> None:
    page = opened()
    for kind in ("codel", "red", "fq_codel", "cake", "pfifo"):
        page.get_by_label("Queue", exact=True).select_option(kind)
        settled(page)
        assert toml(page)["path"]["bottleneck"]["qdisc"].split()[0] == kind
        expect(page.locator(".trouble")).to_have_count(0)


@pytest.mark.slow
def test_flows_can_be_added_and_removed(opened: OpenPage) -> None:
    page = opened()
    page.get_by_role("button", name="Add flows").click()
    settled(page)
    assert [group["cc"] for group in toml(page)["flows"]] == ["bbr", "cubic", "reno"]
    page.get_by_label("Controller of reno").select_option("dctcp")
    settled(page)
    page.get_by_label("How many flows of dctcp").fill("3")
    settled(page)
    assert toml(page)["flows"][2] == {"cc": "dctcp", "count": 3}
    page.get_by_role("button", name="Remove bbr").click()
    settled(page)
    assert [group["cc"] for group in toml(page)["flows"]] == ["cubic", "dctcp"]
    expect(page.locator(".legend button", has_text="dctcp-3")).to_be_visible()


def test_an_edit_of_the_text_changes_the_controls(opened: OpenPage) -> None:
    page = opened()
    editor = page.get_by_label("Experiment as TOML")
    editor.click()
    editor.press("Control+Home")
    for _ in range(4):
        editor.press("ArrowDown")
    editor.press("End")
    for _ in range(5):
        editor.press("Backspace")
    editor.press_sequentially('20ms"')
    expect(page.get_by_label("RTT", exact=True)).to_have_attribute("aria-valuetext", "20 ms", timeout=TIMEOUT_MS)


@pytest.mark.slow
def test_an_error_is_shown_at_its_line_and_the_figure_stays(opened: OpenPage) -> None:
    page = opened()
    drawn = figure_text(page)
    editor = page.get_by_label("Experiment as TOML")
    editor.click()
    editor.press("Control+End")
    editor.press_sequentially("count = -3")
    expect(page.get_by_role("alert")).to_contain_text("line 17", timeout=TIMEOUT_MS)
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    assert figure_text(page) == drawn


@pytest.mark.slow
def test_a_pinned_run_can_be_restored(opened: OpenPage) -> None:
    page = opened()
    first = toml(page)
    page.get_by_role("button", name="Pin this run").click()
    for _ in range(20):
        page.get_by_label("RTT", exact=True).press("ArrowRight")
    settled(page)
    assert toml(page) != first
    pin = page.locator(".pin button").first
    expect(pin).to_contain_text("40 ms")
    pin.click()
    settled(page)
    assert toml(page) == first
    page.get_by_role("button", name=re.compile("^Unpin")).click()
    expect(page.locator(".pin")).to_have_count(0)


@pytest.mark.slow
def test_the_legend_hides_a_flow(opened: OpenPage) -> None:
    page = opened()
    button = page.locator(".legend button", has_text="cubic")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")


@pytest.mark.slow
def test_the_readout_follows_a_new_figure(opened: OpenPage) -> None:
    page = opened()
    page.locator(".panel .u-over").first.click(position={"x": 200, "y": 60})
    readout = page.locator(".readout").first
    before = readout.inner_text()
    assert "bbr" in before
    page.get_by_label("Rate", exact=True).press("Home")
    settled(page)
    expect(readout).not_to_have_text(before)
    rate = re.search(r"bbr ([\d.]+)", readout.inner_text())
    assert rate
    assert float(rate[1]) <= 0.2


@pytest.mark.slow
def test_experiments_are_opened_from_the_gallery(opened: OpenPage) -> None:
    page = opened()
    for words, variant in (("shallow cyclic", None), ("two-classes", "plain"), ("dumbbell", None)):
        page.get_by_role("button", name="Gallery").click()
        page.get_by_role("textbox", name="Search").fill(words)
        card = page.locator(".card").first
        if variant:
            card.locator("select").select_option(label=variant)
        card.get_by_role("button").click()
        settled(page)
        expect(page.locator("dialog.gallery")).to_be_hidden()
        expect(page.locator(".gallery-open")).to_contain_text(variant or words.split()[-1])
        expect(page.locator(".trouble")).to_have_count(0)


@pytest.mark.slow
def test_a_new_value_of_a_control_cancels_the_run_of_the_last(opened: OpenPage) -> None:
    page = opened()
    cancelled: list[str] = []
    page.on("requestfailed", lambda request: cancelled.append(request.url))
    for control in ("Rate", "Duration"):
        page.get_by_label(control, exact=True).press("End")
    page.get_by_label("Rate", exact=True).press("Home")
    settled(page)
    assert cancelled
    assert toml(page)["path"]["bottleneck"]["rate"] == "100kbit"


@pytest.mark.slow
def test_two_tabs_are_independent(opened: OpenPage) -> None:
    first, second = opened(), opened()
    first.get_by_label("RTT", exact=True).press("ArrowRight")
    settled(first)
    assert toml(second)["path"]["rtt"] == "40ms"


@pytest.mark.slow(keep="390")
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_the_page_fits_the_width_of_the_screen(opened: OpenPage, width: int) -> None:
    page = opened(width=width, height=900)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_an_error_of_the_server_is_shown(opened: OpenPage) -> None:
    page = opened(allowed="503")
    page.route(
        "**/api/**",
        lambda route: route.fulfill(status=503, json={"error": "too many requests at once: try again later"}),
    )
    page.get_by_label("RTT", exact=True).press("ArrowRight")
    expect(page.get_by_role("alert")).to_contain_text("try again later")
