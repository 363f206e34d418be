"""A page in a real browser without a network: it draws, logs nothing to the console, and its zoom links the panels.

Skipped without Chromium (Debian's package `chromium`).
"""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dumbbell.plots import figure, save
from synthetic import alternating, with_bbr

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: pages were not opened in a browser")

BEFORE = """<script>
const said = [];
addEventListener("error", event => said.push(String(event.message)));
for (const level of ["error", "warn"]) console[level] = (...words) => said.push(words.join(" "));
</script>"""

AFTER = """<pre id="seen"></pre><script>
const axes = () => [...document.querySelectorAll('[aria-label^="X-axis"]')].map(
  axis => axis.getAttribute("aria-label").match(/values from (.*)$/)[1]);
const faint = () => [...document.querySelectorAll("#figure path")].filter(
  path => +path.getAttribute("opacity") > 0 && +path.getAttribute("opacity") < 0.1).length;
const later = () => new Promise(done => setTimeout(done, 250));
(async () => {
  while (!document.querySelector("#figure svg")) await later();
  await later();
  const seen = {before: axes(), fetched: performance.getEntriesByType("resource").map(entry => entry.name)};
  const area = document.querySelector("#figure svg").getBoundingClientRect();
  const [clientX, clientY] = [area.left + area.width / 2, area.top + 150];
  const wheel = {ctrlKey: true, deltaY: -100, clientX, clientY, bubbles: true, cancelable: true, view: window};
  for (const panel of document.querySelectorAll("#figure path.background")) {
    panel.dispatchEvent(new WheelEvent("wheel", wheel));
    await later();
  }
  seen.after = axes();
  const entries = [...document.querySelectorAll("#figure .role-legend-label text")];
  const entry = entries.find(text => text.textContent === "bbr-1");
  entry.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, view: window}));
  await later();
  Object.assign(seen, {faint: faint(), said, drawn: document.querySelectorAll("#figure svg path").length});
  document.getElementById("seen").textContent = JSON.stringify(seen);
})();
</script></body></html>"""


def opened(page: Path, tmp_path: Path) -> dict[str, Any]:
    """The page's state in a browser before and after a wheel event with Ctrl and a click on the legend."""
    text = page.read_text().replace("<body>", "<body>" + BEFORE, 1)
    text = text[: text.rindex("</body>")] + AFTER
    probed = tmp_path / "probed.html"
    probed.write_text(text)
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1000,1200", "--virtual-time-budget=20000"]
    done = subprocess.run(
        [*command, "--dump-dom", probed.as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout)
    assert found is not None, done.stderr
    seen: dict[str, Any] = json.loads(html.unescape(found[1]))
    return seen


def test_a_page_draws_offline_and_its_zoom_links_the_panels(tmp_path: Path) -> None:
    run = with_bbr(alternating(12, 4, 0.1)).make()
    panels = ["throughput", "queue", "states"]
    save(figure(run, panels), tmp_path / "figure.html")
    seen = opened(tmp_path / "figure.html", tmp_path)
    assert seen["said"] == []
    assert seen["fetched"] == []
    assert seen["before"] == ["0 to 12"] * len(panels)
    assert len(seen["after"]) == len(panels)
    assert len(set(seen["after"])) == 1
    assert seen["after"] != seen["before"]
    assert seen["faint"] >= 3  # One flow is selected: in every panel of flows the three others fade.
