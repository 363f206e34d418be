"""A workbench that runs, and pages of it in a headless Chromium that hear every error and every request."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from web.browsing import CHROMIUM, Said, launched, visited
from web.serving import served

Open = Callable[..., Any]


@pytest.fixture(scope="session")
def workbench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `dumbbell ui`, as a person starts it."""
    with served(tmp_path_factory.mktemp("workbench")) as server:
        yield server.url


# Not of the session: while one Playwright is open, modules elsewhere can't open theirs.
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
def opened(chromium: Any, workbench: str) -> Iterator[Open]:
    """Opens the page; what it complains of and isn't `forgiven`, or a request off the machine, fails the test."""
    heard: list[tuple[Said, str]] = []
    with ExitStack() as pages:

        def open_(address: str = "", width: int = 1440, forgiven: str = "", **options: Any) -> Any:
            page, said = pages.enter_context(visited(chromium, workbench, f"/{address}", width, **options))
            heard.append((said, forgiven))
            return page

        yield open_
    for said, forgiven in heard:
        assert said.abroad == []
        assert [one for one in said.complaints if not (forgiven and forgiven in one)] == []
