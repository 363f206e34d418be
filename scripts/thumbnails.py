"""Write the thumbnails of the page's gallery, `ui/src/gallery/thumbnails.json`: throughput of each experiment, small.

    python scripts/thumbnails.py

Runs the first case of each built-in experiment on the simulator, seed 1. A line is a colour, its counterpart on a dark
page, and a digit of base 36 for each of 40 equal parts of the run, its mean rate over the figure's largest.
"""

import json
import struct
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dumbbell.web.experiment_text import catalogue
from dumbbell.web.live_figures import FigureRequest, figure_data

OUT = Path(__file__).parents[1] / "ui" / "src" / "gallery" / "thumbnails.json"
PARTS = 40
LINES_MAX = 4
SAMPLES_MIN = 5
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def main() -> int:
    """Run all experiments and write the file."""
    found = {}
    for name, cases in groupby(catalogue(), key=lambda each: each["name"]):
        first = next(cases)
        sys.stderr.write(f"{name}\n")
        found[name] = thumbnail(first["toml"])
    OUT.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0


def thumbnail(toml: str) -> list[dict[str, str]]:
    """Return the lines of a run's throughput, of a run shorter than its bins those of cwnd."""
    response = figure_data(FigureRequest(toml=toml, panels=("throughput", "cwnd"), numbers=()), lambda _seconds: None)
    (length,) = struct.unpack_from("<I", response)
    header = json.loads(response[4 : 4 + length])
    if header["problem"]:
        raise RuntimeError(header["problem"])
    numbers = np.frombuffer(response, "<f8", offset=4 + length)
    drawn = [lines_of(panel) for panel in header["panels"]]
    lines = next((lines for lines in drawn if any(line["s"][1] >= SAMPLES_MIN for line in lines)), [])
    rates = [resampled(line, numbers, header["duration_s"]) for line in lines[:LINES_MAX]]
    most = max((float(rate.max()) for rate in rates), default=0.0) or 1.0
    return [
        {"colour": line["colour"], "dark": line["dark"], "rate": digits(rate / most)}
        for line, rate in zip(lines, rates, strict=False)
    ]


def lines_of(panel: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of a panel's flows."""
    return [line for layer in panel["layers"] if layer.get("of") == "flows" for line in layer["lines"]]


def resampled(line: dict[str, Any], numbers: npt.NDArray[np.float64], duration_s: float) -> npt.NDArray[np.float64]:
    """Return the mean rate of each part of the run."""
    times, values = (numbers[start : start + count] for start, count in (line["s"], line["v"]))
    edges = np.linspace(0, duration_s, PARTS + 1)
    sums, _ = np.histogram(times, edges, weights=values)
    counts, _ = np.histogram(times, edges)
    nearest = np.interp((edges[:-1] + edges[1:]) / 2, times, values) if len(times) else np.zeros(PARTS)
    return np.where(counts > 0, sums / np.maximum(counts, 1), nearest)


def digits(shares: npt.NDArray[np.float64]) -> str:
    """Return a digit per share of 1."""
    return "".join(DIGITS[min(int(share * (len(DIGITS) - 1) + 0.5), len(DIGITS) - 1)] for share in shares)


if __name__ == "__main__":
    sys.exit(main())
