"""`dumbbell identify` on captures of the kernel engine: docs/results/identify/index.md.

    python -m studies identifications run develop|test [--sample N]    capture, and run the candidates
    python -m studies identifications develop                          fix the rule: limit, ratio and sharpness
    python -m studies identifications test                             measure, write the page

`make page NAME=identifications` calls all of them. The paths for development and for the test differ: those of the test
are drawn from a seed that was chosen after the code was frozen. `develop` fixes the rule in
`python/dumbbell/identification/scales.json` (with `--scales` the scales too); `test` only measures. What is done is
kept in target/identify, so that an interrupted run goes on: remove that folder after a change of the estimates, the
candidates or the numbers. Controllers that the kernel lacks (bbr2, bbr3, copa) are captured on the simulator.
"""

import json
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.errors import ImportProblem
from dumbbell.identification.candidates import CONTROLLERS
from dumbbell.identification.connection import read_connection
from dumbbell.identification.features import features
from dumbbell.identification.identify import candidate_runs, prepared
from dumbbell.identification.nearest import scales_for
from dumbbell.kernels import find
from dumbbell.kernels.features import controllers
from dumbbell.spec.document import as_toml
from studies.identifications.answers import Described, answers, fit, load
from studies.identifications.page import page
from studies.study import DOCS, ROOT, dumbbell, parser, write

CAPTURES = ROOT / "target" / "identify"
FOLDER = DOCS / "results" / "identify"
SCALES = ROOT / "python" / "dumbbell" / "identification" / "scales.json"
DURATION = "15s"
SPREAD = 0.1
"""Each seed draws rate, round trip time and buffer up to this far from the path's, because one flow draws nothing."""
POINTS = {"sender": ("sender", "right"), "receiver": ("receiver", "left")}

CUBIC = {"name": "other", "cc": "cubic", "start_jitter": "2s"}
RENO = {"name": "other", "cc": "reno", "start_jitter": "2s"}
BBR = {"name": "other", "cc": "bbr", "start_jitter": "2s"}
UDP = {"name": "other", "kind": "udp"}
SHORT = {"name": "other", "cc": "cubic", "bytes": "60kB"}
"""Poisson arrivals."""

PathKey = tuple[float, float, float, str | None, dict[str, Any] | None, float]
"""Rate in Mbit/s, round trip time in ms, buffer in BDP, random loss, other traffic, its share of the link."""
TEST_SEED = 82111
NEW = 10


def drawn(seed: int) -> dict[str, PathKey]:
    """Ten paths, half of them with other traffic of each kind, one with random loss."""
    draw = random.Random(seed)  # noqa: S311 — paths, no secret
    others = [None, CUBIC, None, UDP, None, SHORT, None, RENO, None, BBR]
    found: dict[str, PathKey] = {}
    for number, other in enumerate(others[:NEW], 1):
        rate, rtt, buffer = draw.uniform(8, 30), draw.uniform(12, 95), draw.uniform(0.6, 4)
        share = draw.uniform(0.15, 0.35) if other in (UDP, SHORT) else 0.0
        loss = f"{draw.uniform(0.03, 0.2):.2f}%" if number == NEW - 1 else None
        found[f"n{number}"] = (round(rate, 1), round(rtt), round(buffer, 1), loss, other, round(share, 2))
    return found


PATHS: dict[str, dict[str, PathKey]] = {
    "develop": {
        "d1": (20, 40, 1.0, None, None, 0),
        "d2": (12, 20, 2.0, None, None, 0),
        "d3": (30, 80, 0.5, None, None, 0),
        "d4": (15, 50, 2.0, "0.2%", None, 0),
        "d5": (16, 60, 1.5, None, CUBIC, 0),
        "d6": (25, 30, 1.0, None, UDP, 0.3),
        "d7": (22, 25, 3.0, None, SHORT, 0.2),
        "d8": (10, 100, 2.0, None, RENO, 0),
    },
    "test": drawn(TEST_SEED),
}
SIMULATED = ("bbr2", "bbr3", "copa")
"""Controllers that the kernel lacks and hosts run."""


def main(given: list[str]) -> None:
    """Measure, write."""
    arguments = parser(__doc__)
    arguments.add_argument("step", choices=("run", "develop", "test"))
    arguments.add_argument("set", nargs="?", choices=tuple(PATHS), default="test")
    arguments.add_argument("--sample", type=int, default=100, help="captures, spread over paths and controllers")
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--scales", action="store_true", help="develop: fix the scales too")
    options = arguments.parse_args(given)
    if options.step == "run":
        for number, each in enumerate(sample(options.set, options.sample), 1):
            capture(options.set, *each)
            described(*each, jobs=options.jobs)
            sys.stderr.write(f"{number} of {options.sample}: {' '.join(map(str, each))}\n")
    elif options.step == "develop":
        found = read_described("develop")
        SCALES.write_text(json.dumps(fit(found, None if options.scales else read_scales()), indent=1) + "\n")
        answers(found, read_scales()).write_csv(FOLDER / "develop.csv")
    else:
        answers(read_described("test"), read_scales()).write_csv(FOLDER / "test.csv")
        tables = {name: pl.read_csv(FOLDER / f"{name}.csv") for name in PATHS}
        write(FOLDER / "index.md", page(tables, PATHS, TEST_SEED))


