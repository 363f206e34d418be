"""Which settings Linux has once for the whole machine, and which once for each host.

The plan sets the former before there are hosts, in the machine's own namespace; the simulator's view of settings is
`sysctl`'s. Read in Linux 6.12, net/core/sysctl_net_core.c and net/ipv4/sysctl_net_ipv4.c; a kernel that has one
elsewhere refuses it by name.
"""

from collections.abc import Mapping

__all__ = ["split"]

CORE = "net.core."
CORE_OF_A_HOST = frozenset({"optmem_max", "rps_default_mask", "somaxconn", "txrehash"})
"""Of net.core all others are the machine's (`netns_core_table`; the limits of buffers in it can only be read there)."""
IPV4_OF_THE_MACHINE = frozenset(
    f"net.ipv4.{name}"
    for name in "fib_sync_mem inet_peer_maxttl inet_peer_minttl inet_peer_threshold tcp_low_latency tcp_max_orphans "
    "tcp_mem udp_mem".split()
)
"""`ipv4_table`."""


def split(settings: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The machine's settings and the hosts'."""
    machine = {key: value for key, value in settings.items() if _of_the_machine(key)}
    return machine, {key: value for key, value in settings.items() if key not in machine}


def _of_the_machine(key: str) -> bool:
    if key.startswith(CORE):
        return key.removeprefix(CORE) not in CORE_OF_A_HOST
    return key in IPV4_OF_THE_MACHINE
