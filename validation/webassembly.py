"""Compares the simulator in WebAssembly with the native one, byte for byte, and measures size and speed.

    python validation/webassembly.py [-o FILE]

Runs every built-in scenario and 200 random experiments on both (the native one as `cargo` builds it, the module in
Node.js) and compares the text of all tables. A random experiment ends after two slices of 100,000 events, since it may
last for hours. `make wasm` builds the module. Exit status: 0 all tables are equal, 1 some differ.
"""

import argparse
import gzip
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "target" / "npm" / "dumbbell"
TESTS = ROOT / "crates" / "wasm" / "package" / "test"
NODE = ROOT / ".venv" / "bin" / "node"
RANDOM = 200
OMITTED = ("programs", "hosts", "tc", "trace", "sample", "count")
"""Keys that the simulator can't run, that name files, or that fill tables with millions of rows."""
SLICES, RANDOM_SLICES = "100000", "2"
"""Scenarios run to their end."""
SPEED_OF = ROOT / "scenarios" / "cyclic.toml"
ROUNDS, RUNS = 4, "6"
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
        found = compared(tables, scenarios, SLICES, Path(folder)) + compared(tables, drawn, RANDOM_SLICES, Path(folder))
    lines = [
        "# The simulator in WebAssembly",
        "",
        "Made by `make wasm` and `python validation/webassembly.py -o validation/webassembly.md`, in Node.js.",
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


def compared(tables: Path, files: list[Path], slices: str, folder: Path) -> list[str]:
    """Names of the experiments whose tables differ."""
    ours, theirs = folder / "native", folder / "wasm"
    for one in (ours, theirs):
        one.mkdir(exist_ok=True)
    subprocess.run([tables, ours, "1", slices, *files], check=True)
    subprocess.run([NODE, TESTS / "tables.mjs", PACKAGE, theirs, "1", slices, *files], check=True)
    names = [f"{file.stem}.txt" for file in files]
    return [name for name in names if (ours / name).read_bytes() != (theirs / name).read_bytes()]


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
