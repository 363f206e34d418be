"""Client and server of aioquic. Run with `python -I`; what it needs is in `lib` beside it."""

import argparse
import asyncio
import json
import signal
import ssl
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

sys.path.insert(0, str(Path(__file__).with_name("lib")))

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived
from aioquic.quic.logger import QLOG_VERSION, QuicLogger, QuicLoggerTrace

CONTROLLERS = ("reno", "cubic")
PROTOCOL = "dumbbell"
SERVER_NAME = "server.test"
WINDOW = 32 << 20
"""Flow control: 2.6 Gbit/s at 100 ms, so that congestion control decides."""
BLOCK = 64 << 10
AHEAD = 4 << 20
"""How much an answer may hand over before it is acknowledged."""


class Trace(QuicLoggerTrace):
    """Writes each event at once: aioquic's own logger keeps all of them in memory."""

    def __init__(self, file: BinaryIO, *, is_client: bool, odcid: bytes) -> None:
        super().__init__(is_client=is_client, odcid=odcid)
        self._file = file
        about = {"common_fields": {"ODCID": odcid.hex(), "time_format": "absolute", "reference_time": 0}}
        trace = about | {"vantage_point": self._vantage_point}
        self._write({"qlog_format": "JSON-SEQ", "qlog_version": QLOG_VERSION, "trace": trace})

    def log_event(self, *, category: str, event: str, data: dict[str, Any]) -> None:
        """As the original, but written."""
        self._write({"time": self.encode_time(time.time()), "name": f"{category}:{event}", "data": data})

    def _write(self, record: dict[str, Any]) -> None:
        self._file.write(b"\x1e" + json.dumps(record, separators=(",", ":")).encode() + b"\n")


class Logger(QuicLogger):
    """The qlog of the first connection."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self.file: BinaryIO | None = None

    def start_trace(self, is_client: bool, odcid: bytes) -> QuicLoggerTrace:
        """The trace of a connection."""
        if self.file is not None:
            return QuicLoggerTrace(is_client=is_client, odcid=odcid)
        self.file = Path(self._path).open("wb")  # noqa: SIM115 — closed at the end
        return Trace(self.file, is_client=is_client, odcid=odcid)

    def end_trace(self, trace: QuicLoggerTrace) -> None:
        """Nothing: the file is closed at the end."""


class Answers(QuicConnectionProtocol):
    """A server's connection: eight bytes on a stream ask for so many zeros, 0 for zeros without end."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._asked: dict[int, bytes] = {}
        self._left: dict[int, int | None] = {}

    def quic_event_received(self, event: QuicEvent) -> None:
        """A request, or its part."""
        if isinstance(event, StreamDataReceived) and event.stream_id not in self._left:
            asked = self._asked.get(event.stream_id, b"") + event.data
            self._asked[event.stream_id] = asked
            if len(asked) >= 8:
                self._left[event.stream_id] = int.from_bytes(asked[:8]) or None
                self._fill()
        elif isinstance(event, ConnectionTerminated):
            self._left.clear()

    def datagram_received(self, data: bytes | str, addr: tuple[Any, ...]) -> None:
        """Acknowledgements make room for more."""
        super().datagram_received(data, addr)
        if self._left:
            self._fill()

    def _fill(self) -> None:
        """Hand over as much as fits. A stream buffers without limit, so it is looked at."""
        for stream, asked in list(self._left.items()):
            left = asked
            ahead = len(self._quic._streams[stream].sender._buffer) if stream in self._quic._streams else 0
            while ahead < AHEAD and left != 0:
                size = BLOCK if left is None else min(BLOCK, left)
                left = None if left is None else left - size
                self._quic.send_stream_data(stream, bytes(size), end_stream=left == 0)
                ahead += size
            if left == 0:
                del self._left[stream]
            else:
                self._left[stream] = left
        self.transmit()


