"""The tour in a headless Chromium: completed by its controls, left and resumed, announced, and on a phone."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from web.browsing import TIMEOUT_MS, OpenPage, settled

TOUR = Path(__file__).parents[2] / "ui" / "src" / "tour"
STEPS: list[dict[str, Any]] = json.loads((TOUR / "steps.json").read_text(encoding="utf-8"))
STEP_COUNT = len(STEPS)
NOTCHES = 48
"""The number of small movements over a slider."""
DIRECTIONS = {"bdp": 1, "buffer": -1, "loss": 1, "turns": 1}


def open_tour(opened: OpenPage, **options: Any) -> Any:
    page = opened("#tour", **options)
    expect(page.locator("#tour-step")).to_have_text(STEPS[0]["title"], timeout=TIMEOUT_MS)
    wait_for_verdict(page)
    return page


def wait_for_verdict(page: Any) -> None:
    """Wait for the figure of the shown experiment and its verdict."""
    settled(page)
    expect(page.locator(".verdict")).not_to_have_text("Simulating …", timeout=TIMEOUT_MS)
    assert "unknown number" not in page.locator(".verdict").inner_text()


def solve(page: Any, step: dict[str, Any]) -> None:
    """Move the step's control until the page reports that the answer was found."""
    control = step["control"]
    if "choices" in control:
        for choice in control["choices"]:
            page.locator(".bench select").select_option(choice)
            wait_for_verdict(page)
            if page.locator(".verdict.found").count():
                break
    else:
        slider = page.locator(".bench input[type=range]")
        step_size = DIRECTIONS[step["experiment"]] * int(slider.get_attribute("max")) / NOTCHES
        start = float(slider.input_value())
        for count in range(1, NOTCHES):
            slider.fill(str(round(start + count * step_size)))
            wait_for_verdict(page)
            if page.locator(".verdict.found").count():
                break
    expect(page.locator(".verdict.found")).to_be_visible()
    expect(page.locator(".meaning")).to_be_visible(timeout=TIMEOUT_MS)


@pytest.mark.slow
def test_the_tour_can_be_finished_by_its_controls(opened: OpenPage) -> None:
    page = open_tour(opened)
    for index, step in enumerate(STEPS):
        expect(page.locator("#tour-step")).to_have_text(step["title"])
        expect(page.locator("#tour-step")).to_be_focused()
        expect(page.locator(".progress > span")).to_have_text(f"{index + 1} of {STEP_COUNT}")
        wait_for_verdict(page)
        expect(page.locator(".verdict.found")).to_have_count(0)
        expect(page.locator(".meaning")).to_have_count(0)
        expect(page.locator(".panel")).to_have_count(len(step["panels"]))
        solve(page, step)
        page.get_by_role("button", name="Finish" if index == STEP_COUNT - 1 else "Next", exact=True).click()
    expect(page.locator("#tour-step")).to_have_text("End of the tour")
    assert "You found all 7 answers" in page.locator(".tour").inner_text()
    page.get_by_role("button", name="To the workbench").click()
    expect(page.locator(".tour")).to_have_count(0)


def test_a_verdict_is_warmer_or_colder_and_announced_when_the_control_rests(opened: OpenPage) -> None:
    page = open_tour(opened)
    slider = page.locator(".bench input[type=range]")
    status = page.locator(".tour > [role=status]")
    expect(status).to_contain_text("too few packets are in flight", timeout=TIMEOUT_MS)
    slider.fill("40")
    expect(page.locator(".verdict.warmer")).to_be_visible(timeout=TIMEOUT_MS)
    expect(status).to_contain_text("Warmer.", timeout=TIMEOUT_MS)
    slider.fill("20")
    expect(page.locator(".verdict.colder")).to_be_visible(timeout=TIMEOUT_MS)


@pytest.mark.slow
def test_another_control_gives_no_answer(opened: OpenPage) -> None:
    page = open_tour(opened)
    page.locator(".play").get_by_label("Rate", exact=True).fill("0")
    expect(page.locator(".verdict.elsewhere")).to_contain_text("rate", timeout=TIMEOUT_MS)
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".verdict.no")).to_be_visible(timeout=TIMEOUT_MS)


@pytest.mark.slow(keep="0")
@pytest.mark.parametrize("index", range(STEP_COUNT))
def test_show_me_shows_the_answer(opened: OpenPage, index: int) -> None:
    page = open_tour(opened)
    page.locator(".progress li button").nth(index).click()
    wait_for_verdict(page)
    page.get_by_role("button", name="Show me").click()
    expect(page.locator(".verdict.found")).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.locator(".meaning")).to_be_visible(timeout=TIMEOUT_MS)


@pytest.mark.slow
def test_leaving_restores_the_experiment_and_returning_resumes_the_step(opened: OpenPage) -> None:
    page = opened()
    page.get_by_label("Rate", exact=True).press("ArrowLeft")
    settled(page)
    before = page.locator(".cm-content").inner_text()
    panels = page.locator(".panel").count()
    page.get_by_role("button", name="Tour", exact=True).click()
    wait_for_verdict(page)
    page.get_by_role("button", name="Show me").click()
    expect(page.locator(".verdict.found")).to_be_visible(timeout=TIMEOUT_MS)
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.locator("#tour-step")).to_have_text(STEPS[1]["title"])
    wait_for_verdict(page)
    page.get_by_role("button", name="Leave").click()
    expect(page.locator(".panel")).to_have_count(panels, timeout=TIMEOUT_MS)
    assert page.locator(".cm-content").inner_text() == before
    assert "#" not in page.url
    page.reload()
    page.get_by_role("button", name="Tour", exact=True).click()
    expect(page.locator("#tour-step")).to_have_text(STEPS[1]["title"], timeout=TIMEOUT_MS)
    expect(page.get_by_role("button", name=f"1: {STEPS[0]['title']} (found)")).to_be_visible()


@pytest.mark.slow(keep="null")
@pytest.mark.parametrize("stored", ["{", "null", '{"place": 99, "found": 7}', '{"place": "x", "found": ["nonsense"]}'])
def test_an_invalid_stored_state_of_the_tour_is_ignored(opened: OpenPage, stored: str) -> None:
    page = opened()
    page.evaluate("stored => localStorage.setItem('dumbbell-tour', stored)", stored)
    page.get_by_role("button", name="Tour", exact=True).click()
    expect(page.locator("#tour-step")).to_be_visible()
    assert page.locator("#tour-step").inner_text() in {step["title"] for step in STEPS}


@pytest.mark.slow(keep="light")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_the_control_stays_visible_and_covers_no_figure(opened: OpenPage, scheme: str) -> None:
    page = open_tour(opened, width=390, height=844, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".panel").first.evaluate(
        "panel => scrollBy(0, panel.getBoundingClientRect().top - document.querySelector('.bench').offsetHeight - 20)"
    )
    bench, panel = page.locator(".bench").bounding_box(), page.locator(".panel").first.bounding_box()
    assert bench is not None
    assert panel is not None
    assert bench["y"] >= 0
    assert bench["y"] + bench["height"] <= panel["y"]
    assert panel["y"] + panel["height"] <= 844
    page.locator(".bench input[type=range]").fill("45")
    expect(page.locator(".verdict.found")).to_be_in_viewport(timeout=TIMEOUT_MS)
