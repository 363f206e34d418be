"""Findings about TCP sysctls that affect measurements: ECN, loss recovery and others.

Sources: Documentation/networking/ip-sysctl.rst; net/ipv4/tcp_input.c, tcp_output.c, and include/net/tcp.h for
`tcp_slow_start_after_idle`, which doesn't affect congestion controls with `cong_control` (BBR).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dumbbell.host.sources import Finding, LocalHost, Mark, unknown

__all__ = ["SETTINGS", "Setting", "tcp_settings"]

GROUP = "protocol"
UNLIMITED = 2**32 - 1


@dataclass(frozen=True)
class Setting:
    """A sysctl: the meaning of its values, and the recommended value."""

    name: str
    title: str
    interpret: Callable[[int], tuple[Mark, str, str]]
    """Returns mark, value in words, and meaning."""
    better: int | None = None

    @property
    def key(self) -> str:
        """The sysctl key."""
        return f"net.ipv4.{self.name}"


def tcp_settings(host: LocalHost) -> Iterator[Finding]:
    """One finding per sysctl."""
    for setting in SETTINGS:
        yield _found(host, setting)


def _found(host: LocalHost, setting: Setting) -> Finding:
    what = (f"protocol.{setting.name}", GROUP, setting.title)
    read = host.sysctl(setting.key)
    text = read.text or ""
    if not text.isdigit():
        return unknown(*what, read.source, f"can't be read: {read.why or repr(read.text)}")
    mark, shown, meaning = setting.interpret(int(text))
    change = (f"sudo sysctl -w {setting.key}={setting.better}",) if mark != "ok" and setting.better is not None else ()
    return Finding(*what, mark, int(text), shown, read.source, meaning, change)


def _ecn(value: int) -> tuple[Mark, str, str]:
    if value == 0:
        return "warning", "off", "Connections never use ECN, even if the peer requests it."
    if value == 2:
        return "ok", "accepted", "The default: incoming connections may use ECN, outgoing ones don't request it."
    names = {
        1: "requested and accepted", 3: "AccECN", 4: "AccECN accepted, ECN requested", 5: "AccECN accepted",
    }  # fmt: skip
    return "ok", names.get(value, str(value)), "Queues may mark packets instead of dropping them."


def _fallback(value: int) -> tuple[Mark, str, str]:
    if value == 0:
        return "warning", "off", "If a path drops SYNs that request ECN, connections hang."
    return "ok", "on", "If a path drops SYNs that request ECN, connections retry without it."


def _expectation(good: str, bad: str, mark: Mark) -> Callable[[int], tuple[Mark, str, str]]:
    """A sysctl that should not be 0."""
    return lambda value: ("ok", "on", good) if value else (mark, "off", bad)


def _idle(value: int) -> tuple[Mark, str, str]:
    if value:
        return "ok", "on", "After idling for an RTO, CUBIC and Reno restart with a small window; BBR doesn't."
    return (
        "ok",
        "off",
        "Idle connections keep their window: faster responses, but bursts into a path that may have changed.",
    )


def _metrics(value: int) -> tuple[Mark, str, str]:
    if value:
        return "ok", "not saved", "Every connection starts without saved metrics: good for measurements."
    return "ok", "saved", "A connection starts with metrics of the last one to that host; set it to 1 for measurements."


def _lowat(value: int) -> tuple[Mark, str, str]:
    if value >= UNLIMITED:
        return "ok", "unlimited", "Programs may fill the send buffer; 131072 helps HTTP/2 servers to prioritize."
    return "ok", f"{value} bytes", "Programs write when less than this is unsent: less delay in the sender."


def _probing(value: int) -> tuple[Mark, str, str]:
    names = {0: "off", 1: "after a black hole", 2: "always"}
    if value == 0:
        return "ok", "off", "If ICMP is filtered, paths with a smaller MTU drop large packets; 1 detects that."
    return "ok", names.get(value, str(value)), "TCP probes for a packet size that fits the path."


def _rack(value: int) -> tuple[Mark, str, str]:
    if value & 1:
        return "ok", "RACK", "Detects losses by time: tolerates reordering and finds lost retransmissions."
    return "warning", "no RACK", "Detects losses only by counting duplicate ACKs."


SETTINGS = (
    Setting("tcp_ecn", "ECN", _ecn, 2),
    Setting("tcp_ecn_fallback", "ECN fallback", _fallback, 1),
    Setting(
        "tcp_window_scaling",
        "window scaling",
        _expectation("Windows may exceed 64 KB.", "Windows are limited to 64 KB: 5 Mbit/s at 100 ms.", "problem"),
        1,
    ),
    Setting(
        "tcp_sack",
        "SACK",
        _expectation("Repairs several losses per round trip.", "Repairs one loss per round trip.", "problem"),
        1,
    ),
    Setting(
        "tcp_timestamps",
        "timestamps",
        _expectation(
            "Every ACK measures the RTT.", "RTT samples are rare, and spurious timeouts go undetected.", "warning"
        ),
        1,
    ),
    Setting("tcp_recovery", "loss detection", _rack, 1),
    Setting(
        "tcp_moderate_rcvbuf",
        "receive autotuning",
        _expectation(
            "The receive buffer grows with a connection's rate.",
            "The receive buffer stays at tcp_rmem's second value: long paths stay slow.",
            "problem",
        ),
        1,
    ),
    Setting("tcp_slow_start_after_idle", "slow start after idle", _idle),
    Setting("tcp_no_metrics_save", "saved metrics", _metrics),
    Setting("tcp_notsent_lowat", "unsent data", _lowat),
    Setting("tcp_mtu_probing", "MTU probing", _probing),
)
