"""The playground in a headless Chromium: its first figure, frames with packets in motion, memory over time.

    python bench/page_speed.py -o bench/page-speed.md

Needs `target/npm` (`make wasm`) and the workbench's page (`make setup`). The files come from a server on this host.
"""

import argparse
import importlib
import os
import statistics
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright
from speed import processor

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "scripts")]

static_site: Any = importlib.import_module("static_site")
playground: Any = importlib.import_module("studies.playground")

from web.browsing import launched, settled  # noqa: E402
from web.serving import file_server  # noqa: E402

SLOWDOWN = 4
SCREEN: Any = {"width": 1440, "height": 900}
FIRST_FIGURE = """
(() => {
  const look = () => {
    if (!document.querySelector(".panel canvas")) requestAnimationFrame(look);
    else requestAnimationFrame(() => { window.firstFigure = performance.now(); });
  };
  look();
})()"""
"""Notes when the figures of the first run are on the screen, in ms from the start of the navigation."""
FRAMES = """seconds => new Promise(done => {
  const times = [];
  const frame = now => {
    times.push(now);
    if (now - times[0] < seconds * 1000) requestAnimationFrame(frame);
    else done(times);
  };
  requestAnimationFrame(frame);
})"""
MODULE_BYTES = """async () => {
  const { default: init } = await import(new URL("dumbbell_wasm.js", self.location.href).href);
  return (await init()).memory.buffer.byteLength;
}"""
"""Memory of a worker's module, which is loaded already."""
BULK = """title = "A hundred flows"
duration = "20s"
[path]
rtt = "40ms"
[path.bottleneck]
rate = "100mbit"
[[flows]]
cc = "bbr"
count = 50
[[flows]]
cc = "cubic"
count = 50
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--visits", type=int, default=10, help="first visits")
    parser.add_argument("--seconds", type=float, default=20, help="of packets in motion")
    parser.add_argument("--minutes", type=int, default=10, help="of use")
    options = parser.parse_args()
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        static_site.playground(Path(folder))
        with file_server(Path(folder)) as address:
            browser = launched(playwright)
            parts = [
                HEAD.format(processor=processor(), cores=os.cpu_count(), load=os.getloadavg()[0]),
                first_figure(browser, address, options.visits),
                motion(browser, address, options.seconds),
                memory(browser, address, options.minutes),
            ]
            browser.close()
    text = "\n".join(parts)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")


HEAD = """# The playground's page

`python bench/page_speed.py -o bench/page-speed.md` on {cores} cores ({processor}), load {load:.1f}, in headless
Chromium without a graphics processor, 1440 × 900; the files come from a server on this host.
"""


def opened(browser: Browser) -> tuple[Page, CDPSession]:
    """An empty page, its cache empty too, and its debugger, whose times are those of the processor."""
    page = browser.new_context(viewport=SCREEN, service_workers="block").new_page()
    debugger = page.context.new_cdp_session(page)
    debugger.send("Performance.enable", {"timeDomain": "threadTicks"})
    return page, debugger


def first_figure(browser: Browser, address: str, visits: int) -> str:
    """Visits with an empty cache: as fast as this host is, and with the page's thread slowed down."""
    plain: list[float] = []
    slowed: list[float] = []
    pages: list[float] = []
    workers: list[float] = []
    for visit in range(2 * visits):
        page, debugger = opened(browser)
        if visit % 2:
            debugger.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
        page.add_init_script(FIRST_FIGURE)
        page.goto(f"{address}/index.html")
        until(page, "window.firstFigure > 0")
        (slowed if visit % 2 else plain).append(float(page.evaluate("window.firstFigure")))
        if not visit % 2:
            pages.append(metric(debugger, "TaskDuration") * 1000)
            workers.append(worker_ms(browser))
        page.context.close()
    both = [SLOWDOWN * (page + worker) for page, worker in zip(pages, workers, strict=True)]
    return f"""## The first figure

{visits} visits with an empty cache, and as many in which Chromium slows down the page's thread {SLOWDOWN} times (it
does not slow down workers). Processor time depends less on what else runs on this host. Worker and page wait for each
other, so {SLOWDOWN} times the work of both is the time on an idle processor {SLOWDOWN} times slower.

| | median, ms | least | largest |
| --- | ---: | ---: | ---: |
{line("from the start of the visit to the first figures", plain)}
{line(f"the same, the page's thread {SLOWDOWN} times slower", slowed)}
{line("processor time of the page's thread until then", pages)}
{line("processor time of its worker until then", workers)}
{line(f"{SLOWDOWN} times both", both)}
"""


