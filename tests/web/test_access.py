"""Accessibility of the page: axe finds no violation, and the keyboard reaches every control."""

from pathlib import Path

import pytest

from web.browsing import OpenPage

AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.mark.slow(keep="390-dark-tour")
@pytest.mark.parametrize("view", ["page", "tour", "packets", "results"])
@pytest.mark.parametrize(("width", "colours"), [(390, "dark"), (1440, "light"), (1440, "dark")])
def test_axe_finds_no_violation(opened: OpenPage, colours: str, width: int, view: str) -> None:
    page = opened("#tour" if view == "tour" else "", width=width, color_scheme=colours, bypass_csp=True)
    if view == "packets":
        page.get_by_role("button", name="Pause").click()
    elif view == "results":
        page.get_by_role("button", name="Open…").click()
    page.add_script_tag(path=str(AXE))
    violations = page.evaluate("async () => (await axe.run(document)).violations")
    messages = [f"{each['impact']} {each['id']}: {node['html']}" for each in violations for node in each["nodes"]]
    assert messages == []


@pytest.mark.slow
def test_the_keyboard_reaches_every_control(opened: OpenPage) -> None:
    """Tab alone focuses every control."""
    page = opened()
    expected = page.evaluate(
        "[...document.querySelectorAll('button, input, select, [contenteditable=true]')]"
        ".filter(element => !element.disabled && element.checkVisibility()).length"
    )
    seen = set()
    for _ in range(expected + 20):
        page.keyboard.press("Tab")
        element = page.evaluate("document.activeElement.outerHTML.slice(0, 300)")
        if element in seen or element.startswith("<body"):
            break
        seen.add(element)
        if "contenteditable" in element:  # Tab leaves the editor, too.
            continue
    assert len(seen) >= expected
