"""Record the first experiment of each lesson on Linux: `make page NAME=lessons`. The page ships the recordings.

Each is what `dumbbell ui` answers for a kernel's run: panels as data, with fewer points.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell import _sim
from dumbbell.analysis.native import native
from dumbbell.plots import packed
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.web.experiment_text import page_start
from studies.study import ROOT, dumbbell

UI = ROOT / "ui"
RECORDED = UI / "src" / "lessons" / "recorded"
POINTS = 300
RECIPES = """
const { recipes } = await import(process.argv[1]);
let text = "";
for await (const part of process.stdin) text += part;
process.stdout.write(JSON.stringify(recipes(JSON.parse(text))), () => process.exit());
"""


def main(_arguments: list[str]) -> None:
    """Run every recipe and write its panels."""
    shutil.rmtree(RECORDED, ignore_errors=True)
    RECORDED.mkdir()
    for recipe in recipes():
        with tempfile.TemporaryDirectory() as folder:
            file = ROOT / "scenarios" / f".{recipe['lesson']}.toml"
            try:
                file.write_text(recipe["toml"], encoding="utf-8")
                dumbbell("run", file, "--engine", "kernel", "--out", Path(folder) / "out")
            finally:
                file.unlink()
            content = recording(result.load(Path(folder) / "out"), recipe)
        (RECORDED / f"{recipe['lesson']}.bin").write_bytes(content)
        sys.stderr.write(f"{recipe['lesson']}: {len(content):,} bytes\n")


def recipes() -> list[dict[str, Any]]:
    """What the page's lessons run, by the page's own code."""
    built = UI / "node_modules" / f".dumbbell-lessons-{os.getpid()}"
    bin_ = ROOT / ".venv" / "bin"
    environment = os.environ | {"PATH": f"{bin_}:{os.environ['PATH']}"}
    build = ["build", "--ssr", "src/lessons/recipes.ts", "--outDir", str(built)]
    vite = [str(UI / "node_modules" / ".bin" / "vite"), *build]
    try:
        subprocess.run(vite, cwd=UI, env=environment, check=True, capture_output=True)
        command: list[str | Path] = [
            bin_ / "node",
            "--input-type=module",
            "-e",
            RECIPES,
            (built / "recipes.js").as_uri(),
        ]
        scenarios = json.dumps(page_start(server=False)["scenarios"])
        answer = subprocess.run(command, input=scenarios, stdout=subprocess.PIPE, text=True, check=True)
        return list(json.loads(answer.stdout))
    finally:
        shutil.rmtree(built, ignore_errors=True)


def recording(run: Run, recipe: dict[str, Any]) -> bytes:
    """A run's panels in the form of an answer of `dumbbell ui`."""
    if not run.manifest.valid:
        raise SystemExit(f"{recipe['lesson']}: {'; '.join(run.manifest.invalid)}")
    figure, numbers = _sim.figure_page(native(run), recipe["panels"], POINTS, [])
    kernel = run.manifest.kernel
    header = {
        "step": recipe["step"],
        "stop": recipe["stop"],
        "kernel": kernel["release"] if kernel else "",
        "duration_s": run.manifest.duration_s,
        "flows": [{"name": flow.name, "group": flow.group} for flow in run.manifest.flows],
        "valid": True,
        "invalid": [],
        "warnings": list(run.manifest.warnings),
        "numbers": {},
        **figure,
    }
    return packed(header, [np.asarray(numbers)])