class Asks(QuicConnectionProtocol):
    """The client's connection."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.received = 0
        self.ended = asyncio.Event()
        self.problem = ""

    def quic_event_received(self, event: QuicEvent) -> None:
        """A part of the answer, or the end."""
        if isinstance(event, StreamDataReceived):
            self.received += len(event.data)
            if event.end_stream:
                self.ended.set()
        elif isinstance(event, ConnectionTerminated):
            self.problem = f"connection: {event.reason_phrase or f'error {event.error_code}'}"
            self.ended.set()


def configuration(*, is_client: bool, logger: QuicLogger | None) -> QuicConfiguration:
    """What both ends set."""
    return QuicConfiguration(
        is_client=is_client, alpn_protocols=[PROTOCOL], max_data=WINDOW, max_stream_data=WINDOW, quic_logger=logger
    )


async def server(given: argparse.Namespace, logger: QuicLogger | None) -> None:
    """Answer until SIGTERM."""
    settings = configuration(is_client=False, logger=logger)
    settings.congestion_control_algorithm = given.cc
    settings.load_cert_chain(given.cert, given.key)
    listener = await serve(*given.listen, configuration=settings, create_protocol=Answers)
    await terminated()
    listener.close()


async def client(given: argparse.Namespace, logger: QuicLogger | None) -> None:
    """Ask and read, until the last byte or SIGTERM."""
    settings = configuration(is_client=True, logger=logger)
    settings.verify_mode = ssl.CERT_NONE
    settings.server_name = SERVER_NAME
    end = asyncio.ensure_future(terminated())
    made = asyncio.ensure_future(_fetch(given, settings))
    await asyncio.wait({end, made}, return_when=asyncio.FIRST_COMPLETED)
    if made.done():
        made.result()
        end.cancel()
    else:
        made.cancel()
        await asyncio.wait({made})


async def _fetch(given: argparse.Namespace, settings: QuicConfiguration) -> None:
    host, port = given.connect
    async with connect(host, port, configuration=settings, create_protocol=Asks) as connection:
        assert isinstance(connection, Asks)
        quic = connection._quic
        try:
            quic.send_stream_data(quic.get_next_available_stream_id(), given.bytes.to_bytes(8), end_stream=True)
            connection.transmit()
            await connection.ended.wait()
            if given.bytes and connection.received != given.bytes:
                failed(connection.problem or f"{connection.received} bytes came")
        finally:
            quic.close()
            connection.transmit()
            connection._closed.set()  # The farewell is sent: no wait for the draining period.


async def terminated() -> None:
    """Wait for SIGTERM."""
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    await end.wait()


def main() -> None:
    """Read the command line and run."""
    words = Words(add_help=False, allow_abbrev=False)
    roles = words.add_subparsers(dest="role", required=True, parser_class=Words)
    serving, asking = (roles.add_parser(name, add_help=False, allow_abbrev=False) for name in ("server", "client"))
    serving.add_argument("--listen", type=address, required=True)
    serving.add_argument("--cc", default=CONTROLLERS[0])
    serving.add_argument("--cert", required=True)
    serving.add_argument("--key", required=True)
    asking.add_argument("--connect", type=address, required=True)
    asking.add_argument("--bytes", type=int, default=0)
    for each in (serving, asking):
        each.add_argument("--qlog")
    given = words.parse_args()
    if given.role == "server" and given.cc not in CONTROLLERS:
        words.error(f"cc '{given.cc}' is not one of {', '.join(CONTROLLERS)}")
    logger = Logger(given.qlog) if given.qlog else None
    try:
        asyncio.run({"server": server, "client": client}[given.role](given, logger))
    except (OSError, ConnectionError) as problem:
        failed(str(problem) or type(problem).__name__)
    if logger and logger.file:
        logger.file.close()


class Words(argparse.ArgumentParser):
    """A command line whose mistakes are one line."""

    def error(self, message: str) -> NoReturn:
        """Print it; status 2."""
        sys.stderr.write(f"{message}\n")
        raise SystemExit(2)


def address(text: str) -> tuple[str, int]:
    """`10.0.0.1:4433` or `[::1]:4433`."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise argparse.ArgumentTypeError(f"an address and a port such as 10.0.0.1:4433, got '{text}'")
    return host.strip("[]"), int(port)


def failed(message: str) -> NoReturn:
    """A line, status 1."""
    sys.stderr.write(f"{message}\n")
    raise SystemExit(1)


main()