def worker_ms(browser: Browser) -> float:
    """Processor time of the workers of all pages so far."""
    found: Any = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
    renderers = [int(each["id"]) for each in found["processInfo"] if each["type"] == "renderer"]
    threads = [thread for pid in renderers for thread in Path(f"/proc/{pid}/task").iterdir()]
    ran = [(thread / "schedstat").read_text() for thread in threads if "Worker" in (thread / "comm").read_text()]
    return sum(int(text.split()[0]) for text in ran) / 1e6


def until(page: Page, condition: str) -> None:
    """Wait for a condition; Playwright's own function needs `eval`, which the page's policy forbids."""
    page.evaluate(f"new Promise(done => {{ const look = () => {condition} ? done() : setTimeout(look, 20); look(); }})")


def line(name: str, values: list[float]) -> str:
    return f"| {name} | {statistics.median(values):,.0f} | {min(values):,.0f} | {max(values):,.0f} |"


def motion(browser: Browser, address: str, seconds: float) -> str:
    """Packets of a hundred flows in motion."""
    page, debugger = opened(browser)
    page.goto(f"{address}/index.html{playground.Shown('', BULK).fragment}")
    page.wait_for_selector(".panel canvas")
    settled(page)
    page.locator(".panel .u-over").first.click(position={"x": 400, "y": 60})
    page.locator(".board canvas").wait_for()
    page.get_by_role("button", name="Play").click()
    time.sleep(2)
    busy = metric(debugger, "TaskDuration")
    frames = page.evaluate(FRAMES, seconds)
    busy = metric(debugger, "TaskDuration") - busy
    gaps = [later - earlier for earlier, later in pairwise(frames)]
    ninety_nine = statistics.quantiles(gaps, n=100)[-1]
    page.context.close()
    return f"""## Packets in motion

50 BBR and 50 CUBIC flows at 100 Mbit/s, played for {seconds:g} s at the speed that the page chooses.

| | |
| --- | ---: |
| frames a second | {len(gaps) / (frames[-1] - frames[0]) * 1000:.1f} |
| 99th percentile between two frames, ms | {ninety_nine:.1f} |
| processor time of the page's thread in a frame, ms | {busy / len(gaps) * 1000:.1f} |
"""


def memory(browser: Browser, address: str, minutes: int) -> str:
    """Use the page, and read its memory each minute after a collection."""
    page, debugger = opened(browser)
    page.goto(f"{address}/index.html")
    page.wait_for_selector(".panel canvas")
    rows, runs = [], 0
    began = time.monotonic()
    for minute in range(minutes + 1):
        while time.monotonic() < began + 60 * minute:
            runs += sum(use(page))
        rows.append(f"| {minute} | {runs} | {' | '.join(held(page, debugger))} |")
    page.context.close()
    return (
        f"""## Memory

{minutes} minutes of use: controls, queues, packets in motion, pins, another experiment and back. Each minute after a
garbage collection; the workers' modules only grow, so theirs is the most that a run needed so far.

| minute | runs so far | JavaScript heap, MB | elements | listeners | workers | modules, MB |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""
        + "\n".join(rows)
        + "\n"
    )


def use(page: Page) -> Iterator[int]:
    """What a user does; yields the runs of each action."""
    for control in ("RTT", "Rate", "Buffer", "Loss"):
        slider = page.get_by_label(control, exact=True)
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"):
            slider.press(key)
            settled(page)
            yield 1
    for kind in ("codel", "fq_codel", "pfifo"):
        page.get_by_label("Queue", exact=True).select_option(kind)
        settled(page)
        yield 1
    page.get_by_role("button", name="Pin this run").click()
    page.locator(".panel .u-over").first.click(position={"x": 300, "y": 60})
    page.get_by_role("button", name="Play").click()
    time.sleep(2)
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Unpin").first.click()
    for fragment in ("#s=cyclic", "#s=dumbbell"):
        page.evaluate("fragment => { location.hash = fragment; }", fragment)
        page.locator(".validity").wait_for(state="attached")
        settled(page)
        yield 1


def held(page: Page, debugger: CDPSession) -> list[str]:
    """Memory now."""
    debugger.send("HeapProfiler.collectGarbage")
    modules = [int(worker.evaluate(MODULE_BYTES)) for worker in page.workers]
    return [
        f"{metric(debugger, 'JSHeapUsedSize') / 1e6:.1f}",
        f"{metric(debugger, 'Nodes'):.0f}",
        f"{metric(debugger, 'JSEventListeners'):.0f}",
        str(len(modules)),
        f"{sum(modules) / 1e6:.0f}",
    ]


def metric(debugger: CDPSession, name: str) -> float:
    found: Any = debugger.send("Performance.getMetrics")
    return next(float(each["value"]) for each in found["metrics"] if each["name"] == name)


if __name__ == "__main__":
    main()
