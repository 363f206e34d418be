"""Builds of ns-3: find its builds, compile `ns3/experiment.cc` against each, run it, and compute the metrics.

`scripts/setup.sh bench` and `scripts/ns3.sh` install ns-3.
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

from dumbbell.analysis.native import spread
from dumbbell.plan import Plan, plan_case
from dumbbell.spec import Case

__all__ = ["ETHERNET_BYTES", "Ns3", "arguments", "builds", "measured"]

ROOT = Path(__file__).parents[1]
SOURCE = Path(__file__).parent / "ns3" / "experiment.cc"
PEERS = ROOT / "target" / "peers"
MODULES = ("core", "network", "internet", "point-to-point", "traffic-control", "applications")
CONTROLLERS = {"bbr": "TcpBbr", "cubic": "TcpCubic"}
ETHERNET_BYTES, NS3_BYTES = 1514, 1502
"""A full packet on the bottleneck link: with an Ethernet header in Dumbbell, with 2 bytes of PPP in ns-3."""


@dataclass(frozen=True)
class Ns3:
    """One build of ns-3."""

    version: str
    kind: str
    """`release`, `package` or `wheel`."""
    origin: str
    library: str
    """The name of a module's library, such as `ns3-{}`."""
    standard: str
    """The C++ standard of its headers."""
    headers: Path | None = None
    libraries: Path | None = None
    """None: in the compiler's default path."""

    @property
    def name(self) -> str:
        """The name in tables."""
        return f"ns-{self.version} {self.kind}"

    @property
    def program(self) -> Path:
        """Our program, built against this ns-3."""
        return PEERS / f"experiment-{self.version}-{self.kind}"

    def build(self) -> None:
        """Compile our program if it is older than its source."""
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
        """Run an experiment to its end or to the limit."""
        plan = plan_case(case, seed)
        counts = json.loads(output([self.program, *arguments(case, plan, seed), f"--wall-limit={wall_limit_s}"]))
        return {
            "wall_s": counts["wall_s"],
            "events": counts["events"],
            "packets": counts["sent_packets"],
            "reached_s": counts["reached_s"],
            "process_mib": counts["peak_kib"] / 1024,
            "run_mib": (counts["peak_kib"] - counts["before_kib"]) / 1024,
            "measures": measured(counts, plan) if counts["reached_s"] >= plan.duration_ns / 1e9 else {},
        }


def builds() -> list[Ns3]:
    """The installed builds of ns-3; `scripts/ns3.sh` lists the possible ones."""
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
        if match := re.fullmatch(r"lib(ns(3\.\d+)-)core(.*)\.so", core.name):
            library, version = f"{match[1]}{{}}{match[3]}", match[2]
            yield Ns3(version, kind, origin, library, standard, core.parents[1] / "include", core.parent)


def arguments(case: Case, plan: Plan, seed: int) -> list[str]:
    """The arguments of our program for an experiment.

    Full packets per second and full packets in the queue are those of the plan; ns-3's headers differ in size.
    """
    bottleneck = next(queue for queue in plan.queues if queue.under_test)
    kind, _, limit = bottleneck.text.split()
    (_, rate_bps), *changes = bottleneck.rates
    if changes or kind not in ("bfifo", "codel") or rate_bps is None:
        sys.exit(f"cannot express this in ns-3: {bottleneck.text}, rates {bottleneck.rates}")
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


def measured(counts: Mapping[str, Any], plan: Plan) -> dict[str, float]:
    """The metrics of `dumbbell compare` from ns-3's counts, by the same formulas."""
    bottleneck = next(queue for queue in plan.queues if queue.under_test)
    rate_bps, length_s = float(bottleneck.rates[0][1] or math.nan), plan.duration_ns / 1e9
    packet_s = 8 * ETHERNET_BYTES / rate_bps
    groups = list(dict.fromkeys(flow.group for flow in plan.flows))
    total = sum(counts["bytes_received"])
    found = {}
    for number, group in enumerate(groups):
        received, retransmitted, sent = (
            _of_group(counts, key, number) for key in ("bytes_received", "retransmits", "segments")
        )
        found[f"groups.{group}.throughput_mbps"] = 8 * received / length_s / 1e6
        if len(groups) > 1:
            found[f"groups.{group}.share"] = received / total
        found[f"groups.{group}.retransmit_rate"] = retransmitted / sent
    backlog = spread(counts["backlog_packets"])
    for statistic in ("mean", "p95"):
        packets = backlog[statistic]
        assert packets is not None
        found[f"queue.packets.{statistic}"] = packets
        found[f"queue.delay_ms.{statistic}"] = packets * packet_s * 1e3
    return found | {"queue.drops": counts["drops"], "utilization": counts["sent_packets"] * packet_s / length_s}


def _of_group(counts: Mapping[str, Any], key: str, number: int) -> int:
    return sum(count for count, group in zip(counts[key], counts["groups"], strict=True) if group == number)


def output(command: Sequence[str | Path]) -> str:
    """The output of a program; a failure ends the benchmark with its error."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout
