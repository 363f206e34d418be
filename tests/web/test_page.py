"""The page as people use it, in a headless Chromium: every control, both editors in step, pins, colours, widths."""

import re
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from web.browsing import settled

Open = Callable[..., Any]
PATIENCE_MS = 60_000


def toml(page: Any) -> dict[str, Any]:
    """The experiment as the editor shows it."""
    return tomllib.loads(page.locator(".cm-content").inner_text())


def figured(page: Any) -> str:
    """The figures in words: they change when the figure does."""
    return " ".join(box.get_attribute("aria-label") for box in page.locator(".plot").all())


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
def test_a_control_writes_the_text_and_moves_the_figure(
    opened: Open, control: str, keys: tuple[Any, ...], key: str
) -> None:
    page = opened()
    settled(page)
    before, drawn = toml(page), figured(page)
    slider = page.get_by_label(control, exact=True)
    for _ in range(30):
        slider.press(key)
    settled(page)
    assert at(toml(page), keys) != at(before, keys)
    assert figured(page) != drawn


def at(document: Any, keys: tuple[Any, ...]) -> Any:
    for key in keys:
        document = document[key] if isinstance(key, int) or key in document else None
    return document


def test_a_queue_is_chosen_and_keeps_its_buffer(opened: Open) -> None:
    page = opened()
    for kind in ("codel", "red", "fq_codel", "cake", "pfifo"):
        page.get_by_label("Queue", exact=True).select_option(kind)
        settled(page)
        assert toml(page)["path"]["bottleneck"]["qdisc"].split()[0] == kind
        expect(page.locator(".trouble")).to_have_count(0)


def test_flows_come_and_go(opened: Open) -> None:
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


def test_what_is_typed_moves_the_controls(opened: Open) -> None:
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
    expect(page.get_by_label("RTT", exact=True)).to_have_attribute("aria-valuetext", "20 ms", timeout=PATIENCE_MS)


def test_a_slip_is_shown_where_it_is_and_the_figure_stays(opened: Open) -> None:
    page = opened()
    drawn = figured(page)
    editor = page.get_by_label("Experiment as TOML")
    editor.click()
    editor.press("Control+End")
    editor.press_sequentially("count = -3")
    expect(page.get_by_role("alert")).to_contain_text("line 16", timeout=PATIENCE_MS)
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    assert figured(page) == drawn


def test_a_pinned_run_stays_behind_the_next(opened: Open) -> None:
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


def test_the_legend_hides_a_flow(opened: Open) -> None:
    page = opened()
    button = page.locator(".legend button", has_text="cubic")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")


def test_the_values_at_the_cursor_are_those_of_the_figure_on_the_screen(opened: Open) -> None:
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


def test_every_scenario_can_be_chosen(opened: Open) -> None:
    page = opened()
    chooser = page.get_by_label("Experiment", exact=True)
    for name in ("cyclic", "two-classes: plain", "dumbbell"):
        chooser.select_option(label=name)
        settled(page)
        expect(page.locator(".trouble")).to_have_count(0)


def test_the_last_turn_of_a_control_waits_for_no_long_run_before_it(opened: Open) -> None:
    page = opened()
    given_up: list[str] = []
    page.on("requestfailed", lambda request: given_up.append(request.url))
    for control in ("Rate", "Duration"):
        page.get_by_label(control, exact=True).press("End")
    page.get_by_label("Rate", exact=True).press("Home")
    settled(page)
    assert given_up
    assert toml(page)["path"]["bottleneck"]["rate"] == "100kbit"


def test_two_tabs_don_t_know_of_each_other(opened: Open) -> None:
    one, two = opened(), opened()
    one.get_by_label("RTT", exact=True).press("ArrowRight")
    settled(one)
    assert toml(two)["path"]["rtt"] == "40ms"


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_nothing_is_wider_than_the_screen(opened: Open, width: int) -> None:
    page = opened(width=width, height=900)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_server_that_went_away_is_said(opened: Open) -> None:
    page = opened(forgiven="503")
    page.route("**/api/**", lambda route: route.fulfill(status=503, json={"error": "too much at once: come again"}))
    page.get_by_label("RTT", exact=True).press("ArrowRight")
    expect(page.get_by_role("alert")).to_contain_text("come again")
