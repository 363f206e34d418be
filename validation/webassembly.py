"""Compares the simulator in WebAssembly with the native one, byte for byte, and measures size and speed.

    python validation/webassembly.py [-o FILE]

Runs every built-in scenario and 200 random experiments on both and compares the text of all tables: the native one as
`cargo` builds it, the module in Node.js, in this host's Chromium and, where it is installed, in Firefox. A random
experiment ends after two slices of 100,000 events, since it may last for hours. `make wasm` builds the module. Exit
status: 0 all tables are equal, 1 some differ.
"""

import argparse
import gzip
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "target" / "npm" / "dumbbell"
TESTS = ROOT / "crates" / "wasm" / "package" / "test"
NODE = ROOT / ".venv" / "bin" / "node"
NAMED = (".trace", ".sh")
"""Files that experiments name."""
RANDOM = 200
OMITTED = ("programs", "hosts", "tc", "trace", "sample", "count")
"""Keys that the simulator can't run, that name files, or that fill tables with millions of rows."""
SLICES, RANDOM_SLICES = "100000", "2"
"""Scenarios run to their end."""
SPEED_OF = ROOT / "scenarios" / "cyclic.toml"
ROUNDS, RUNS = 4, "6"
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
BROTLI = "require('zlib').brotliCompressSync(require('fs').readFileSync(process.argv[1])).length"


def main() -> int:
    """Compare, measure, write the page."""
    options = argparse.ArgumentParser(description="Compare the module with the native simulator.")
    options.add_argument("-o", "--output", type=Path, help="write the figures as Markdown")
    output = options.parse_args().output
    tables, speed = native("tables"), native("speed")
    with tempfile.TemporaryDirectory(prefix="dumbbell-wasm-") as folder:
        scenarios = sorted((ROOT / "scenarios").glob("*.toml"))
        drawn = random_experiments(Path(folder))
        with chromium() as browser:
            found = [
                name
                for files, slices in ((scenarios, SLICES), (drawn, RANDOM_SLICES))
                for name in compared(tables, files, slices, Path(folder), browser)
            ]
    lines = [
        "# The simulator in WebAssembly",
        "",
        "Made by `make wasm` and `python validation/webassembly.py -o validation/webassembly.md`, in Node.js; "
        f"tables in Chromium {'and Firefox too' if FIREFOX else 'too, not in Firefox: install firefox-esr'}.",
        "",
        "| what | figure |",
        "| --- | --- |",
        f"| built-in scenarios | {len(scenarios)} |",
        f"| random experiments: one flow in each group, {RANDOM_SLICES}00,000 events at most | {len(drawn)} |",
        f"| with tables that differ from the native simulator's | {len(found)} |",
        *measured(speed),
    ]
    text = "\n".join(lines) + "\n"
    if output:
        output.write_text(text, encoding="utf-8")
    sys.stdout.write(text + "".join(f"differs: {name}\n" for name in found))
    return bool(found)


def native(example: str) -> Path:
    """Builds a native program as fast as the extension for Python."""
    command = ["cargo", "build", "--quiet", "--locked", "--profile", "wheel", "-p", "dumbbell", "--example", example]
    subprocess.run(command, cwd=ROOT, check=True)
    return ROOT / "target" / "wheel" / "examples" / example


def random_experiments(folder: Path) -> list[Path]:
    """Files of random experiments, the same every time."""
    command = ["cargo", "run", "--quiet", "--locked", "--release", "-p", "dumbbell-experiment", "--example", "random"]
    text = text_of([*command, "--", "1", str(RANDOM), *OMITTED])
    texts = re.split(r"^# seed (\d+)\n", text, flags=re.MULTILINE)[1:]
    files = [folder / f"seed-{seed}.toml" for seed in texts[::2]]
    for file, content in zip(files, texts[1::2], strict=True):
        file.write_text(content, encoding="utf-8")
    return files


