"""Enter another network namespace, to look at it as this host."""

import ctypes
import os
from pathlib import Path

from dumbbell.errors import LocalHostError

__all__ = ["enter", "namespace_file"]

CLONE_NEWNET = 0x40000000
"""include/uapi/linux/sched.h"""


def namespace_file(name: str) -> Path:
    """The file of a name of `ip netns`, of a process id, or of a path."""
    if "/" in name:
        return Path(name)
    return Path(f"/proc/{name}/ns/net") if name.isdecimal() else Path("/run/netns") / name


def enter(name: str) -> None:
    """Move this process into the namespace: its sysctls, sockets, routes and devices are then that one's.

    Raises `LocalHostError` with the reason; needs root.
    """
    file = namespace_file(name)
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise LocalHostError(
            f"entering network namespace '{name}' ({file}): {error.strerror}; list namespaces with: ip netns list; or "
            "give a process id"
        ) from error
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(descriptor, CLONE_NEWNET) != 0:
            reason = os.strerror(ctypes.get_errno())
            raise LocalHostError(f"entering network namespace '{name}' ({file}): {reason}; this needs root (sudo)")
    finally:
        os.close(descriptor)
