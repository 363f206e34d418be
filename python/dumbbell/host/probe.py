"""Find out the congestion control of a new socket with a real connection over loopback and getsockopt.

Sources: tcp(7), TCP_CONGESTION; include/uapi/linux/tcp.h, TCP_CC_INFO. The probe changes nothing.
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
    """The congestion controls of both ends of a connection that chose none.

    `connected` is False if loopback is down; then it is that of one unconnected socket.
    """

    controllers: tuple[str, ...]
    connected: bool
    why: str = ""


def opened() -> Opened:
    """Open a connection over loopback and query both ends.

    Raises OSError if no socket can be opened.
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
    """The name of a socket's congestion control."""
    return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, NAME_BYTES).split(b"\0")[0].decode()


def cc_info(name: str) -> bytes:
    """`TCP_CC_INFO` of a socket with this congestion control (`struct tcp_bbr_info` and similar).

    Raises OSError if this user may not choose it.
    """
    with socket.socket() as one:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        return one.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, INFO_BYTES)
