"""Both engines on random experiments that use the keys of the network.

Two-way flows, routes and their changes, outages, changes of links, sizes, groups that wait for others.

    python validation/network_keys.py [--count 40] [--seed 20261128]

Draws experiments, runs each on the simulator and in a guest, compares the bytes that each flow delivered, and prints a
line for each experiment that differs by more than `APART` in total. Fails if a run is invalid.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import dumbbell as db
from dumbbell.spec.document import as_toml

__all__ = ["drawn"]

APART = 0.02
"""Difference in total bytes that is named."""

FILES = {
    "up.trace": "".join(f"{ms}\n" for ms in range(1, 1001, 2)),
    "leo.csv": "time,rate,delay\n1s,6mbit,20ms\n2s,15mbit,5ms\n3s,9mbit,12ms\n",
    "sizes.cdf": "1000 0.4\n20000 0.9\n200000 1.0\n",
}


def drawn(rng: random.Random) -> dict[str, Any]:
    """A random experiment."""
    path: dict[str, Any] = {"rtt": rng.choice(["10ms", "20ms", "50ms"])}
    if rng.random() < 0.4:
        path["forward_delay"] = rng.choice(["2ms", "5ms", "10ms"])
    if rng.random() < 0.2:
        path["jitter"] = "1ms"
    if rng.random() < 0.6:
        path["reverse"] = {"rate": rng.choice(["2mbit", "5mbit", "10mbit"]), "qdisc": "pfifo limit 50"}
    links = ["bottleneck"]
    if rng.random() < 0.4:
        links.append("second")
        path["links"] = [{"name": "second", "rate": rng.choice(["4mbit", "8mbit"]), "qdisc": "pfifo limit 60"}]
    ecn = rng.choice(["auto", "off", "classic"])
    queue = rng.choice(["pfifo limit 60", "pfifo limit 200", "codel ecn" if ecn == "classic" else "codel", "fq_codel"])
    is_traced = rng.random() < 0.3
    rate = {"rate_trace": "up.trace"} if is_traced else {"rate": rng.choice(["5mbit", "10mbit", "20mbit"])}
    path["bottleneck"] = {"qdisc": queue, **rate}
    flows = [{"name": "a", "cc": _controller(rng), "count": rng.choice([1, 2])}]
    if "reverse" in path:  # Without a rate it would be as fast as the host that runs it.
        flows.append({"name": "back", "cc": _controller(rng), "direction": "reverse"})
    if len(links) > 1:
        flows.append({"name": "crosses", "cc": _controller(rng), "route": [rng.choice(links)]})
    if rng.random() < 0.3 and not is_traced:
        flows.append({"name": "web", "cc": "cubic", "bytes": {"cdf": "sizes.cdf"}, "arrivals": {"load": 0.3}})
    if rng.random() < 0.2:
        flows.append({"name": "heavy", "cc": "cubic", "bytes": {"pareto": "30kB", "shape": 1.3}, "arrivals": "5/s"})
    changes = _changes(rng, path, queue, is_traced=is_traced)
    if rng.random() < 0.3:
        flows[0]["bytes"] = rng.choice(["200kB", "1MB"])
        flows.append({"name": "next", "cc": _controller(rng), "after": "a", "start": rng.choice(["0s", "30ms"])})
    if rng.random() < 0.3:
        reads = {"count": 3, "request": "100b", "response": rng.choice(["10kB", "60kB"]), "barrier": True}
        flows.append({"name": "reads", "cc": _controller(rng), **reads, "think": rng.choice(["0s", "5ms"])})
    if len(links) > 1 and rng.random() < 0.5:
        changes = [*changes, {"at": "1s", "group": "crosses", "route": rng.choice([["bottleneck"], ["second"], links])}]
    document = {"duration": "4s", "path": path, "flows": flows, "tcp": {"ecn": ecn}}
    return document | ({"changes": changes} if changes else {})


def _controller(rng: random.Random) -> str:
    return rng.choice(["cubic", "bbr", "reno"])


def _changes(rng: random.Random, path: dict[str, Any], queue: str, *, is_traced: bool) -> list[dict[str, Any]]:
    kinds: list[list[dict[str, Any]]] = [[]]
    if not is_traced:
        kinds += [[{"at": "2s", "up": False}, {"at": "2300ms", "up": True}], [{"at": "0s", "file": "leo.csv"}]]
    if "reverse" in path:
        kinds.append([{"at": "2s", "link": "reverse", "rate": "3mbit"}])
    if queue.startswith("pfifo"):
        kinds.append([{"at": "2s", "qdisc": "pfifo limit 20"}])
    return rng.choice(kinds)


def main() -> int:
    """Draw, run, compare; returns the exit status."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=40)
    options.add_argument("--seed", type=int, default=20261128)
    given = options.parse_args()
    rng = random.Random(given.seed)
    totals, equal, invalid = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        for number in range(given.count):
            file = Path(folder) / f"{number}.toml"
            file.write_text(as_toml(drawn(rng)), encoding="utf-8")
            runs = [db.run(file, engine) for engine in ("sim", "kernel")]
            problems = [reason for run in runs for reason in run.manifest["invalid"]]
            invalid += bool(problems)
            sent = [{flow["name"]: flow["bytes_received"] for flow in run.manifest["flows"]} for run in runs]
            one, other = (sum(each.values()) for each in sent)
            totals.append(abs(one - other) / max(one, other, 1))
            equal += sent[0] == sent[1]
            if problems or totals[-1] > APART:
                sys.stdout.write(f"{number}: {totals[-1]:.1%} apart {'; '.join(problems)}\n{file.read_text()}\n")
    near = sum(total < 0.01 for total in totals)
    sys.stdout.write(
        f"{len(totals)} experiments: {equal} with the same bytes of every flow, {near} within 1 %, "
        f"largest difference {max(totals):.1%}, {invalid} invalid\n"
    )
    return int(invalid > 0)


if __name__ == "__main__":
    sys.exit(main())
