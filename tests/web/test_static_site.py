"""The whole static site below a path: from the documentation to a lesson and the playground, then without the network.

Needs `target/npm` (`make wasm`); without it the test is skipped, except in `make test-all PARTS=wasm`.
"""

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from web.browsing import blank, settled
from web.serving import file_server

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

static_site: Any = importlib.import_module("static_site")

pytestmark = pytest.mark.skipif(
    not os.environ.get("DUMBBELL_TEST_STATIC"),
    reason="builds the site from the npm package, some 20 s; run: make test-all PARTS=wasm",
)
KEPT = """async () => {
  await navigator.serviceWorker.ready;
  return (await (await caches.open("dumbbell")).keys()).length;
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ExitStack]]:
    """The address of the site, and what ends its server."""
    assert static_site.main() == 0
    folder = tmp_path_factory.mktemp("host")
    (folder / "some").mkdir()
    (folder / "some" / "where").symlink_to(static_site.docs.SITE)
    with ExitStack() as server:
        yield server.enter_context(file_server(folder)), server


def answer(page: Any) -> str:
    """Predict, run the other queues, and return the lesson's answer."""
    page.get_by_label("Drop-tail (pfifo).").check()
    for queue in ("RED", "CoDel"):
        page.get_by_label("Queue discipline").last.select_option(queue)
        page.locator(".keys strong", has_text=queue).wait_for()
    return str(page.locator(".answer").inner_text())


def test_documentation_lesson_and_playground_work_below_a_path_and_offline(
    chromium: Any, site: tuple[str, ExitStack]
) -> None:
    host, server = site
    with blank(chromium, host) as (page, errors):
        page.goto(f"{host}/some/where/index.html")
        page.get_by_role("link", name="Five lessons").click()
        assert page.evaluate(KEPT) > 100
        page.get_by_role("link", name="open", exact=True).first.click()
        page.get_by_role("heading", name="Bufferbloat and its cures").wait_for()
        page.get_by_role("button", name="2: Queues that drop earlier").click()
        page.locator(".plot canvas").first.wait_for()
        online = answer(page)
        page.get_by_role("link", name="Open this run in the playground").click()
        settled(page)
        expect(page.get_by_label("Queue", exact=True)).to_have_value("codel")
        page.goto(f"{host}/some/where/results/gallery/index.html")
        page.get_by_role("link", name="maxq 200", exact=True).first.click()
        settled(page)
        expect(page.get_by_label("Buffer, value")).to_have_value("12 BDP")
        assert errors.empty

        server.close()
        page.goto(f"{host}/some/where/glossary.html")
        page.locator("h1", has_text="Glossary").wait_for()
        page.goto(f"{host}/some/where/play/index.html#lesson=bufferbloat")
        page.get_by_role("button", name="2: Queues that drop earlier").click()
        page.locator(".plot canvas").first.wait_for()
        assert answer(page) == online
        assert errors.empty
