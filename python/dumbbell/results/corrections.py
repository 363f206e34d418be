"""Faults that were corrected: an older result that one of them touches says so when it is opened.

To add one: append a `Correction` whose name is new. A result's manifest lists the names that its Dumbbell had, so only
a result that was made before has the warning; `docs/result.md` explains the key. Pure: no I/O.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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
    tc = (document.get("path") or {}).get("tc") or {}
    commands = tc.get("commands") or [] if isinstance(tc, Mapping) else []
    lines = commands.splitlines() if isinstance(commands, str) else commands
    return [str(line) for line in lines]


def _bottleneck(document: Document) -> Document:
    found = (document.get("path") or {}).get("bottleneck") or {}
    return found if isinstance(found, Mapping) else {}


UDP_KEYS = ("on", "off", "request", "response", "pacing_rate", "ecn", "sndbuf", "rcvbuf", "initial_window")

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
        lambda document, _: bool(_bottleneck(document).get("trace")),
    ),
    Correction(
        "udp-segmentation",
        "offloads = false left tx-udp-segmentation on, so programs that use it (QUIC) sent super-packets",
        lambda document, engine: (
            engine != "sim" and bool(document.get("programs")) and not (document.get("path") or {}).get("offloads")
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
