"""Take the screenshot of docs/workbench.md: `make page NAME=workbench`. Needs Chromium."""

import re
import sys

from playwright.sync_api import sync_playwright

from studies.study import DOCS, ROOT

sys.path.insert(0, str(ROOT / "tests"))

from web.browsing import launched, settled
from web.serving import served

SCREENSHOT = DOCS / "workbench.png"


def main(_arguments: list[str]) -> None:
    """Change the queue of BBR and CUBIC to CoDel: the answer, packets at some seconds, and the run before in pale."""
    with served(ROOT) as server, sync_playwright() as playwright:
        chromium = launched(playwright)
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        page.goto(server.url)
        page.wait_for_selector(".panel canvas")
        page.get_by_label("Queue", exact=True).select_option("codel")
        settled(page)
        page.locator(".panel .u-over").first.click(position={"x": 200, "y": 60})
        page.locator(".said", has_text=re.compile("reverse path")).wait_for()
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=SCREENSHOT)
        chromium.close()
