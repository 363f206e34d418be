"""Whose process is at the other end of a connection, as the kernel says (sock_diag(7)).

TCP tells nobody who connects, and on the loopback every user of a machine can. What follows from it is `guard`'s.
"""

import ipaddress
import os
import socket
import struct
from typing import NamedTuple

from starlette.types import Scope

__all__ = ["is_ours", "owner", "tells_owners"]

Address = tuple[str, int]

SOCK_DIAG = 4
"""NETLINK_SOCK_DIAG of linux/netlink.h."""
BY_FAMILY = 20
"""SOCK_DIAG_BY_FAMILY of linux/sock_diag.h."""
REQUEST = 1
HEADER = struct.Struct("=IHHII")
"""`nlmsghdr`."""
ASKED = struct.Struct("=BBBxI")
"""`inet_diag_req_v2` up to its `inet_diag_sockid`."""
SOCKET = struct.Struct("!HH16s16s")
"""`inet_diag_sockid` without interface and cookie."""
ANY_INTERFACE_AND_COOKIE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
TOLD = struct.Struct("=BBBB")
"""`inet_diag_msg` up to its `inet_diag_sockid`; behind that come five words, the last two are user and inode."""
WORDS = struct.Struct("=IIIII")
ESTABLISHED = 1
ANSWER_BYTES = 8192
PATIENCE_S = 1.0


class _Socket(NamedTuple):
    """A socket by its two ends."""

    family: socket.AddressFamily
    ends: bytes


def is_ours(scope: Scope) -> bool:
    """Does the peer of this request run as the user that the server runs as?"""
    client, server = scope.get("client"), scope.get("server")
    if not client or not server or server[1] is None:
        return False
    return owner((client[0], client[1]), (server[0], server[1])) == os.geteuid()


def tells_owners() -> bool:
    """Does this kernel tell who owns a connection? A container may forbid the question."""
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname(), timeout=PATIENCE_S) as client,
        ):
            return owner(client.getsockname(), server.getsockname()) == os.geteuid()
    except OSError:
        return False


def owner(local: Address, remote: Address) -> int | None:
    """The user whose process has the socket with these ends on this machine; None where there is no such socket."""
    try:
        wanted = _socket(local, remote)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as asks:
            asks.settimeout(PATIENCE_S)
            asks.send(_question(wanted))
            return _answer(asks.recv(ANSWER_BYTES), wanted)
    except (OSError, ValueError):
        return None


def _socket(local: Address, remote: Address) -> _Socket:
    """Raises `ValueError` for what is no pair of addresses."""
    here, there = _plain(local[0]), _plain(remote[0])
    if here.version != there.version:
        raise ValueError("one end is IPv4, the other IPv6")
    ends = SOCKET.pack(local[1], remote[1], here.packed.ljust(16, b"\0"), there.packed.ljust(16, b"\0"))
    return _Socket(socket.AF_INET if here.version == 4 else socket.AF_INET6, ends)


def _plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An IPv4 address that an IPv6 socket shows is an IPv4 socket at the other end."""
    found = ipaddress.ip_address(address)
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def _question(wanted: _Socket) -> bytes:
    body = ASKED.pack(wanted.family, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + wanted.ends + ANY_INTERFACE_AND_COOKIE
    return HEADER.pack(HEADER.size + len(body), BY_FAMILY, REQUEST, 1, 0) + body


def _answer(told: bytes, wanted: _Socket) -> int | None:
    """The owner. A socket that its process has closed has none: it reads as root's, but has no inode."""
    words_at = HEADER.size + TOLD.size + SOCKET.size + len(ANY_INTERFACE_AND_COOKIE)
    if len(told) < words_at + WORDS.size or HEADER.unpack_from(told)[1] != BY_FAMILY:
        return None
    _, state, _, _ = TOLD.unpack_from(told, HEADER.size)
    ends_at = HEADER.size + TOLD.size
    *_, user, inode = WORDS.unpack_from(told, words_at)
    if state != ESTABLISHED or inode == 0 or told[ends_at : ends_at + SOCKET.size] != wanted.ends:
        return None
    return int(user)
