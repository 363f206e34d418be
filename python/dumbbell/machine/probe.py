"""What a socket that is opened now gets: a real connection over loopback, asked by getsockopt.

Sources: tcp(7), TCP_CONGESTION; include/uapi/linux/tcp.h, TCP_CC_INFO. It changes nothing and ends at once.
"""

import socket
from dataclasses import dataclass

__all__ = ["TCP_CC_INFO", "Opened", "cc_info", "controller", "opened"]

TCP_CC_INFO = 26
NAME_BYTES = 16
"""TCP_CA_NAME_MAX, include/net/tcp.h."""
INFO_BYTES = 256
LIMIT_S = 2.0


@dataclass(frozen=True)
class Opened:
    """The controllers of both ends of a connection that asked for none.

    `connected` is False where loopback is down: then it is one socket, as it was made.
    """

    controllers: tuple[str, ...]
    connected: bool
    why: str = ""


def opened() -> Opened:
    """Open a connection over loopback and ask both ends.

    Raises OSError where not even a socket can be had.
    """
    with socket.socket() as listener, socket.socket() as client:
        try:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            listener.settimeout(LIMIT_S)
            client.settimeout(LIMIT_S)
            client.connect(listener.getsockname())
            server, _ = listener.accept()
        except OSError as error:
            return Opened((controller(client),), connected=False, why=f"no connection over loopback: {error}")
        with server:
            return Opened((controller(client), controller(server)), connected=True)


def controller(one: socket.socket) -> str:
    """The name of a socket's controller, as the kernel says it."""
    return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, NAME_BYTES).split(b"\0")[0].decode()


def cc_info(name: str) -> bytes:
    """What the kernel tells of a socket of this controller (`struct tcp_bbr_info` and the like).

    Raises OSError where this user may not choose it.
    """
    with socket.socket() as one:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        return one.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, INFO_BYTES)
