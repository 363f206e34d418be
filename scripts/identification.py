"""Measures `dumbbell identify` on captures of the kernel engine and makes docs/results/identify/index.md.

    python scripts/identification.py capture develop|test [--seeds N]
    python scripts/identification.py develop
    python scripts/identification.py test

`make identifications` calls all in this order. The paths for development and for the test differ. `develop` fixes the
scales and the limit of `python/dumbbell/identification/scales.json`; `test` only measures. Captures are kept in
target/identify, so that an interrupted run goes on.
"""

import argparse
import random
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dumbbell.spec.document import as_toml

ROOT = Path(__file__).resolve().parents[1]
CAPTURES = ROOT / "target" / "identify"
DUMBBELL = str(Path(sys.executable).with_name("dumbbell"))
CONTROLLERS = (
    "reno", "cubic", "bbr", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable",
    "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
"""All of Linux."""
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
    arguments.add_argument("step", choices=("capture", "develop", "test"))
    arguments.add_argument("set", nargs="?", choices=tuple(PATHS), default="test")
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--jobs", type=int, default=2)
    options = arguments.parse_args()
    if options.step == "capture":
        capture_all(options.set, options.seeds, options.jobs)


def experiment(name: str, path: str, controller: str, seed: int) -> dict[str, Any]:
    """The experiment of a capture: one bulk flow of the controller, and the path's other traffic."""
    rate, rtt, buffer, loss, other, share = PATHS[name][path]
    draw = random.Random(f"{path} {seed}")
    rate, rtt, buffer = (value * (1 + SPREAD * draw.uniform(-1, 1)) for value in (rate, rtt, buffer))
    limit = max(buffer * rate * 1e3 * rtt / 8, 4 * 1514)
    document: dict[str, Any] = {
        "duration": DURATION,
        "sample": "1s",
        "path": {
            "rtt": f"{rtt * 1e3:.0f}us",
            "bottleneck": {"rate": f"{rate * 1e3:.0f}kbit", "qdisc": f"bfifo limit {limit:.0f}"},
        },
        "flows": [{"name": "tested", "cc": controller, "ecn": controller == "dctcp"}],
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


def capture_all(name: str, seeds: int, jobs: int) -> None:
    """Run what is missing."""
    wanted = [
        (path, controller, seed) for seed in range(1, seeds + 1) for path in PATHS[name] for controller in CONTROLLERS
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
            print(path, controller, seed, done.stdout[-600:], done.stderr[-600:])
            return
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


if __name__ == "__main__":
    main()
