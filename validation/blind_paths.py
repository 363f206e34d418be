"""Blind test of `dumbbell fit` and `dumbbell predict`: paths drawn from a seed, recorded and judged on the kernel.

    python validation/blind_paths.py SEED [--paths N] [--out docs/results/blind-paths.md]

Each path is recorded with CUBIC for 15 s, fitted, and BBR, Reno and CUBIC are predicted on the simulator. The truth is
a run of the same path on the kernel engine. Choose the seed after the code is frozen; every path counts.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dumbbell.spec.document import as_toml

COMMAND = Path(sys.executable).with_name("dumbbell")
KINDS = (
    "drop-tail", "AQM", "loss", "policer", "steps", "drop-tail", "AQM", "loss", "drop-tail", "steps",
    "drop-tail", "AQM", "policer", "loss", "drop-tail",
)  # fmt: skip
"""In the shares 20, 12, 12, 8 and 8 of 60, mixed so that the first paths are of all kinds."""
CONTROLLERS = ("bbr", "reno", "cubic")
DURATION_S = 15
REFUSED = 5
FASTER = 0.15
"""A difference that decides which controller is faster."""


@dataclass
class Judged:
    """A path and how it came out."""

    kind: str
    text: str
    others: str
    refused: str | None = None
    took_s: float = 0.0
    models: list[str] = field(default_factory=list)
    errors: dict[str, float] = field(default_factory=dict)
    inside: dict[str, bool] = field(default_factory=dict)
    faster: list[bool] = field(default_factory=list)


def main() -> None:
    """Draw, judge, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--paths", type=int, default=len(KINDS))
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    judged = []
    for number in range(asked.paths):
        kind = KINDS[number % len(KINDS)]
        document, others = path_of(draw, kind, beside=draw.random() < 0.5)
        with tempfile.TemporaryDirectory(prefix="blind-") as folder:
            judged.append(judge(Path(folder), kind, document, others))
        print(number + 1, judged[-1], file=sys.stderr, flush=True)
        if asked.out:  # After each path: a run of hours may be stopped.
            asked.out.write_text(page(judged, asked.seed))
    if not asked.out:
        print(page(judged, asked.seed))


def path_of(draw: random.Random, kind: str, *, beside: bool) -> tuple[dict[str, Any], str]:
    """An experiment of this kind; with other traffic or without."""
    rate = draw.uniform(8e6, 60e6)
    rtt = draw.uniform(0.015, 0.09)
    bdp = rate * rtt / 8
    queue = f"bfifo limit {bdp * draw.uniform(0.5, 2):.0f}"
    path: dict[str, Any] = {"rtt": f"{rtt * 1e6:.0f}us", "bottleneck": {"rate": f"{rate:.0f}bit", "qdisc": queue}}
    document: dict[str, Any] = {"duration": f"{DURATION_S}s", "sample": "100ms", "path": path}
    if kind == "AQM":
        path["bottleneck"]["qdisc"] = draw.choice(["codel", "fq_codel", "pie"])
    elif kind == "policer":
        path["bottleneck"] = {"qdisc": f"police rate {rate:.0f}bit burst {bdp * draw.uniform(0.3, 2):.0f}b"}
    elif kind == "loss":
        path["loss"] = f"{draw.uniform(0.02, 0.5):.3f}%"
    elif kind == "steps":
        at = sorted(draw.uniform(3, 12) for _ in range(2))
        document["changes"] = [
            {"at": f"{when * 1e3:.0f}ms", "rate": f"{rate * draw.uniform(0.4, 1.5):.0f}bit"} for when in at
        ]
    document["flows"] = [{"name": "recorded", "cc": "cubic"}]
    if not beside:
        return document, "none"
    other = draw.choice(["udp", "cubic", "bbr"])
    start = f"{draw.choice([0.0, draw.uniform(2, 8)]) * 1e3:.0f}ms"
    more = {"kind": "udp", "rate": f"{rate * draw.uniform(0.1, 0.4):.0f}bit"} if other == "udp" else {"cc": other}
    document["flows"].append({"name": "other", "start": start, **more})
    return document, f"{other} from {start}"


