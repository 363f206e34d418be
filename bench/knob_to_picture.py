"""From a knob to its picture, in a headless Chromium: `python bench/knob_to_picture.py -o bench/knob-to-picture.md`.

The page's own measure (`performance.measure("knob-to-picture")`): from the event of the slider to the frame that shows
the figures of the answer. The default experiment: 30 s at 50 Mbit/s, one BBR and one CUBIC flow, five figures.
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

from workbench.browsing import launched, settled  # noqa: E402
from workbench.serving import served  # noqa: E402

KNOBS = {"RTT": ("ArrowRight", "ArrowLeft"), "Rate": ("ArrowLeft", "ArrowRight"), "Buffer": ("ArrowRight", "ArrowLeft")}
TIMES = "performance.getEntriesByName('knob-to-picture').map(entry => entry.duration)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--turns", type=int, default=100, help="of each knob")
    asked = parser.parse_args()
    head = HEAD.format(processor=processor(), cores=os.cpu_count(), load=os.getloadavg()[0], turns=asked.turns)
    with served(ROOT) as workbench, sync_playwright() as playwright:
        browser = launched(playwright)
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.goto(workbench.url)
        page.wait_for_selector(".panel canvas")
        simulated: list[float] = []
        page.on("requestfinished", lambda request: simulated.extend(simulation_ms(request)))
        rows = [row(f"{knob}, one turn after another", turned(page, knob, asked.turns), simulated) for knob in KNOBS]
        rows.append(row("RTT, dragged", dragged(page, asked.turns), simulated))
        browser.close()
    told = "\n".join([head, *rows, ""])
    print(told)
    if asked.out:
        asked.out.write_text(told, encoding="utf-8")


HEAD = """# From a knob to its picture

`python bench/knob_to_picture.py --turns {turns} -o bench/knob-to-picture.md` on {cores} cores
({processor}), load {load:.1f}, in headless Chromium without a graphics processor. 30 s
at 50 Mbit/s, one BBR and one CUBIC flow, five figures; ms from the slider's event to the frame with the answer's
figures. The server and the browser share the machine. The simulation alone is the same in every build, so its column
tells how fast the machine was meanwhile.

| knob | pictures | median | p95 | largest | simulation alone, median |
| --- | ---: | ---: | ---: | ---: | ---: |"""


def row(name: str, times: list[float], simulated: list[float]) -> str:
    p95, alone = statistics.quantiles(times, n=20)[-1], statistics.median(simulated)
    simulated.clear()
    return f"| {name} | {len(times)} | {statistics.median(times):.0f} | {p95:.0f} | {max(times):.0f} | {alone:.0f} |"


def simulation_ms(request: Request) -> list[float]:
    """What the header of an answer says; nothing where it is no picture."""
    if not request.url.endswith("/api/picture") or (answer := request.response()) is None:
        return []
    body = answer.body()
    header = json.loads(body[4 : 4 + int.from_bytes(body[:4], "little")])
    return [header["took_ms"]["simulate"]] if "took_ms" in header else []


def turned(page: Page, knob: str, turns: int) -> list[float]:
    """Each turn waits for the last one's picture."""
    settle(page)
    page.evaluate("performance.clearMeasures()")
    slider = page.get_by_label(knob, exact=True)
    for turn in range(turns):
        slider.press(KNOBS[knob][turn // 5 % 2])
        settle(page)
    return times(page)


def dragged(page: Page, moves: int) -> list[float]:
    """A hand that doesn't wait: a move of the slider every 30 ms."""
    settle(page)
    page.evaluate("performance.clearMeasures()")
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
    found: Any = page.evaluate(TIMES)
    return [float(one) for one in found]


if __name__ == "__main__":
    main()
