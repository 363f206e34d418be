"""A running workbench, and its pages in a headless Chromium with a record of errors and requests."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from web.browsing import CHROMIUM, OpenPage, PageErrors, launched, visited
from web.serving import served


@pytest.fixture(scope="session")
def workbench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of `dumbbell ui`, started as by a user."""
    with served(tmp_path_factory.mktemp("workbench")) as server:
        yield server.url


# Not of the session: modules of other folders can't open a second Playwright.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium")
    sync = pytest.importorskip("playwright.sync_api")
    with sync.sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Any, workbench: str) -> Iterator[OpenPage]:
    """Opens the page. A console error without the text `allowed`, or a request to another server, fails the test."""
    recorded: list[tuple[PageErrors, str]] = []
    with ExitStack() as pages:

        def open_(address: str = "", width: int = 1440, allowed: str = "", **options: Any) -> Any:
            page, errors = pages.enter_context(visited(chromium, workbench, f"/{address}", width, **options))
            recorded.append((errors, allowed))
            return page

        yield open_
    for errors, allowed in recorded:
        assert errors.foreign_requests == []
        assert [message for message in errors.messages if not (allowed and allowed in message)] == []
