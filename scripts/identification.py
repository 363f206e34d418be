"""Measures `dumbbell identify` on captures of the kernel engine and makes docs/results/identify/index.md.

    python scripts/identification.py capture develop|test [--seeds N]      run the kernel engine
    python scripts/identification.py describe develop|test [--seeds N]     run the candidates
    python scripts/identification.py develop                               fix scales and limits
    python scripts/identification.py test                                  measure, write the page

`make page NAME=identifications` calls all of them. The paths for development and for the test differ. `develop` fixes
`python/dumbbell/identification/scales.json`; `test` only measures. What is done is kept in target/identify, so that an
interrupted run goes on: remove that folder after a change of the estimates, the candidates or the numbers.
"""

import argparse
import hashlib
import json
import random
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
from identification_answers import Described, answers, fit, load
from identification_page import page

from dumbbell.errors import ImportProblem
from dumbbell.identification.candidates import CONTROLLERS, controllers_for, documents, simulate
from dumbbell.identification.connection import Connection, read_connection
from dumbbell.identification.features import features
from dumbbell.identification.identify import hypotheses, prepared
from dumbbell.kernels import find
from dumbbell.kernels.features import controllers
from dumbbell.spec.document import as_toml

ROOT = Path(__file__).resolve().parents[1]
CAPTURES = ROOT / "target" / "identify"
FOLDER = ROOT / "docs" / "results" / "identify"
SCALES = ROOT / "python" / "dumbbell" / "identification" / "scales.json"
DUMBBELL = str(Path(sys.executable).with_name("dumbbell"))
DURATION = "15s"
SPREAD = 0.1
"""Each seed draws rate, round trip time and buffer up to this far from the path's, because one flow draws nothing."""
POINTS = {"sender": ("sender", "right"), "receiver": ("receiver", "left")}

CUBIC = {"name": "other", "cc": "cubic", "start_jitter": "2s"}
RENO = {"name": "other", "cc": "reno", "start_jitter": "2s"}
BBR = {"name": "other", "cc": "bbr", "start_jitter": "2s"}
UDP = {"name": "other", "kind": "udp"}
SHORT = {"name": "other", "cc": "cubic", "bytes": "60kb"}
"""Poisson arrivals."""

# Rate in Mbit/s, round trip time in ms, buffer in BDP, random loss, other traffic, its share of the link.
PATHS: dict[str, dict[str, tuple[float, float, float, str | None, dict[str, Any] | None, float]]] = {
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
    "test": {
        "t1": (18, 35, 1.0, None, None, 0),
        "t2": (26, 15, 2.0, None, None, 0),
        "t3": (10, 70, 0.7, None, None, 0),
        "t4": (24, 50, 4.0, None, None, 0),
        "t5": (14, 90, 1.2, "0.05%", None, 0),
        "t6": (20, 30, 1.5, None, CUBIC, 0),
        "t7": (28, 45, 1.0, None, UDP, 0.25),
        "t8": (12, 55, 2.5, None, SHORT, 0.2),
        "t9": (22, 65, 0.8, None, RENO, 0),
        "t10": (16, 22, 3.0, None, BBR, 0),
    },
}


