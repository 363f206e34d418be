"""A page of the workbench in a real browser, which says what it said to the console and whom it asked."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, Page, Playwright, expect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ERRORS = ("error", "warning")
PATIENCE_MS = 60_000
"""Not a limit of the page's: when a test is given up. On a busy machine Chromium takes far more than its usual 5 s."""
expect.set_options(timeout=PATIENCE_MS)
SETTLED = """patience => new Promise((done, late) => {
  const until = performance.now() + patience;
  const look = () => {
    if (document.documentElement.dataset.busy === "false") requestAnimationFrame(done);
    else if (performance.now() > until) late(new Error("the page waits for an answer"));
    else requestAnimationFrame(look);
  };
  look();
})"""


def launched(playwright: Playwright) -> Browser:
    """The machine's Chromium, without a screen."""
    return playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])


def settled(page: Page) -> None:
    """What was asked last has been answered, and is on the screen. It looks at every frame; `expect` twice a second."""
    page.evaluate(SETTLED, PATIENCE_MS)


@dataclass
class Said:
    """What a page should not say."""

    complaints: list[str] = field(default_factory=list)
    abroad: list[str] = field(default_factory=list)
    """Requests off the server."""

    @property
    def nothing(self) -> bool:
        """Neither complaints nor requests elsewhere."""
        return self.complaints == self.abroad == []


@contextmanager
def visited(
    browser: Browser, url: str, address: str = "/", width: int = 1300, height: int = 1000, **options: Any
) -> Iterator[tuple[Page, Said]]:
    """A page of a server that a test started, once it drew something, and what it says from then on and said before."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, permissions=["clipboard-read", "clipboard-write"], **options
    )
    context.set_default_timeout(PATIENCE_MS)
    page, said = context.new_page(), Said()
    ours = (url, "data:", "blob:")
    page.on("console", lambda one: said.complaints.append(one.text) if one.type in ERRORS else None)
    page.on("pageerror", lambda error: said.complaints.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(ours) else said.abroad.append(asked.url))
    page.goto(url.rstrip("/") + address)
    page.wait_for_selector(".plot canvas")
    yield page, said
    context.close()


def text_of(page: Page) -> str:
    """The experiment's text as the editor has it."""
    return "\n".join(page.locator(".cm-line").all_inner_texts())
