"""From a control to its figure, in a headless Chromium.

    python bench/control_to_figure.py -o bench/control-to-figure.md

Uses the page's `performance.measure("control-to-figure")`: from the event of the slider to the frame that shows the new
figures. The default experiment: 30 s at 50 Mbit/s, one BBR and one CUBIC flow, five figures.
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Request, sync_playwright
from speed import processor

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from web.browsing import launched, settled  # noqa: E402
from web.serving import served  # noqa: E402

CONTROLS = {
    "RTT": ("ArrowRight", "ArrowLeft"),
    "Rate": ("ArrowLeft", "ArrowRight"),
    "Buffer": ("ArrowRight", "ArrowLeft"),
}
OBSERVED = """
window.times = [];
new PerformanceObserver(list => {
  for (const { name, duration } of list.getEntries()) if (name === "control-to-figure") times.push(duration);
}).observe({ type: "measure" });
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--moves", type=int, default=100, help="moves of each control")
    options = parser.parse_args()
    head = HEAD.format(processor=processor(), cores=os.cpu_count(), load=os.getloadavg()[0], moves=options.moves)
    with served(ROOT) as workbench, sync_playwright() as playwright:
        browser = launched(playwright)
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.add_init_script(OBSERVED)
        page.goto(workbench.url)
        page.wait_for_selector(".panel canvas")
        simulated: list[float] = []
        page.on("requestfinished", lambda request: simulated.extend(simulation_ms(request)))
        rows = [
            row(f"{control}, one move after another", moved(page, control, options.moves), simulated)
            for control in CONTROLS
        ]
        rows.append(row("RTT, dragged", dragged(page, options.moves), simulated))
        browser.close()
    text = "\n".join([head, *rows, ""])
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")


HEAD = """# From a control to its figures

`python bench/control_to_figure.py --moves {moves} -o bench/control-to-figure.md` on {cores} cores
({processor}), load {load:.1f}, in headless Chromium without a graphics processor. 30 s
at 50 Mbit/s, one BBR and one CUBIC flow, five figures; ms from the slider's event to the frame with the response's
figures. The server and the browser share the host. The simulation alone is the same in every build, so its column
shows how fast the host was during the measurement.

| control | figures | median | p95 | largest | simulation alone, median |
| --- | ---: | ---: | ---: | ---: | ---: |"""


def row(name: str, times: list[float], simulated: list[float]) -> str:
    p95, alone = statistics.quantiles(times, n=20)[-1], statistics.median(simulated)
    simulated.clear()
    return f"| {name} | {len(times)} | {statistics.median(times):.0f} | {p95:.0f} | {max(times):.0f} | {alone:.0f} |"


def simulation_ms(request: Request) -> list[float]:
    """The simulation time in the header of a response; empty for other responses."""
    if not request.url.endswith("/api/figures") or (answer := request.response()) is None:
        return []
    body = answer.body()
    header = json.loads(body[4 : 4 + int.from_bytes(body[:4], "little")])
    return [header["took_ms"]["simulate"]] if "took_ms" in header else []


def moved(page: Page, control: str, moves: int) -> list[float]:
    """Move a control; each move waits for the figures of the previous one."""
    settle(page)
    page.evaluate("times.length = 0")
    slider = page.get_by_label(control, exact=True)
    for move in range(moves):
        slider.press(CONTROLS[control][move // 5 % 2])
        settle(page)
    return times(page)


def dragged(page: Page, moves: int) -> list[float]:
    """Move the slider every 30 ms without waiting."""
    settle(page)
    page.evaluate("times.length = 0")
    box = page.get_by_label("RTT", exact=True).bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.4, middle)
    page.mouse.down()
    for move in range(moves):
        page.mouse.move(box["x"] + box["width"] * (0.4 + 0.3 * move / moves), middle)
        time.sleep(0.03)
    page.mouse.up()
    settle(page)
    return times(page)


def settle(page: Page) -> None:
    settled(page)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def times(page: Page) -> list[float]:
    found: Any = page.evaluate("times")
    return [float(one) for one in found]


if __name__ == "__main__":
    main()
