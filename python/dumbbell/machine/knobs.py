"""Findings about TCP's settings: ECN, loss recovery, and others that change what is measured.

Source: Documentation/networking/ip-sysctl.rst; net/ipv4/tcp_input.c, tcp_output.c, and include/net/tcp.h for
`tcp_slow_start_after_idle`, which leaves controllers alone that set their window themselves (BBR).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dumbbell.machine.finding import Finding, Mark, unknown
from dumbbell.machine.sources import Machine

__all__ = ["KNOBS", "Knob", "knobs"]

GROUP = "protocol"
UNLIMITED = 2**32 - 1


@dataclass(frozen=True)
class Knob:
    """A setting: what its values mean, and which one to type where another is looked at."""

    name: str
    title: str
    told: Callable[[int], tuple[Mark, str, str]]
    """From its value: a mark, the value in words, a sentence."""
    better: int | None = None

    @property
    def key(self) -> str:
        """As sysctl(8) writes it."""
        return f"net.ipv4.{self.name}"


def knobs(machine: Machine) -> Iterator[Finding]:
    """One finding a setting."""
    for knob in KNOBS:
        yield _found(machine, knob)


def _found(machine: Machine, knob: Knob) -> Finding:
    what = (f"protocol.{knob.name}", GROUP, knob.title)
    read = machine.sysctl(knob.key)
    text = read.text or ""
    if not text.isdigit():
        return unknown(*what, read.source, f"it can't be read: {read.why or repr(read.text)}")
    mark, shown, meaning = knob.told(int(text))
    change = (f"sudo sysctl -w {knob.key}={knob.better}",) if mark != "ok" and knob.better is not None else ()
    return Finding(*what, mark, int(text), shown, read.source, meaning, change)


def _ecn(value: int) -> tuple[Mark, str, str]:
    if value == 0:
        return "look", "off", "Connections never use ECN, even where the other end asks for it."
    if value == 2:
        return "ok", "when asked", "The default: connections that others open may use ECN; ours do not ask for it."
    words = {1: "asked for and granted", 3: "AccECN", 4: "AccECN granted, ECN asked for", 5: "AccECN granted"}
    return "ok", words.get(value, str(value)), "Queues that mark may mark our packets instead of dropping them."


def _fallback(value: int) -> tuple[Mark, str, str]:
    if value == 0:
        return "look", "off", "Where a path drops packets that ask for ECN, connections hang instead of doing without."
    return "ok", "on", "Where a path drops packets that ask for ECN, connections do without."


def _wanted(good: str, bad: str, mark: Mark) -> Callable[[int], tuple[Mark, str, str]]:
    """A setting that should not be 0."""
    return lambda value: ("ok", "on", good) if value else (mark, "off", bad)


def _idle(value: int) -> tuple[Mark, str, str]:
    if value:
        return "ok", "on", "After an idle RTO, CUBIC and Reno begin again with a small window; BBR does not."
    return "ok", "off", "Windows outlive idle times: quicker answers, but bursts into a path that may have changed."


def _metrics(value: int) -> tuple[Mark, str, str]:
    if value:
        return "ok", "not kept", "Every connection starts afresh: right for measuring."
    return "ok", "kept", "A connection starts with what the last one to that host learnt; to measure, set it to 1."


def _lowat(value: int) -> tuple[Mark, str, str]:
    if value >= UNLIMITED:
        return "ok", "unlimited", "Programs may fill the send buffer; HTTP/2 servers choose better late with 131072."
    return "ok", f"{value} bytes", "Programs write when less than this is unsent: less delay within the sender."


def _probing(value: int) -> tuple[Mark, str, str]:
    words = {0: "off", 1: "after a black hole", 2: "always"}
    if value == 0:
        return "ok", "off", "Where ICMP is filtered, paths with a smaller MTU swallow big packets; 1 would find out."
    return "ok", words.get(value, str(value)), "TCP itself finds a packet size that the path takes."


def _rack(value: int) -> tuple[Mark, str, str]:
    if value & 1:
        return "ok", "RACK", "Losses are found by time: reordering is not taken for loss, lost retransmits are found."
    return "look", "no RACK", "Losses are found by counting duplicates only."


KNOBS = (
    Knob("tcp_ecn", "ECN", _ecn, 2),
    Knob("tcp_ecn_fallback", "ECN fallback", _fallback, 1),
    Knob(
        "tcp_window_scaling",
        "window scaling",
        _wanted("Windows may be larger than 64 KB.", "No window is larger than 64 KB: 5 Mbit/s at 100 ms.", "problem"),
        1,
    ),
    Knob(
        "tcp_sack",
        "SACK",
        _wanted("Several losses are repaired in one round trip.", "One loss a round trip is repaired.", "problem"),
        1,
    ),
    Knob(
        "tcp_timestamps",
        "timestamps",
        _wanted("Every ACK measures the RTT.", "RTTs are measured rarely, and spurious timeouts stay unseen.", "look"),
        1,
    ),
    Knob("tcp_recovery", "loss detection", _rack, 1),
    Knob(
        "tcp_moderate_rcvbuf",
        "receive autotuning",
        _wanted(
            "The receive buffer grows with what a connection carries.",
            "The receive buffer stays at tcp_rmem's second number: long paths stay slow.",
            "problem",
        ),
        1,
    ),
    Knob("tcp_slow_start_after_idle", "slow start after idle", _idle),
    Knob("tcp_no_metrics_save", "metrics of before", _metrics),
    Knob("tcp_notsent_lowat", "unsent data", _lowat),
    Knob("tcp_mtu_probing", "MTU probing", _probing),
)