def main() -> None:
    """Measure, write."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("step", choices=("capture", "describe", "develop", "test"))
    arguments.add_argument("set", nargs="?", choices=tuple(PATHS), default="test")
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--only", help="only these paths, such as t1,t2")
    options = arguments.parse_args()
    if options.step == "capture":
        capture_all(options.set, options.seeds, options.jobs)
    elif options.step == "describe":
        describe_all(options.set, options.seeds, options.jobs, options.only)
    elif options.step == "develop":
        described = read_described("develop")
        SCALES.write_text(json.dumps(fit(described), indent=1) + "\n")
        answers(described, json.loads(SCALES.read_text())).write_csv(FOLDER / "develop.csv")
    else:
        answers(read_described("test"), json.loads(SCALES.read_text())).write_csv(FOLDER / "test.csv")
        tables = {name: pl.read_csv(FOLDER / f"{name}.csv") for name in PATHS}
        (FOLDER / "index.md").write_text(page(tables, PATHS), encoding="utf-8")


def read_described(name: str) -> list[Described]:
    """All captures that are described."""
    files = sorted(file for path in PATHS[name] for file in (CAPTURES / path).glob("*.json"))
    found = [load(file, CAPTURES / "candidates") for file in files]
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


def capture_all(name: str, seeds: int, jobs: int) -> None:
    """Run what is missing."""
    wanted = [
        (path, controller, seed) for seed in range(1, seeds + 1) for path in PATHS[name] for controller in of_linux()
    ]
    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(lambda each: capture(name, *each), wanted):
            pass


def capture_file(path: str, controller: str, seed: int, point: str) -> Path:
    """Where a capture is kept."""
    return CAPTURES / path / f"{controller}-{seed}-{point}.pcap"


def capture(name: str, path: str, controller: str, seed: int) -> None:
    """One run of the kernel engine, captured at both ends."""
    files = {point: capture_file(path, controller, seed, point) for point in POINTS}
    if all(file.exists() for file in files.values()):
        return
    with tempfile.TemporaryDirectory(prefix="dumbbell-identify-") as folder:
        place = Path(folder)
        (place / "experiment.toml").write_text(as_toml(experiment(name, path, controller, seed)))
        command = [
            DUMBBELL, "run", str(place / "experiment.toml"), "--engine", "kernel", "--seed", str(seed),
            "--pcap", str(place / "all.pcapng"), "--pcap-device", "all", "--out", str(place / "run"), "--json",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{path} {controller} {seed}: {done.stderr[-600:]}")
        data = (place / "all.pcapng").read_bytes()
        for point, file in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"".join(_of_device(data, ".".join(POINTS[point]))))


def _of_device(data: bytes, device: str) -> Iterator[bytes]:
    """The blocks of a pcapng file (draft-ietf-opsawg-pcapng) that one of its interfaces has, by its name."""
    position, names = 0, list[bytes]()
    while position < len(data):
        kind, size = struct.unpack_from("<II", data, position)
        block = data[position : position + size]
        position += size
        if kind == 1:
            names.append(block)
        if kind != 6 or device.encode() in names[struct.unpack_from("<I", block, 8)[0]]:
            yield block


def describe_all(name: str, seeds: int, jobs: int, only: str | None) -> None:
    """Describe every capture, and the candidates on its path."""
    wanted = [
        (path, controller, seed, point)
        for seed in range(1, seeds + 1)
        for path in PATHS[name]
        if only is None or path in only.split(",")
        for point in POINTS
        for controller in of_linux()
    ]
    for each in wanted:
        if capture_file(*each).exists():
            described(*each, jobs=jobs)


def described(path: str, controller: str, seed: int, point: str, jobs: int = 1) -> dict[str, Any]:
    """The numbers of a capture, and the key of its candidates' numbers."""
    file = capture_file(path, controller, seed, point).with_suffix(".json")
    if file.exists():
        found: dict[str, Any] = json.loads(file.read_text())
        return found
    try:
        flow, _ = read_connection(file.with_suffix(".pcap"), ":5201")
        flow, seen, _ = prepared(flow, str(file))
    except ImportProblem as problem:
        found = {"problem": str(problem)}
    else:
        runs = {str(others): candidates(flow, seen, others, jobs) for others in hypotheses(seen)}
        found = {"features": features(flow, seen), "path": asdict(seen), "runs": runs}
    file.write_text(json.dumps(found))
    return found


def candidates(flow: Connection, path: Any, others: str | None, jobs: int) -> str:
    """The key of the candidates' numbers on this path; captures with the same estimate share them."""
    names = controllers_for(flow, CONTROLLERS)
    wanted = [each for name in names for each in documents(name, path, others, flow)]
    text = json.dumps([[each.controller, each.document, each.skip_s] for each in wanted] + [path.at_sender])
    key = hashlib.sha256(text.encode()).hexdigest()[:20]
    file = CAPTURES / "candidates" / f"{key}.json"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(dict(simulate(wanted, path, jobs))))
    return key


if __name__ == "__main__":
    main()
