"""Findings about TCP sysctls that affect measurements: ECN, loss recovery and others; and about socket buffers.

Sources: Documentation/networking/ip-sysctl.rst; net/ipv4/tcp_input.c, tcp_output.c, and include/net/tcp.h for
`tcp_slow_start_after_idle`, which doesn't affect congestion controls with `cong_control` (BBR).

Buffers: the largest window that they allow is compared with a path's bandwidth-delay product. A connection sends at
most one window per round trip: rate = window / RTT. The receive window is a share of the buffer, because a packet takes
more memory than its data. Since Linux 6.6 the kernel measures the share, starting at one half
(`TCP_DEFAULT_SCALING_RATIO`, include/net/tcp.h); before, `tcp_adv_win_scale` sets it (ip-sysctl.rst). A sender is woken
when a third of its buffer is free (`sk_stream_is_writeable`, include/net/sock.h), so it can rely on two thirds. Both
shares are approximate: measured on Linux 6.12 at RTT 100 ms were windows of 0.54 to 0.66 of tcp_rmem and 0.64 to 0.65
of tcp_wmem (1 and 4 MB, with and without offloads).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dumbbell.host.kernel_modules import version_of
from dumbbell.host.sources import Finding, LocalHost, Mark, unknown

__all__ = [
    "SETTINGS",
    "Path",
    "Setting",
    "buffers",
    "tcp_settings",
    "window_share",
]


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


BUFFERS_GROUP = "buffers"
MEASURED_SHARE = (6, 6)
ROUND_BYTES = 2**16
SEND_SHARE = 2 / 3
MOST_UNSCALED_BYTES = 65_535
"""The largest window without window scaling (RFC 7323)."""
USUAL_RTT_NS = 100_000_000
"""RTT for the example rate if --rtt isn't given."""


@dataclass(frozen=True)
class Path:
    """The path given by --rate and --rtt; either may be unknown."""

    rate_bps: int | None = None
    rtt_ns: int | None = None

    @property
    def bdp_bytes(self) -> int | None:
        """Bandwidth-delay product: rate times RTT."""
        if self.rate_bps is None or self.rtt_ns is None:
            return None
        return self.rate_bps * self.rtt_ns // (8 * 10**9)


def top_rate_bps(window_bytes: int, rtt_ns: int) -> int:
    """The rate of one window per round trip."""
    return window_bytes * 8 * 10**9 // max(rtt_ns, 1)


def window_share(host: LocalHost) -> tuple[float, str]:
    """The share of a receive buffer usable as window, and its source."""
    version = version_of(host)
    if version is not None and version < MEASURED_SHARE:
        read = host.sysctl("net.ipv4.tcp_adv_win_scale")
        text = read.first() or ""
        if text.lstrip("-").isdigit() and abs(int(text)) <= 31:
            scale = int(text)
            return (1 - 2.0**-scale if scale > 0 else 2.0**scale), read.source
    return 0.5, "approximately"


def buffers(host: LocalHost, path: Path) -> Iterator[Finding]:
    """Limits of autotuned buffers in both directions, and of buffers that programs size themselves."""
    share, by = window_share(host)
    yield _autotuned(host, path, "receive", "net.ipv4.tcp_rmem", share, f"window: {share:.3g} of it, {by}")
    yield _autotuned(host, path, "send", "net.ipv4.tcp_wmem", SEND_SHARE, "in flight: about two thirds of it")
    yield from _fixed(host, path)


def _autotuned(host: LocalHost, path: Path, side: str, key: str, share: float, note: str) -> Finding:
    what = (f"buffers.{side}", BUFFERS_GROUP, f"{side} buffer")
    read = host.sysctl(key)
    fields = read.fields()
    if len(fields) != 3 or not all(word.isdigit() for word in fields):
        return unknown(*what, read.source, f"can't be read: {read.why or repr(read.text)}")
    least, begin, most = (int(word) for word in fields)
    unscaled = host.sysctl("net.ipv4.tcp_window_scaling").first() == "0"
    window = min(int(most * share), MOST_UNSCALED_BYTES) if unscaled else int(most * share)
    if unscaled:
        note = "window scaling is off"
    rtt_ns = path.rtt_ns or USUAL_RTT_NS
    top = top_rate_bps(window, rtt_ns)
    value = {
        "max_bytes": most,
        "window_bytes": window,
        "rtt_ns": rtt_ns,
        "top_rate_bps": top,
        "bdp_bytes": path.bdp_bytes,
    }
    shown = f"up to {_mega(most)}"
    limit = f"Up to about {_rate(top)} at RTT {_millis(rtt_ns)} ({note})"
    bdp = path.bdp_bytes
    if bdp is None:
        return Finding(*what, "ok", value, shown, read.source, f"{limit}; add --rate and --rtt to check a path.")
    mark, judged = _judged(window, bdp)
    if unscaled and window == MOST_UNSCALED_BYTES:
        change = () if mark == "ok" else ("sudo sysctl -w net.ipv4.tcp_window_scaling=1",)
        return Finding(*what, mark, value, shown, read.source, f"{limit}; {judged}", change)
    enough = -(-int(2 * bdp / share) // ROUND_BYTES) * ROUND_BYTES
    change = (f"sudo sysctl -w {key}='{least} {begin} {enough}'",) if mark != "ok" else ()
    return Finding(*what, mark, value, shown, read.source, f"{limit}; {judged}", change)


def _judged(window: int, bdp: int) -> tuple[Mark, str]:
    path = f"the path's bandwidth-delay product is {_mega(bdp)}"
    if window < bdp:
        return "problem", f"{path}: one connection can't fill it."
    if window < 2 * bdp:
        return "warning", f"{path}: enough to fill it, too little for BBR's probes (2 BDP) and for loss recovery."
    return "ok", f"{path}: enough."


def _fixed(host: LocalHost, path: Path) -> Iterator[Finding]:
    for side, key in (("receive", "net.core.rmem_max"), ("send", "net.core.wmem_max")):
        what = (f"buffers.{side}_fixed", BUFFERS_GROUP, f"{side}, by setsockopt")
        read = host.sysctl(key)
        if not (read.text or "").isdigit():
            yield unknown(*what, read.source, f"can't be read: {read.why or repr(read.text)}")
            continue
        most = int(read.text or "0")
        option = "SO_RCVBUF" if side == "receive" else "SO_SNDBUF"
        # The kernel doubles the requested size for its bookkeeping (socket(7)).
        mark: Mark = "warning" if path.bdp_bytes is not None and most < path.bdp_bytes else "ok"
        meaning = f"Limits programs that set {option}, which disables autotuning."
        change = (f"sudo sysctl -w {key}={2 * path.bdp_bytes}",) if mark == "warning" and path.bdp_bytes else ()
        yield Finding(*what, mark, {"max_bytes": most}, f"up to {_mega(most)}", read.source, meaning, change)


def _mega(size: int) -> str:
    return f"{size / 1e6:.3g} MB" if size >= 10**6 else f"{size / 1e3:.3g} kB"


def _rate(rate_bps: int) -> str:
    return f"{rate_bps / 1e9:.3g} Gbit/s" if rate_bps >= 10**9 else f"{rate_bps / 1e6:.3g} Mbit/s"


def _millis(time_ns: int) -> str:
    return f"{time_ns / 1e6:.3g} ms"
