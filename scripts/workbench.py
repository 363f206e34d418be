"""Takes the picture of the workbench in docs/workbench.md: `python scripts/workbench.py`. Needs Chromium."""

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "workbench.png"


def main() -> None:
    """A BBR against a CUBIC that comes later, their packets at ten seconds."""
    command = [sys.executable, "-m", "dumbbell", "ui", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        assert server.stderr is not None
        address = server.stderr.readline().split(" is at ")[1].split(";")[0]
        try:
            chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = chromium.new_page(viewport={"width": 1440, "height": 1250})
            page.goto(address)
            page.wait_for_selector(".panel canvas")
            page.get_by_role("button", name="Pin this run").click()
            page.get_by_label("Queue", exact=True).select_option("codel")
            page.locator("html[data-busy=false]").wait_for(state="attached")
            page.locator(".panel .u-over").first.click(position={"x": 200, "y": 60})
            page.locator(".said", has_text="on the way back").wait_for()
            page.screenshot(path=PICTURE)
            chromium.close()
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
