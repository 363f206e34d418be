"""Every lesson by keyboard from its first step to its end, in a real browser: predict, move the control, read."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from web.browsing import OpenPage

ROOT = Path(__file__).parents[2]
MESSAGES = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in (ROOT / "ui" / "src" / "messages").glob("*.json")
}
LESSONS = ("bufferbloat", "aqm", "random-loss", "fairness", "shallow-buffer", "loss", "two-classes", "bbr-states")


def tab_to(page: Any, selector: str) -> None:
    """Press Tab until an element has the focus; fails if it can't be reached."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement?.matches(selector) ?? false", selector):
            return
    raise AssertionError(f"Tab does not reach {selector}")


def press(page: Any, selector: str) -> None:
    tab_to(page, selector)
    page.keyboard.press("Enter")


def answered(page: Any, language: str) -> str:
    """Predict, do what the control needs, and return the answer's text."""
    tab_to(page, ".prediction input")
    page.keyboard.press("Space")
    if not page.locator(".shown table").count():
        while not page.locator(".answer").count():
            press(page, ".bench .main")
        return str(page.locator(".answer").inner_text())
    stops = page.locator(".shown tbody tr").count()
    for stop in range(1, stops):
        tab_to(page, ".bench :is(input, select)")
        page.keyboard.press("ArrowDown" if page.locator(".bench select").count() else "ArrowRight")
        expect(page.locator(".shown tbody tr").nth(stop)).not_to_contain_text("…")
    answer = page.locator(".answer")
    answer.wait_for()
    page.get_by_text(MESSAGES[language]["lessons.running"]).wait_for(state="hidden")
    return str(answer.inner_text())


@pytest.mark.slow(keep="bufferbloat-en")
@pytest.mark.parametrize("language", sorted(MESSAGES))
@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_is_completed_by_keyboard(opened: OpenPage, lesson: str, language: str) -> None:
    page, texts = opened(f"#lesson={lesson}&lang={language}"), MESSAGES[language]
    steps = page.locator(".heading ol button").count()
    for step in range(steps):
        page.locator(".plot canvas").first.wait_for()
        for words in (page.locator(".words > p").first, page.locator(".prediction")):
            expect(words).not_to_contain_text("…")
        answer = answered(page, language)
        # The runs confirm one prediction, and every number is known.
        assert texts["lessons.none"] not in answer
        assert not re.search(r"[…–{}]", answer)
        if step == 0:
            page.evaluate((ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js").read_text())
            found = page.evaluate("axe.run()")
            assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
        press(page, ".way button.main")
    expect(page.locator(".end > p").first).to_have_text(texts[f"{lesson}.end"], use_inner_text=True)


@pytest.mark.slow
def test_a_run_of_a_lesson_opens_in_the_playground_and_back_leads_to_the_lesson(opened: OpenPage) -> None:
    page = opened("#lesson=bufferbloat")
    page.get_by_role("link", name="Open this run in the playground").click()
    page.get_by_label("Experiment as TOML").get_by_text("Bufferbloat").first.wait_for()
    # The editor has only the lines on the screen.
    expect(page.get_by_label("Rate, value")).to_have_value("10 Mbit/s")
    expect(page.get_by_label("Queue", exact=True)).to_have_value("pfifo")
    page.go_back()
    page.get_by_role("heading", name="Bufferbloat and its cures").wait_for()


@pytest.mark.slow
def test_an_invalid_run_answers_no_question(opened: OpenPage) -> None:
    page = opened()

    def lossy(route: Any) -> None:
        start = route.fetch().json()
        for each in start["scenarios"]:
            each["toml"] = each["toml"].replace("[path.bottleneck]", 'loss = "100%"\n[path.bottleneck]')
        route.fulfill(json=start)

    page.route("**/api/start", lossy)
    page.goto("about:blank")
    page.go_back()
    page.evaluate("location.hash = '#lesson=bufferbloat'")
    page.locator(".words .trouble").get_by_text(re.compile("invalid.*never connected")).wait_for()
    assert page.locator(".plot").count() == 0


def test_the_list_names_every_lesson_and_the_language_is_remembered(opened: OpenPage) -> None:
    page = opened()
    page.get_by_role("link", name="Lessons", exact=True).click()
    page.get_by_label("Language").select_option("zh-Hans")
    for lesson in LESSONS:
        page.get_by_role("link", name=MESSAGES["zh-Hans"][f"{lesson}.title"]).wait_for()
    page.reload()
    page.get_by_role("heading", name=MESSAGES["zh-Hans"]["lessons.title"]).wait_for()


@pytest.mark.slow
def test_a_teacher_gives_a_link_and_collects_the_answers(opened: OpenPage, tmp_path: Path) -> None:
    page = opened("#lesson=aqm&lang=en&seed=7")
    for _ in range(page.locator(".heading ol button").count()):
        page.locator(".plot canvas").first.wait_for()
        answered(page, "en")
        press(page, ".way button.main")
    page.get_by_label("Name").fill("Ada")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save my answers").click()
    saved = tmp_path / "answers.json"
    download.value.save_as(saved)
    content = json.loads(saved.read_text(encoding="utf-8"))
    assert (content["lesson"], content["seed"], len(content["steps"])) == ("aqm", 7, 4)
    page.get_by_role("link", name="All lessons").first.click()
    page.get_by_role("link", name="For teachers").click()
    assert page.get_by_label("Link to a lesson").last.input_value().endswith("#lesson=bufferbloat&lang=en&seed=1")
    page.get_by_label("Files").set_input_files(saved)
    expect(page.locator(".teach tbody tr")).to_contain_text("Ada")
    expect(page.locator(".teach tbody tr")).to_contain_text(" / 4")
