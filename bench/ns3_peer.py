"""ns-3 as a contestant: which builds of it are here, our program against each, an experiment in ns-3's numbers.

The program is `ns3/experiment.cc`; what it counts becomes the metrics of `dumbbell compare` here. Who runs when is
`peers.py`'s; what is installed `scripts/setup.sh bench` sees to.
"""

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.analysis import spread
from dumbbell.plan import Plan, plan_case
from dumbbell.spec import Case

__all__ = ["ETHERNET_BYTES", "Ns3", "builds", "measured", "words"]

ROOT = Path(__file__).parents[1]
SOURCE = Path(__file__).parent / "ns3" / "experiment.cc"
PEERS = ROOT / "target" / "peers"
MODULES = ("core", "network", "internet", "point-to-point", "traffic-control", "applications")
CONTROLLERS = {"bbr": "TcpBbr", "cubic": "TcpCubic"}
ETHERNET_BYTES, NS3_BYTES = 1514, 1502
"""A full packet on the bottleneck's wire: there with an Ethernet header, in ns-3 with the 2 bytes of PPP."""


@dataclass(frozen=True)
class Ns3:
    """One build of ns-3."""

    version: str
    kind: str
    """`release`, `package` or `wheel`."""
    origin: str
    library: str
    """What a module's library is called, such as `ns3-{}`."""
    standard: str
    """The C++ that its headers are written in."""
    headers: Path | None = None
    libraries: Path | None = None
    """None: where compilers look anyway."""

    @property
    def name(self) -> str:
        """In tables."""
        return f"ns-{self.version} {self.kind}"

    @property
    def program(self) -> Path:
        """Where ours is, built against it."""
        return PEERS / f"experiment-{self.version}-{self.kind}"

    def build(self) -> None:
        """Compile our program, optimised, where it is older than its source."""
        if self.program.exists() and self.program.stat().st_mtime > SOURCE.stat().st_mtime:
            return
        self.program.parent.mkdir(parents=True, exist_ok=True)
        where = [f"-I{self.headers}"] if self.headers else []
        where += [f"-L{self.libraries}", f"-Wl,-rpath,{self.libraries}"] if self.libraries else []
        libraries = [f"-l{self.library.format(module)}" for module in MODULES]
        command: list[str | Path] = [
            "g++",
            f"-std={self.standard}",
            "-O3",
            "-o",
            self.program,
            SOURCE,
            *where,
            *libraries,
        ]
        subprocess.run(command, check=True)

    def run(self, case: Case, seed: int, wall_limit_s: int) -> dict[str, Any]:
        """An experiment, up to its end or for so many seconds."""
        plan = plan_case(case, seed)
        told = json.loads(output([self.program, *words(case, plan, seed), f"--wall-limit={wall_limit_s}"]))
        return {
            "wall_s": told["wall_s"],
            "events": told["events"],
            "packets": told["sent_packets"],
            "reached_s": told["reached_s"],
            "process_mib": told["peak_kib"] / 1024,
            "run_mib": (told["peak_kib"] - told["before_kib"]) / 1024,
            "measures": measured(told, plan) if told["reached_s"] >= plan.duration_ns / 1e9 else {},
        }


def builds() -> list[Ns3]:
    """The builds of ns-3 that this machine has: `scripts/ns3.sh` says which there may be."""
    return [*_of_source(), *_of_distribution(), *_of_wheel()]


def _of_source() -> Iterator[Ns3]:
    if (PEERS / "ns-3-release" / "made").exists():
        yield from _found(
            PEERS.glob("ns-3-release/ns3/lib/libns3.*-core*.so"),
            "release",
            "the distribution's source, built as ns-3's profile `release`",
            "c++17",
        )


def _of_distribution() -> Iterator[Ns3]:
    found = subprocess.run(["pkg-config", "--modversion", "ns3-core"], capture_output=True, text=True, check=False)
    if not found.returncode:
        yield Ns3(found.stdout.strip(), "package", "the distribution's `libns3-dev`", "ns3-{}", "c++17")


def _of_wheel() -> Iterator[Ns3]:
    yield from _found(PEERS.glob("ns3/ns3/lib*/libns3.*-core.so"), "wheel", "PyPI's wheel `ns3`", "c++20")


def _found(cores: Iterable[Path], kind: str, origin: str, standard: str) -> Iterator[Ns3]:
    for core in cores:
        if named := re.fullmatch(r"lib(ns(3\.\d+)-)core(.*)\.so", core.name):
            library, version = f"{named[1]}{{}}{named[3]}", named[2]
            yield Ns3(version, kind, origin, library, standard, core.parents[1] / "include", core.parent)


def words(case: Case, plan: Plan, seed: int) -> list[str]:
    """An experiment as our program takes it.

    Full packets a second and full packets in the queue are those of the plan, though ns-3's have other headers.
    """
    bottleneck = next(queue for queue in plan.queues if queue.under_test)
    kind, _, limit = bottleneck.text.split()
    (_, rate_bps), *changes = bottleneck.rates
    if changes or kind not in ("bfifo", "codel") or rate_bps is None:
        sys.exit(f"not told to ns-3 yet: {bottleneck.text}, rates {bottleneck.rates}")
    counts: dict[str, int] = {}
    for flow in plan.flows:
        counts[CONTROLLERS[flow.cc or ""]] = counts.get(CONTROLLERS[flow.cc or ""], 0) + 1
    return [
        f"--rate={rate_bps * NS3_BYTES // ETHERNET_BYTES}",
        f"--rtt={case.experiment.path.rtt}ns",
        f"--duration={plan.duration_ns}ns",
        f"--sample={plan.sample_ns}ns",
        f"--limit={int(limit) if kind == 'codel' else int(limit) // ETHERNET_BYTES}",
        f"--codel={int(kind == 'codel')}",
        "--groups=" + ",".join(f"{controller}:{count}" for controller, count in counts.items()),
        f"--seed={seed}",
    ]


def measured(told: Mapping[str, Any], plan: Plan) -> dict[str, float]:
    """The metrics of `dumbbell compare` that ns-3's counts give, each by the formula that it has there."""
    bottleneck = next(queue for queue in plan.queues if queue.under_test)
    rate_bps, length_s = float(bottleneck.rates[0][1] or math.nan), plan.duration_ns / 1e9
    packet_s = 8 * ETHERNET_BYTES / rate_bps
    groups = list(dict.fromkeys(flow.group for flow in plan.flows))
    total = sum(told["bytes_received"])
    found = {}
    for number, group in enumerate(groups):
        received, again, sent = (_of_group(told, key, number) for key in ("bytes_received", "retransmits", "segments"))
        found[f"groups.{group}.throughput_mbps"] = 8 * received / length_s / 1e6
        if len(groups) > 1:
            found[f"groups.{group}.share"] = received / total
        found[f"groups.{group}.retransmit_rate"] = again / sent
    backlog = spread(told["backlog_packets"])
    for part in ("mean", "p95"):
        packets = backlog[part]
        assert packets is not None
        found[f"queue.packets.{part}"] = packets
        found[f"queue.delay_ms.{part}"] = packets * packet_s * 1e3
    return found | {"queue.drops": told["drops"], "utilisation": told["sent_packets"] * packet_s / length_s}


def _of_group(told: Mapping[str, Any], key: str, number: int) -> int:
    return sum(count for count, group in zip(told[key], told["groups"], strict=True) if group == number)


def output(command: Sequence[str | Path]) -> str:
    """What a program prints; a failure ends the benchmark with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout
