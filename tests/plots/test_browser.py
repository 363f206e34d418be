"""A page in a real browser without a network draws, logs nothing to the console, and zooms all panels together.

Skipped without Chromium (Debian's package `chromium`).
"""

import html
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dumbbell.plots import figure, save
from synthetic import alternating, with_bbr
from web.browsing import CHROMIUM

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: pages were not opened in a browser"),
]

BEFORE = """<script>
const messages = [];
addEventListener("error", event => messages.push(String(event.message)));
for (const level of ["error", "warn"]) console[level] = (...values) => messages.push(values.join(" "));
</script>"""

AFTER = """<pre id="state"></pre><script>
const axes = () => [...document.querySelectorAll('[aria-label^="X-axis"]')].map(
  axis => axis.getAttribute("aria-label").match(/values from (.*)$/)[1]);
const faint = () => [...document.querySelectorAll("#figure path")].filter(
  path => +path.getAttribute("opacity") > 0 && +path.getAttribute("opacity") < 0.1).length;
const later = () => new Promise(resolve => setTimeout(resolve, 250));
(async () => {
  while (!document.querySelector("#figure svg")) await later();
  await later();
  const state = {before: axes(), fetched: performance.getEntriesByType("resource").map(entry => entry.name)};
  const area = document.querySelector("#figure svg").getBoundingClientRect();
  const [clientX, clientY] = [area.left + area.width / 2, area.top + 150];
  const wheel = {ctrlKey: true, deltaY: -100, clientX, clientY, bubbles: true, cancelable: true, view: window};
  for (const panel of document.querySelectorAll("#figure path.background")) {
    panel.dispatchEvent(new WheelEvent("wheel", wheel));
    await later();
  }
  state.after = axes();
  const entries = [...document.querySelectorAll("#figure .role-legend-label text")];
  const entry = entries.find(text => text.textContent === "bbr-1");
  entry.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, view: window}));
  await later();
  Object.assign(state, {faint: faint(), messages, drawn: document.querySelectorAll("#figure svg path").length});
  document.getElementById("state").textContent = JSON.stringify(state);
})();
</script></body></html>"""


def page_state(page: Path, tmp_path: Path) -> dict[str, Any]:
    """The page's state in a browser before and after a wheel event with Ctrl and a click on the legend."""
    text = page.read_text().replace("<body>", "<body>" + BEFORE, 1)
    text = text[: text.rindex("</body>")] + AFTER
    probed = tmp_path / "probed.html"
    probed.write_text(text)
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1000,1200", "--virtual-time-budget=20000"]
    process = subprocess.run(
        [*command, "--dump-dom", probed.as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    found = re.search(r'<pre id="state">(.*?)</pre>', process.stdout)
    assert found is not None, process.stderr
    state: dict[str, Any] = json.loads(html.unescape(found[1]))
    return state


def test_a_page_draws_offline_and_its_zoom_links_the_panels(tmp_path: Path) -> None:
    run = with_bbr(alternating(12, 4, 0.1)).make()
    panels = ["throughput", "queue", "states"]
    save(figure(run, panels), tmp_path / "figure.html")
    state = page_state(tmp_path / "figure.html", tmp_path)
    assert state["messages"] == []
    assert state["fetched"] == []
    assert state["before"] == ["0 to 12"] * len(panels)
    assert len(state["after"]) == len(panels)
    assert len(set(state["after"])) == 1
    assert state["after"] != state["before"]
    assert state["faint"] >= 3  # One flow is selected: in every panel of flows the three others are faint.
