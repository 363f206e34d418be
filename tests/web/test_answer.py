"""The answer, comparisons, words and help of the page in a headless Chromium."""

import re
import tomllib
from typing import Any

import pytest
from playwright.sync_api import expect

from web.browsing import OpenPage, settled


def toml(page: Any) -> dict[str, Any]:
    """Return the experiment in the editor."""
    return tomllib.loads(page.locator(".cm-content").inner_text())


def test_the_answer_names_the_leader_and_its_suggestion_changes_the_run(opened: OpenPage) -> None:
    page = opened()
    settled(page)
    expect(page.locator(".sentence")).to_contain_text(re.compile(r"BBR takes \d+\s% of the traffic"))
    expect(page.locator(".tile")).to_have_count(4)
    page.get_by_role("button", name="Replace the queue by fq_codel").click()
    settled(page)
    assert toml(page)["path"]["bottleneck"]["qdisc"] == "fq_codel"
    expect(page.locator(".sentence")).to_contain_text("share the link about evenly")
    expect(page.locator(".tile .change.good").first).to_contain_text("was")
    page.get_by_role("button", name="Undo").click()
    settled(page)
    assert toml(page)["path"]["bottleneck"]["qdisc"] == "pfifo limit 1bdp"
    page.locator(".sentence").click()
    page.keyboard.press("Control+y")
    settled(page)
    assert toml(page)["path"]["bottleneck"]["qdisc"] == "fq_codel"


@pytest.mark.slow(keep="390-844")
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_answer_picture_and_first_track_are_visible_without_scrolling(
    opened: OpenPage, width: int, height: int
) -> None:
    page = opened(width=width, height=height)
    settled(page)
    for part in (".sentence", ".tiles", ".play canvas", ".labels", ".axis", ".panel"):
        box = page.locator(part).first.bounding_box()
        assert box["y"] >= 0, part
        assert box["y"] + box["height"] <= height, part
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_after_a_rest_five_seeds_give_ranges(opened: OpenPage) -> None:
    page = opened()
    expect(page.locator(".tile .seeds").first).to_contain_text("5 seeds: ")
    expect(page.locator(".legend")).to_contain_text("the range of 5 seeds")


@pytest.mark.slow
def test_two_runs_stand_side_by_side_and_a_sweep_gives_six(opened: OpenPage) -> None:
    page = opened()
    page.get_by_label("RTT", exact=True).press("ArrowRight")
    settled(page)
    expect(page.locator(".legend")).to_contain_text("before the last change")
    panels = page.locator(".panel").count()
    page.get_by_role("button", name="A | B").click()
    expect(page.locator(".panel .plot")).to_have_count(2 * panels)
    page.get_by_text("Sweep a control").click()
    page.get_by_role("button", name="Run the sweep").click()
    expect(page.locator(".strip li")).to_have_count(6)
    page.locator(".strip button").last.click()
    settled(page)
    assert toml(page)["path"]["bottleneck"]["qdisc"] == "pfifo limit 3bdp"


@pytest.mark.slow
def test_a_term_shows_its_line_in_the_language_of_the_page(opened: OpenPage) -> None:
    page = opened()
    page.get_by_role("button", name="Buffer", exact=True).click()
    line = page.locator(".term-line:popover-open")
    expect(line).to_contain_text("the memory of a queue")
    page.keyboard.press("Escape")
    expect(line).to_have_count(0)
    page.get_by_label("Language").select_option("zh-Hans")
    page.get_by_role("button", name="缓冲区", exact=True).click()
    expect(line).to_contain_text("队列的存储空间")
    expect(page.locator(".sentence")).to_contain_text("流量")


@pytest.mark.slow
def test_the_text_completes_keys_and_a_button_fixes_a_misspelt_name(opened: OpenPage) -> None:
    page = opened()
    editor = page.get_by_label("Experiment as TOML")
    editor.click()
    editor.press("Control+End")
    editor.press_sequentially("cou")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("count")
    editor.press("Escape")
    for _ in range(3):
        editor.press("Backspace")
    editor.press("ArrowUp")
    editor.press("End")
    editor.press("Backspace")
    editor.press_sequentially('x"')
    page.locator("#text").get_by_role("button", name="Write cubic").click()
    settled(page)
    assert toml(page)["flows"][1]["cc"] == "cubic"
    expect(page.locator("#text .trouble")).to_have_count(0)


@pytest.mark.slow
def test_a_control_marks_its_line_and_a_track_closes(opened: OpenPage) -> None:
    page = opened()
    page.get_by_label("Rate", exact=True).press("ArrowLeft")
    settled(page)
    expect(page.locator(".cm-changed")).to_contain_text("rate")
    fold = page.locator(".panel .fold").first
    fold.click()
    expect(fold).to_have_attribute("aria-expanded", "false")
    expect(page.locator(".panel").first.locator(".plot")).to_have_count(0)
    start = page.get_by_label("Figures from")
    start.fill("500")
    expect(page.locator(".scale span").first).to_have_text(re.compile("^(15|16)"))