def read_scales() -> dict[str, Any]:
    """Those of the package."""
    found: dict[str, Any] = json.loads(SCALES.read_text())
    return found


def sample(name: str, count: int) -> Iterator[tuple[str, str, int, str]]:
    """Path, controller, seed and capture point of each capture: every controller and every path in turn."""
    names, paths, points = [*of_linux(), *SIMULATED], list(PATHS[name]), list(POINTS)
    random.Random(name).shuffle(names)  # noqa: S311 — an order, no secret
    for number in range(count):
        lap = number // len(names)
        # A step of its own for each lap, so that a controller meets other paths.
        yield paths[(number + lap) % len(paths)], names[number % len(names)], 1 + lap, points[(number + lap) % 2]


def read_described(name: str) -> list[Described]:
    """All captures that are described."""
    files = sorted(file for path in PATHS[name] for file in (CAPTURES / path).glob("*.json"))
    found = [load(file) for file in files]
    return [each for each in found if each is not None]


def experiment(name: str, path: str, controller: str, seed: int) -> dict[str, Any]:
    """The experiment of a capture: one bulk flow of the controller, and the path's other traffic."""
    rate, rtt, buffer, loss, other, share = PATHS[name][path]
    draw = random.Random(f"{path} {seed}")  # noqa: S311 — a path, no secret
    rate, rtt, buffer = (value * (1 + SPREAD * draw.uniform(-1, 1)) for value in (rate, rtt, buffer))
    limit = max(buffer * rate * 1e3 * rtt / 8, 4 * 1514)
    document: dict[str, Any] = {
        "duration": DURATION,
        "sample": "1s",
        "path": {
            "rtt": f"{rtt * 1e3:.0f}us",
            "bottleneck": {"rate": f"{rate * 1e3:.0f}kbit", "qdisc": f"bfifo limit {limit:.0f}"},
        },
        "flows": [{"name": "tested", "cc": controller}],
        "tcp": {"ecn": "classic" if controller == "dctcp" else "auto"},
    }
    if loss:
        document["path"]["loss"] = loss
    if other is not None:
        other = dict(other)
        if "bytes" in other:
            other["arrivals"] = f"{share * rate * 1e6 / 8 / 60_000:.2f}/s"
        elif other.get("kind") == "udp":
            other["rate"] = f"{share * rate * 1e3:.0f}kbit"
        document["flows"].append(other)
    return document


def of_linux() -> tuple[str, ...]:
    """All controllers of the default kernel."""
    return controllers(find()) or ()


def capture_file(path: str, controller: str, seed: int, point: str) -> Path:
    """Where a capture is kept."""
    return CAPTURES / path / f"{controller}-{seed}-{point}.pcap"


def capture(name: str, path: str, controller: str, seed: int, point: str) -> None:
    """One run of the kernel engine, or of the simulator, captured at one end."""
    file = capture_file(path, controller, seed, point)
    if file.exists():
        return
    engine = "sim" if controller in SIMULATED else "kernel"
    with tempfile.TemporaryDirectory(prefix="dumbbell-identify-") as folder:
        place = Path(folder)
        (place / "experiment.toml").write_text(as_toml(experiment(name, path, controller, seed)))
        dumbbell(
            "run", place / "experiment.toml", "--engine", engine, "--seed", seed, "--pcap", place / "one.pcap",
            "--pcap-device", ".".join(POINTS[point]), "--out", place / "run", "--json",
        )  # fmt: skip
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((place / "one.pcap").read_bytes())


def described(path: str, controller: str, seed: int, point: str, jobs: int = 1) -> None:
    """The numbers of a capture and of its candidates; the true one always runs as often as the nearest."""
    file = capture_file(path, controller, seed, point).with_suffix(".json")
    if file.exists():
        return
    found: dict[str, Any]
    try:
        flow, _ = read_connection(file.with_suffix(".pcap"), ":5201")
        flow, seen, _ = prepared(flow, str(file))
    except ImportProblem as problem:
        found = {"problem": str(problem)}
    else:
        numbers = features(flow, seen)
        runs, _ = candidate_runs(flow, seen, numbers, scales_for(seen), CONTROLLERS, jobs=jobs, also=(controller,))
        found = {
            "features": numbers,
            "path": asdict(seen),
            "runs": {str(others): each for others, each in runs.items()},
        }
    file.write_text(json.dumps(found))
