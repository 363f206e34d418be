"""What a recording says about each destination, and which congestion control to try there.

A recording of `dumbbell watch` has the addresses of connections. The connections to one /24 or /48 are one destination.
The advice rests on what BBR is for: losses that no queue of the path explains, and a queue that the controller itself
keeps full. It is a hint to test (`dumbbell fetch`, `dumbbell evaluate`), never a verdict.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from dumbbell.analysis.native import mean_of_known
from dumbbell.analysis.summary import summary
from dumbbell.errors import ResultError
from dumbbell.results.result import Run

__all__ = ["LEAST_SEGMENTS", "Destination", "destinations", "prefix_of"]

V4_BITS, V6_BITS = 24, 48
"""Prefixes that one network usually announces as a whole."""
LEAST_SEGMENTS = 1000
"""Data segments below which a loss rate is chance."""
LOSSY = 0.005
"""Retransmitted share from which CUBIC loses much of its rate on a path of 20 ms or more (its model: 1 / p^0.75)."""
CALM = 1.5
"""Mean RTT ÷ smallest RTT up to which losses don't come from a queue that the connections fill."""
BLOATED = 2.5
"""From this ratio on the connections themselves, or others, keep a queue full."""
PACED = ("bbr", "bbr2", "bbr3")


@dataclass(frozen=True)
class Destination:
    """Sums and means over the connections to one prefix that send data."""

    prefix: str
    connections: int
    cc: str
    """Controllers, joined by `+`."""
    segments: int | None
    retransmit_rate: float | None
    rtt_ms: float | None
    rtt_ratio: float | None
    """Mean RTT ÷ smallest RTT."""
    advice: str
    command: str | None
    """What changes it for this destination; None: leave it."""

    def as_json(self) -> dict[str, Any]:
        """The object of `--json`."""
        return asdict(self)


def prefix_of(address: str) -> str | None:
    """The /24 or /48 that an address is in, IPv4 in IPv6 as IPv4; None for a text that is no address."""
    try:
        found = ipaddress.ip_address(address.strip("[]").partition("%")[0])
    except ValueError:
        return None
    if found.version == 6 and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return str(ipaddress.ip_network(f"{found}/{V4_BITS if found.version == 4 else V6_BITS}", strict=False))


def destinations(run: Run) -> list[Destination]:
    """Every destination, the most segments first. Raises `ResultError` for a run without addresses."""
    smoothed = {flow["name"]: flow["rtt_ms"]["mean"] for flow in summary(run)["flows"]}
    least = dict(
        run.flows.select("flow", ns=pl.col("min_rtt_ns").replace(0, None))
        .drop_nulls()
        .group_by("flow")
        .agg(pl.col("ns").min() / 1e6)
        .iter_rows()
    )
    found: dict[str, list[Mapping[str, Any]]] = {}
    for flow in run.manifest.flows:
        socket = str((flow.get("seen") or {}).get("socket") or "")
        peer = socket.rsplit(" ", maxsplit=1)[-1].rpartition(":")[0]
        prefix = prefix_of(peer) if peer else None
        if prefix is not None and (flow.get("seen") or {}).get("side") != "receiver":
            found.setdefault(prefix, []).append(flow)
    if not found:
        raise ResultError(
            f"{run.folder}: has no addresses of connections that send; record some: dumbbell watch --out RUN"
        )
    made = [_destination(prefix, flows, smoothed, least) for prefix, flows in found.items()]
    return sorted(made, key=lambda each: -(each.segments or 0))


def _destination(
    prefix: str, flows: list[Mapping[str, Any]], smoothed: Mapping[str, float | None], least: Mapping[str, float]
) -> Destination:
    segments = sum(flow["data_segs_out"] or 0 for flow in flows)
    again = sum(flow["retransmits"] or 0 for flow in flows)
    rate = again / segments if segments else None
    rtt_ms = mean_of_known(smoothed.get(flow["name"]) for flow in flows)
    known = [least[flow["name"]] for flow in flows if flow["name"] in least]
    ratio = rtt_ms / min(known) if rtt_ms is not None and known and min(known) > 0 else None
    controllers = sorted({flow["cc"] or "unknown" for flow in flows})
    advice, command = _advice(prefix, controllers, (segments, rate, ratio))
    return Destination(
        prefix, len(flows), "+".join(controllers), segments or None, rate, rtt_ms, ratio, advice, command
    )


def _advice(
    prefix: str, controllers: list[str], seen: tuple[int, float | None, float | None]
) -> tuple[str, str | None]:
    segments, rate, ratio = seen
    if segments < LEAST_SEGMENTS or rate is None or ratio is None:
        return f"not known: fewer than {LEAST_SEGMENTS:,} data segments, or no RTT", None
    if all(name in PACED for name in controllers):
        return "already BBR", None
    enable = f"sudo dumbbell enable bbr --route {prefix}"
    if rate >= LOSSY and ratio <= CALM:
        return "try bbr: losses without a queue", enable
    if ratio >= BLOATED:
        return "try bbr: a full queue; it may be others'", enable
    if rate >= LOSSY:
        return "leave it: the losses come with a full queue", None
    return "leave it: few losses, short queue", None