def judge(folder: Path, kind: str, document: dict[str, Any], others: str) -> Judged:
    """Record, predict, and compare with the truth."""
    bottleneck = document["path"]["bottleneck"]
    what = f"{bottleneck.get('rate', '')} {bottleneck['qdisc']} {document['path'].get('loss', '')}".strip()
    made = Judged(kind, f"{what}, {document['path']['rtt']}", others)
    experiment, capture = folder / "truth.toml", folder / "recording.pcap"
    experiment.write_text(as_toml(document))
    run(experiment, folder / "recorded", "cubic", "--pcap", capture, "--pcap-device", "sender.right")
    began = time.monotonic()
    asked = ("predict", capture, "--cc-recorded", "cubic", "--flow", ":5201", "--cc", ",".join(CONTROLLERS), "--json")
    done = subprocess.run([COMMAND, *map(str, asked)], capture_output=True, text=True, check=False)
    made.took_s = time.monotonic() - began
    if done.returncode == REFUSED:
        made.refused = json.loads(done.stdout)["refused"]
        return made
    if done.returncode:
        made.refused = done.stderr.strip().splitlines()[-1]
        return made
    answer = json.loads(done.stdout)
    predicted = answer["predictions"]["sim"]
    made.models = answer["models"]
    truth = {cc: run(experiment, folder / cc, cc) for cc in CONTROLLERS}
    for cc, real in truth.items():
        low, high = predicted[cc]["intervals"]["throughput_mbps"]
        made.errors[cc] = predicted[cc]["throughput_mbps"] / real - 1
        made.inside[cc] = low * 0.995 <= real <= high * 1.005
    for one, other in (("bbr", "cubic"), ("bbr", "reno")):
        if abs(truth[one] / truth[other] - 1) > FASTER:
            said = predicted[one]["throughput_mbps"] > predicted[other]["throughput_mbps"]
            made.faster.append(said == (truth[one] > truth[other]))
    return made


def run(experiment: Path, out: Path, cc: str, *options: object) -> float:
    """Throughput of the first flow on the kernel, in Mbit/s."""
    asked = ("run", experiment, "--engine", "kernel", "--set", f"flows.recorded.cc={cc}", "--out", out, "--json")
    done = subprocess.run([COMMAND, *map(str, (*asked, *options))], capture_output=True, text=True, check=True)
    found: float = json.loads(done.stdout)["flows"][0]["throughput_mbps"]
    return found


def page(judged: list[Judged], seed: int) -> str:
    """The results as Markdown."""
    fitted = [each for each in judged if not each.refused]
    errors = [abs(error) for each in fitted for error in each.errors.values()]
    inside = [value for each in fitted for value in each.inside.values()]
    faster = [value for each in fitted for value in each.faster]
    lines = [
        "# Blind test of fitted paths", "",
        f"Made by `python validation/blind_paths.py {seed} --paths {len(judged)}`, the seed chosen after the code was "
        "frozen: paths recorded with CUBIC on the kernel engine for 15 s, predicted on the simulator, judged on the "
        "kernel engine.", "",
        f"{len(fitted)} of {len(judged)} paths were fitted, {len(judged) - len(fitted)} refused.",
    ]  # fmt: skip
    if errors:
        lines.append(
            f"Of those fitted, the median error of throughput is {100 * statistics.median(errors):.1f} %, the largest "
            f"{100 * max(errors):.0f} %; the range holds the truth in {sum(inside)} of {len(inside)} predictions "
            f"(within 0.5 %); where controllers differ by more than 15 % the faster one is right in {sum(faster)} of "
            f"{len(faster)}."
        )
    lines += ["", *by_kind(judged)]
    lines += [
        "",
        "| path | other traffic | models | BBR | Reno | CUBIC | ranges | s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for each in judged:
        if each.refused:
            lines.append(f"| {each.text} | {each.others} | refused: {each.refused} | | | | | {each.took_s:.0f} |")
            continue
        cells = " | ".join(f"{100 * each.errors[cc]:+.1f} %" for cc in CONTROLLERS)
        hits = f"{sum(each.inside.values())} of {len(each.inside)}"
        lines.append(
            f"| {each.text} | {each.others} | {', '.join(each.models)} | {cells} | {hits} | {each.took_s:.0f} |"
        )
    return "\n".join(lines) + "\n"


def by_kind(judged: list[Judged]) -> list[str]:
    """A row a kind of path, and those with and without other traffic."""
    parts = {kind: [each for each in judged if each.kind == kind] for kind in dict.fromkeys(KINDS)}
    parts["without other traffic"] = [each for each in judged if each.others == "none"]
    parts["with other traffic"] = [each for each in judged if each.others != "none"]
    lines = [
        "| kind | paths | fitted | refused | median error of throughput | largest | ranges hold | faster one right |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, mine in parts.items():
        fitted = [each for each in mine if not each.refused]
        errors = [abs(error) for each in fitted for error in each.errors.values()]
        inside = [value for each in fitted for value in each.inside.values()]
        faster = [value for each in fitted for value in each.faster]
        median, most = (f"{100 * of(errors):.1f} %" if errors else "" for of in (statistics.median, max))
        lines.append(
            f"| {name} | {len(mine)} | {len(fitted)} | {len(mine) - len(fitted)} | {median} | {most} | "
            f"{sum(inside)} of {len(inside)} | {sum(faster)} of {len(faster)} |"
        )
    return lines


if __name__ == "__main__":
    main()
