"""Faults that were corrected: an older result that one of them touches says so when it is opened.

To add one: append a `Correction` whose name is new. A result's manifest lists the names that its Dumbbell had, so only
a result that was made before has the warning; `docs/result.md` explains the key. Pure: no I/O.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.spec.units import Wrong, duration_ns, size_bytes

__all__ = ["CORRECTIONS", "Correction", "names", "warnings"]

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Correction:
    """A fault that changed numbers."""

    name: str
    """Never changes: results have it."""
    problem: str
    """What was wrong; follows "made before a correction: "."""
    touches: Callable[[Document, str], bool]
    """Whether an experiment's document, run by the engine of this name, had wrong numbers."""


def _flows(document: Document) -> list[Document]:
    return [flow for flow in document.get("flows") or [] if isinstance(flow, Mapping)]


def _tc_commands(document: Document) -> list[str]:
    held = _path(document).get("tc") or {}
    scripts = held if isinstance(held, list) else [held]
    lines: list[str] = []
    for script in scripts:
        commands = script.get("commands") or [] if isinstance(script, Mapping) else []
        lines += commands.splitlines() if isinstance(commands, str) else map(str, commands)
    return lines


def _bottleneck(document: Document) -> Document:
    found = _path(document).get("bottleneck") or {}
    return found if isinstance(found, Mapping) else {}


def _path(document: Document) -> Document:
    found = document.get("path") or {}
    return found if isinstance(found, Mapping) else {}


def _says(part: Any, word: str) -> bool:
    """Whether a key of this name has a value, or a text (a discipline, a tc command) has the word."""
    if isinstance(part, str):
        return word in part.split()
    if isinstance(part, Mapping):
        return any((key == word and bool(value)) or _says(value, word) for key, value in part.items())
    return isinstance(part, list | tuple) and any(_says(each, word) for each in part)


def _read(unit: Callable[[object], int], value: object) -> int | None:
    """A quantity of the document; None if it is missing or unreadable."""
    try:
        return None if value is None else unit(value)
    except Wrong:
        return None


def _is_large(flow: Document, document: Document) -> bool:
    """Whether a datagram exceeds the MTU; without a size it does not."""
    packet, mtu = (
        _read(size_bytes, flow.get("payload", flow.get("packet"))),
        _read(size_bytes, _path(document).get("mtu")),
    )
    return packet is not None and packet + UDP_HEADERS_BYTES > (mtu or 1500)


UDP_HEADERS_BYTES = 28
UDP_KEYS = (
    "on",
    "off",
    "on_time",
    "off_time",
    "request",
    "response",
    "pacing_rate",
    "ecn",
    "sndbuf",
    "rcvbuf",
    "initial_window",
)

CORRECTIONS = (
    Correction(
        "udp-keys",
        "UDP flows ignored on, off, ecn, sndbuf and rcvbuf, and keys that are refused now",
        lambda document, _: any(
            flow.get("kind") == "udp" and any(flow.get(key) for key in UDP_KEYS) for flow in _flows(document)
        ),
    ),
    Correction(
        "udp-host-buffer",
        "the simulator's UDP flows filled a host_qdisc beyond Linux's socket buffer of 212,992 bytes",
        lambda document, engine: (
            engine == "sim" and any(flow.get("kind") == "udp" and flow.get("host_qdisc") for flow in _flows(document))
        ),
    ),
    Correction(
        "tc-deletions",
        "tc del commands of path.tc were left out",
        lambda document, _: any(" del" in line for line in _tc_commands(document)[1:]),
    ),
    Correction(
        "rate-traces",
        "the rates of a trace were wrong where its length was no multiple of trace_step or a step had no opportunity",
        lambda document, _: bool(any(_bottleneck(document).get(key) for key in ("trace", "rate_trace"))),
    ),
    Correction(
        "udp-segmentation",
        "offloads = false left tx-udp-segmentation on, so programs that use it (QUIC) sent super-packets",
        lambda document, engine: (
            engine != "sim" and bool(document.get("programs")) and not (document.get("path") or {}).get("offloads")
        ),
    ),
    Correction(
        "zero-rtt",
        "without delay the simulator discarded the first RTT samples",
        lambda document, engine: engine == "sim" and _read(duration_ns, _path(document).get("rtt")) == 0,
    ),
    Correction(
        "udp-fragments",
        "the simulator sent UDP datagrams above the MTU whole",
        lambda document, engine: (
            engine == "sim"
            and any(flow.get("kind") == "udp" and _is_large(flow, document) for flow in _flows(document))
        ),
    ),
    Correction(
        "netem-corrupt",
        "the simulator dropped packets that netem corrupts at the netem instead of at the receiver",
        lambda document, engine: engine == "sim" and _says(document, "corrupt"),
    ),
    Correction(
        "udp-duplicates",
        "a duplicated UDP datagram counted twice",
        lambda document, _: (
            _says(document, "duplicate") and any(flow.get("kind") == "udp" for flow in _flows(document))
        ),
    ),
    Correction(
        "red-adaptive",
        "the simulator adapted red with the word adaptive, which changes nothing in Linux",
        lambda document, engine: engine == "sim" and _says(document, "adaptive") and _says(document, "red"),
    ),
    Correction(
        "splitting-shapers",
        "on the simulator a shaper on the sender's device that splits super-packets released back-pressure early",
        lambda document, engine: (
            engine == "sim"
            and any(
                kind
                in (str(flow.get("host_qdisc", "")) if flow.get("host_qdisc") else " ".join(_tc_commands(document)))
                for flow in _flows(document)
                for kind in ("tbf", "cake", "netem")
            )
        ),
    ),
    Correction(
        "syn-samples",
        "the simulator's CDG and Veno did not see the handshake's round-trip time",
        lambda document, engine: (
            engine == "sim" and any(flow.get("cc") in {"cdg", "veno"} for flow in _flows(document))
        ),
    ),
)
"""In the order in which they were made."""


def names() -> list[str]:
    """For the manifest of a new result."""
    return [each.name for each in CORRECTIONS]


def warnings(manifest: Mapping[str, Any]) -> list[str]:
    """What to say of a result when it is opened."""
    had, document = set(manifest.get("corrections") or ()), manifest.get("experiment")
    if not isinstance(document, Mapping):
        return []
    return [
        f"made before a correction: {each.problem}; repeat the run"
        for each in CORRECTIONS
        if each.name not in had and each.touches(document, str(manifest.get("engine")))
    ]