def compared(tables: Path, files: list[Path], slices: str, folder: Path, browser: Page) -> list[str]:
    """Names of the experiments whose tables differ, with where they do."""
    ours, theirs, firefox = folder / "native", folder / "wasm", folder / "firefox"
    for one in (ours, theirs, firefox):
        one.mkdir(exist_ok=True)
    subprocess.run([tables, ours, "1", slices, *files], check=True)
    subprocess.run([NODE, TESTS / "tables.mjs", PACKAGE, theirs, "1", slices, *files], check=True)
    if FIREFOX:
        address = browser.url.removesuffix("/LICENSE")
        subprocess.run([NODE, TESTS / "firefox.mjs", FIREFOX, address, firefox, "1", slices, *files], check=True)
    found = []
    for file in files:
        native = (ours / f"{file.stem}.txt").read_text(encoding="utf-8")
        if (theirs / f"{file.stem}.txt").read_text(encoding="utf-8") != native:
            found.append(f"{file.stem} in Node.js")
        if FIREFOX and (firefox / f"{file.stem}.txt").read_text(encoding="utf-8") != native:
            found.append(f"{file.stem} in Firefox")
        if in_chromium(browser, file, slices) != native:
            found.append(f"{file.stem} in Chromium")
    return found


IN_PAGE = """async ({ text, files, slices }) => {
  const module = await import("/target/npm/dumbbell/dumbbell_wasm.js");
  await module.default({ module_or_path: "/target/npm/dumbbell/dumbbell_wasm_bg.wasm" });
  const { experimentTables } = await import("/crates/wasm/package/test/experiment-tables.mjs");
  return `${experimentTables(module, text, (name) => files[name], 1, slices).join("\\n\\n")}\\n`;
}"""


def in_chromium(browser: Page, file: Path, slices: str) -> str:
    """The tables of an experiment, as a page computes them."""
    near = {path.name: path.read_text(encoding="utf-8") for path in file.parent.glob("*") if path.suffix in NAMED}
    given = {"text": file.read_text(encoding="utf-8"), "files": near, "slices": slices}
    browser.reload()  # The memory of a module never shrinks.
    return str(browser.evaluate(IN_PAGE, given))


class Files(SimpleHTTPRequestHandler):
    """A file server without a log."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript", "": "text/plain"}

    def log_message(self, *_arguments: object) -> None:
        """Print nothing."""


@contextmanager
def chromium() -> Iterator[Page]:
    """A page of this host's Chromium, of a server of the checkout's files on the loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=ROOT))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/LICENSE")
        yield page
        browser.close()
    server.shutdown()
    server.server_close()


def measured(speed: Path) -> list[str]:
    """Rows of size and speed. Runs alternate, and the lowest of each counts: others use the machine too."""
    module = PACKAGE / "dumbbell_wasm_bg.wasm"
    content = module.read_bytes()
    brotli = int(text_of([NODE, "-p", BROTLI, module]))
    cancelled = text_of([NODE, TESTS / "cancel.mjs", PACKAGE, "20"]).strip()
    arguments: list[str | Path] = [SPEED_OF, "1", RUNS]
    seconds = [
        (
            float(text_of([speed, *arguments])),
            float(text_of([NODE, TESTS / "speed.mjs", PACKAGE, *arguments])),
        )
        for _ in range(ROUNDS)
    ]
    ours, theirs = (min(each) for each in zip(*seconds, strict=True))
    return [
        f"| module, bytes | {len(content):,} |",
        f"| module, bytes with brotli | {brotli:,} |",
        f"| module, bytes with gzip | {len(gzip.compress(content, 9, mtime=0)):,} |",
        f"| `{SPEED_OF.stem}`, native, s of processor time | {ours:.3f} |",
        f"| `{SPEED_OF.stem}`, module, s of processor time | {theirs:.3f} |",
        f"| longest of 20 cancelled runs until its thread has ended, ms | {cancelled} |",
        f"| speed of the module ÷ native speed | {ours / theirs:.2f} |",
    ]


def text_of(command: list[str | Path]) -> str:
    """What a program prints."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
