"""How far TCP's buffers may grow in an experiment that says nothing of it: one declaration for `tcp.defaults`."""

from typing import NamedTuple

__all__ = ["TCP_DEFAULTS", "Limits"]


class Limits(NamedTuple):
    """How far autotuning lets a socket's buffers grow, in bytes: `tcp_rmem[2]` and `tcp_wmem[2]`."""

    rmem_max: int
    wmem_max: int


TCP_DEFAULTS = {
    "dumbbell": Limits(64 << 20, 64 << 20),
    # Linux 6.12 with at least 768 MiB of memory for buffers; less memory, lower limits (net/ipv4/tcp.c, tcp_init).
    "linux": Limits(6 << 20, 4 << 20),
}
"""The limits of an experiment that names none of its own, by `tcp.defaults`."""
