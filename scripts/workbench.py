"""Takes the picture of the workbench in docs/workbench.md: `python scripts/workbench.py`. Needs Chromium."""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from workbench.browsing import launched, settled  # noqa: E402
from workbench.serving import served  # noqa: E402

PICTURE = ROOT / "docs" / "workbench.png"


def main() -> None:
    """A BBR against a CUBIC, pinned; then behind CoDel, their packets at ten seconds."""
    with served(ROOT) as server, sync_playwright() as playwright:
        chromium = launched(playwright)
        page = chromium.new_page(viewport={"width": 1440, "height": 1250})
        page.goto(server.url)
        page.wait_for_selector(".panel canvas")
        page.get_by_role("button", name="Pin this run").click()
        page.get_by_label("Queue", exact=True).select_option("codel")
        settled(page)
        page.locator(".panel .u-over").first.click(position={"x": 200, "y": 60})
        page.get_by_role("button", name="Put half of it on the way there").click()
        settled(page)
        page.locator(".said", has_text="on the way back").wait_for()
        page.screenshot(path=PICTURE)
        chromium.close()


if __name__ == "__main__":
    main()
