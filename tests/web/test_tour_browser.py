"""The tour in a headless Chromium: completed by its controls, left and resumed, read out, and on a phone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from web.browsing import settled

Open = Callable[..., Any]
PATIENCE_MS = 60_000
TOUR = Path(__file__).parents[2] / "ui" / "src" / "tour"
STEPS: list[dict[str, Any]] = json.loads((TOUR / "steps.json").read_text(encoding="utf-8"))
SEVEN = len(STEPS)
NOTCHES = 48
"""A hand goes over a slider in so many small movements."""
TOWARDS = {"bdp": 1, "buffer": -1, "loss": 1, "turns": 1}


def toured(opened: Open, **options: Any) -> Any:
    page = opened("#tour", **options)
    expect(page.locator("#tour-step")).to_have_text(STEPS[0]["title"], timeout=PATIENCE_MS)
    heard(page)
    return page


def heard(page: Any) -> None:
    """Wait for the figure of what is on the screen, and the verdict on it."""
    settled(page)
    expect(page.locator(".verdict")).not_to_have_text("Simulating …", timeout=PATIENCE_MS)
    assert "unknown number" not in page.locator(".verdict").inner_text()


def solved(page: Any, step: dict[str, Any]) -> None:
    """Turn the step's control as a hand does, until the page says that the answer was found."""
    control = step["control"]
    if "choices" in control:
        for choice in control["choices"]:
            page.locator(".bench select").select_option(choice)
            heard(page)
            if page.locator(".verdict.found").count():
                break
    else:
        slider = page.locator(".bench input[type=range]")
        notch = TOWARDS[step["experiment"]] * int(slider.get_attribute("max")) / NOTCHES
        at = float(slider.input_value())
        for turns in range(1, NOTCHES):
            slider.fill(str(round(at + turns * notch)))
            heard(page)
            if page.locator(".verdict.found").count():
                break
    expect(page.locator(".verdict.found")).to_be_visible()
    expect(page.locator(".meaning")).to_be_visible(timeout=PATIENCE_MS)


def test_the_tour_can_be_finished_by_turning_its_controls(opened: Open) -> None:
    page = toured(opened)
    for place, step in enumerate(STEPS):
        expect(page.locator("#tour-step")).to_have_text(step["title"])
        expect(page.locator("#tour-step")).to_be_focused()
        expect(page.locator(".progress > span")).to_have_text(f"{place + 1} of {SEVEN}")
        heard(page)
        expect(page.locator(".verdict.found")).to_have_count(0)
        expect(page.locator(".meaning")).to_have_count(0)
        expect(page.locator(".panel")).to_have_count(len(step["panels"]))
        solved(page, step)
        page.get_by_role("button", name="Finish" if place == SEVEN - 1 else "Next", exact=True).click()
    expect(page.locator("#tour-step")).to_have_text("That was the tour")
    assert "You found all 7 answers" in page.locator(".tour").inner_text()
    page.get_by_role("button", name="To the workbench").click()
    expect(page.locator(".tour")).to_have_count(0)


def test_a_verdict_is_warmer_or_colder_and_read_out_when_the_hand_rests(opened: Open) -> None:
    page = toured(opened)
    slider = page.locator(".bench input[type=range]")
    said = page.locator(".tour > [role=status]")
    expect(said).to_contain_text("too few packets are in flight", timeout=PATIENCE_MS)
    slider.fill("40")
    expect(page.locator(".verdict.warmer")).to_be_visible(timeout=PATIENCE_MS)
    expect(said).to_contain_text("Warmer.", timeout=PATIENCE_MS)
    slider.fill("20")
    expect(page.locator(".verdict.colder")).to_be_visible(timeout=PATIENCE_MS)


def test_another_control_is_no_answer(opened: Open) -> None:
    page = toured(opened)
    page.locator(".controls").get_by_label("Rate", exact=True).fill("0")
    expect(page.locator(".verdict.elsewhere")).to_contain_text("rate", timeout=PATIENCE_MS)
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".verdict.no")).to_be_visible(timeout=PATIENCE_MS)


@pytest.mark.parametrize("place", range(SEVEN))
def test_show_me_shows_the_answer(opened: Open, place: int) -> None:
    page = toured(opened)
    page.locator(".progress li button").nth(place).click()
    heard(page)
    page.get_by_role("button", name="Show me").click()
    expect(page.locator(".verdict.found")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator(".meaning")).to_be_visible(timeout=PATIENCE_MS)


def test_who_leaves_has_back_what_was_there_and_who_returns_is_where_they_were(opened: Open) -> None:
    page = opened()
    page.get_by_label("Rate", exact=True).press("ArrowLeft")
    settled(page)
    before = page.locator(".cm-content").inner_text()
    panels = page.locator(".panel").count()
    page.get_by_role("button", name="Take the tour").click()
    heard(page)
    page.get_by_role("button", name="Show me").click()
    expect(page.locator(".verdict.found")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.locator("#tour-step")).to_have_text(STEPS[1]["title"])
    heard(page)
    page.get_by_role("button", name="Leave").click()
    expect(page.locator(".panel")).to_have_count(panels, timeout=PATIENCE_MS)
    assert page.locator(".cm-content").inner_text() == before
    assert "#" not in page.url
    page.reload()
    page.get_by_role("button", name="Take the tour").click()
    expect(page.locator("#tour-step")).to_have_text(STEPS[1]["title"], timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name=f"1: {STEPS[0]['title']} (found)")).to_be_visible()


@pytest.mark.parametrize("kept", ["{", "null", '{"place": 99, "found": 7}', '{"place": "x", "found": ["nonsense"]}'])
def test_what_the_browser_kept_is_believed_as_far_as_it_makes_sense(opened: Open, kept: str) -> None:
    page = opened()
    page.evaluate("kept => localStorage.setItem('dumbbell-tour', kept)", kept)
    page.get_by_role("button", name="Take the tour").click()
    expect(page.locator("#tour-step")).to_be_visible()
    assert page.locator("#tour-step").inner_text() in {step["title"] for step in STEPS}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_the_control_stays_in_sight_beside_the_figures_and_covers_none(opened: Open, scheme: str) -> None:
    page = toured(opened, width=390, height=844, color_scheme=scheme)
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
    expect(page.locator(".verdict.found")).to_be_in_viewport(timeout=PATIENCE_MS)
