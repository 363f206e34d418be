"""The user whose process owns the other end of a connection, from the kernel (sock_diag(7)).

TCP does not report the user who connects, and every user of a host can connect to its loopback. `guard` decides on
access.
"""

import ipaddress
import os
import socket
import struct
from typing import NamedTuple

from starlette.types import Scope

__all__ = ["can_find_owners", "is_own_user", "owner"]

Address = tuple[str, int]

SOCK_DIAG = 4
"""NETLINK_SOCK_DIAG of linux/netlink.h."""
BY_FAMILY = 20
"""SOCK_DIAG_BY_FAMILY of linux/sock_diag.h."""
REQUEST = 1
"""NLM_F_REQUEST of linux/netlink.h."""
HEADER = struct.Struct("=IHHII")
"""`nlmsghdr`."""
DIAG_REQUEST = struct.Struct("=BBBxI")
"""`inet_diag_req_v2` up to its `inet_diag_sockid`."""
SOCKET = struct.Struct("!HH16s16s")
"""`inet_diag_sockid` without interface and cookie."""
ANY_INTERFACE_AND_COOKIE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
DIAG_RESPONSE = struct.Struct("=BBBB")
"""`inet_diag_msg` up to its `inet_diag_sockid`; behind that are five 32-bit fields; the last two are user and inode."""
DIAG_FIELDS = struct.Struct("=IIIII")
ESTABLISHED = 1
RESPONSE_BYTES = 8192
TIMEOUT_S = 1.0


class _Socket(NamedTuple):
    """A socket by its two ends."""

    family: socket.AddressFamily
    ends: bytes


def is_own_user(scope: Scope) -> bool:
    """Return whether the peer of this request runs as the user of the server."""
    client, server = scope.get("client"), scope.get("server")
    if not client or not server or server[1] is None:
        return False
    return owner((client[0], client[1]), (server[0], server[1])) == os.geteuid()


def can_find_owners() -> bool:
    """Return whether this kernel reports the owner of a connection. A container may forbid it."""
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname(), timeout=TIMEOUT_S) as client,
        ):
            return owner(client.getsockname(), server.getsockname()) == os.geteuid()
    except OSError:
        return False


def owner(local: Address, remote: Address) -> int | None:
    """Return the user whose process has the socket with these ends on this host, or None without such a socket."""
    try:
        endpoint = _socket(local, remote)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as netlink:
            netlink.settimeout(TIMEOUT_S)
            netlink.send(_diag_request(endpoint))
            return _parse_owner(netlink.recv(RESPONSE_BYTES), endpoint)
    except (OSError, ValueError):
        return None


def _socket(local: Address, remote: Address) -> _Socket:
    """Raises `ValueError` unless both are addresses of one family."""
    here, there = _plain(local[0]), _plain(remote[0])
    if here.version != there.version:
        raise ValueError("one end is IPv4, the other IPv6")
    ends = SOCKET.pack(local[1], remote[1], here.packed.ljust(16, b"\0"), there.packed.ljust(16, b"\0"))
    return _Socket(socket.AF_INET if here.version == 4 else socket.AF_INET6, ends)


def _plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Parse an address. An IPv4-mapped IPv6 address becomes IPv4: the other end is an IPv4 socket."""
    found = ipaddress.ip_address(address)
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def _diag_request(endpoint: _Socket) -> bytes:
    body = (
        DIAG_REQUEST.pack(endpoint.family, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + endpoint.ends + ANY_INTERFACE_AND_COOKIE
    )
    return HEADER.pack(HEADER.size + len(body), BY_FAMILY, REQUEST, 1, 0) + body


def _parse_owner(response: bytes, endpoint: _Socket) -> int | None:
    """Return the owner. A socket that its process has closed has none: its user reads as root, its inode as 0."""
    fields_at = HEADER.size + DIAG_RESPONSE.size + SOCKET.size + len(ANY_INTERFACE_AND_COOKIE)
    if len(response) < fields_at + DIAG_FIELDS.size or HEADER.unpack_from(response)[1] != BY_FAMILY:
        return None
    _, state, _, _ = DIAG_RESPONSE.unpack_from(response, HEADER.size)
    ends_at = HEADER.size + DIAG_RESPONSE.size
    *_, user, inode = DIAG_FIELDS.unpack_from(response, fields_at)
    if state != ESTABLISHED or inode == 0 or response[ends_at : ends_at + SOCKET.size] != endpoint.ends:
        return None
    return int(user)
