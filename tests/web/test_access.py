"""What axe, the usual judge of accessibility, says of the page: nothing that is serious."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
Open = Callable[..., Any]


@pytest.mark.parametrize("shown", ["page", "tour", "packets", "results"])
@pytest.mark.parametrize(("width", "colours"), [(390, "dark"), (1440, "light"), (1440, "dark")])
def test_axe_finds_nothing(opened: Open, colours: str, width: int, shown: str) -> None:
    page = opened("#tour" if shown == "tour" else "", width=width, color_scheme=colours, bypass_csp=True)
    if shown == "packets":
        page.get_by_role("button", name="Show the packets").click()
    elif shown == "results":
        page.get_by_role("button", name="Open…").click()
    page.add_script_tag(path=str(AXE))
    faults = page.evaluate("async () => (await axe.run(document)).violations")
    told = [f"{fault['impact']} {fault['id']}: {node['html']}" for fault in faults for node in fault["nodes"]]
    assert told == []


def test_everything_is_reached_by_the_keyboard(opened: Open) -> None:
    """Tab alone comes to every control, and each says what it is."""
    page = opened()
    wanted = page.evaluate(
        "[...document.querySelectorAll('button, input, select, [contenteditable=true]')]"
        ".filter(one => !one.disabled && one.checkVisibility()).length"
    )
    seen = set()
    for _ in range(wanted + 20):
        page.keyboard.press("Tab")
        named = page.evaluate("document.activeElement.outerHTML.slice(0, 300)")
        if named in seen or named.startswith("<body"):
            break
        seen.add(named)
        if "contenteditable" in named:  # In the editor Tab is the browser's, too.
            continue
    assert len(seen) >= wanted
