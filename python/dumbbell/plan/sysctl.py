"""Which of an experiment's `net.ipv4.tcp_*` settings the simulator can follow.

A setting that says what Linux does anyway is kept; one that touches nothing an experiment can see is too.
Every other one is refused by its name.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from dumbbell.plan.lacks import Lacks

__all__ = ["Sysctls", "read_sysctls"]

PREFIX = "net.ipv4.tcp_"

LINUX = {
    "adv_win_scale": "1", "app_win": "31", "autocorking": "1", "backlog_ack_defer": "1", "base_mss": "1024",
    "comp_sack_delay_ns": "1000000", "comp_sack_nr": "44", "comp_sack_slack_ns": "100000", "dsack": "1",
    "early_retrans": "3", "ecn_fallback": "1", "fack": "0", "fastopen": "1", "frto": "2", "fwmark_accept": "0",
    "limit_output_bytes": "1048576", "max_reordering": "300", "migrate_req": "0", "min_rtt_wlen": "300",
    "min_snd_mss": "48", "min_tso_segs": "2", "moderate_rcvbuf": "1", "mtu_probing": "0",
    "notsent_lowat": "4294967295", "pacing_ca_ratio": "120", "pacing_ss_ratio": "200", "pingpong_thresh": "1",
    "plb_enabled": "0", "recovery": "1", "reordering": "3", "retrans_collapse": "1", "retries1": "3", "retries2": "15",
    "rto_min_us": "200000", "sack": "1", "shrink_window": "0", "syn_linear_timeouts": "4", "syn_retries": "6",
    "synack_retries": "5", "thin_linear_timeouts": "0", "timestamps": "1", "tso_rtt_log": "9", "tso_win_divisor": "3",
    "window_scaling": "1", "workaround_signed_windows": "0",
}  # fmt: skip
"""What Linux 6.12 has when nobody sets anything, as a guest told."""

UNSEEN = frozenset(
    "abort_on_overflow challenge_ack_limit congestion_control early_demux fastopen_blackhole_timeout_sec fin_timeout "
    "invalid_ratelimit keepalive_intvl keepalive_probes keepalive_time low_latency max_orphans max_syn_backlog "
    "max_tw_buckets no_metrics_save no_ssthresh_metrics_save orphan_retries reflect_tos rfc1337 stdurg syncookies "
    "tw_reuse".split()
)
"""Of other connections, of dead ones, or of what every flow says for itself."""


MOST_TSO_SEGS = 255
"""One byte keeps it."""


@dataclass(frozen=True)
class Sysctls:
    """Settings that the simulator has; None where nothing was said."""

    ecn: bool | None = None
    """True asks for it, False refuses it even when asked."""
    slow_start_after_idle: bool | None = None
    min_tso_segs: int | None = None


def read_sysctls(settings: Iterable[tuple[str, str]]) -> Sysctls:
    """Raises `Wrong` for the first that the simulator can't follow."""
    ecn = idle = fewest = None
    for key, value in settings:
        name = key.removeprefix(PREFIX)
        if name == "ecn" and value in ("0", "1", "2"):
            ecn = {"0": False, "1": True, "2": None}[value]
        elif name == "slow_start_after_idle" and value in ("0", "1"):
            idle = value == "1"
        elif name == "min_tso_segs" and value.isdecimal() and 1 <= int(value) <= MOST_TSO_SEGS:
            fewest = int(value)
        elif name not in UNSEEN and LINUX.get(name) != value:
            has = f"it has {LINUX[name]}, as Linux does" if name in LINUX else ""
            raise Lacks(f"the simulator has no {key} = {value}", has)
    return Sysctls(ecn, idle, fewest)
