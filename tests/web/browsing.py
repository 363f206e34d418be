"""A page of the workbench in a real browser, with a record of its console errors and its requests."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, Page, Playwright, expect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OpenPage = Callable[..., Any]
"""The fixture `opened`, which opens the page."""
ERRORS = ("error", "warning")
TIMEOUT_MS = 60_000
"""Time limit of a wait in a test, not a limit of the page. On a busy host Chromium takes far more than 5 s."""
expect.set_options(timeout=TIMEOUT_MS)
SETTLED = """timeout => new Promise((resolve, reject) => {
  const deadline = performance.now() + timeout;
  const check = () => {
    if (document.documentElement.dataset.busy === "false") requestAnimationFrame(resolve);
    else if (performance.now() > deadline) reject(new Error("the page waits for a response"));
    else requestAnimationFrame(check);
  };
  check();
})"""


def launched(playwright: Playwright) -> Browser:
    """Launch this host's Chromium without a screen."""
    return playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])


def settled(page: Page) -> None:
    """Wait until the response to the last request is on the screen. Checks every frame, `expect` twice a second."""
    page.evaluate(SETTLED, TIMEOUT_MS)


@dataclass
class PageErrors:
    """Console errors and requests to other servers."""

    messages: list[str] = field(default_factory=list)
    foreign_requests: list[str] = field(default_factory=list)
    """Requests to other servers."""

    @property
    def empty(self) -> bool:
        """Neither messages nor requests to other servers."""
        return self.messages == self.foreign_requests == []


@contextmanager
def visited(
    browser: Browser, url: str, address: str = "/", width: int = 1300, height: int = 1000, **options: Any
) -> Iterator[tuple[Page, PageErrors]]:
    """Open a page of a server that a test started and wait for its first figure; yield it with its errors."""
    with blank(browser, url, width, height, **options) as (page, errors):
        page.goto(url.rstrip("/") + address)
        page.wait_for_selector(".plot canvas")
        yield page, errors


@contextmanager
def blank(
    browser: Browser, url: str, width: int = 1300, height: int = 1000, **options: Any
) -> Iterator[tuple[Page, PageErrors]]:
    """Yield an empty page, and the record of its errors; it may request only what `url` begins with."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, permissions=["clipboard-read", "clipboard-write"], **options
    )
    context.set_default_timeout(TIMEOUT_MS)
    page, errors = context.new_page(), PageErrors()
    own_prefixes = (url, "data:", "blob:")
    page.on("console", lambda message: errors.messages.append(message.text) if message.type in ERRORS else None)
    page.on("pageerror", lambda error: errors.messages.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith(own_prefixes) else errors.foreign_requests.append(request.url),
    )
    yield page, errors
    context.close()


def text_of(page: Page) -> str:
    """Return the experiment's text in the editor."""
    return "\n".join(page.locator(".cm-line").all_inner_texts())
