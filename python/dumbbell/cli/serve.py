"""`dumbbell serve`: an HTTP server for test downloads; logs every response to standard error."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dumbbell.cli.options import PATH, comma_separated
from dumbbell.control_characters import visible_line

if TYPE_CHECKING:
    from dumbbell.transfer.http_connection import AccessLogEntry
    from dumbbell.transfer.server import Serving
    from dumbbell.transfer.server_limits import Limits

__all__ = ["serve"]

LOCAL = ("localhost", "127.0.0.1", "::1")


@click.command("serve")
@click.option(
    "--port", type=click.IntRange(min=0, max=65_535), required=True, metavar="N", help="TCP port; 0 picks a free one."
)
@click.option(
    "--host",
    multiple=True,
    metavar="ADDRESS",
    help="Address to listen on; :: accepts all, IPv4 included. Repeatable; default: loopback.",
)
@click.option("--root", type=PATH, metavar="DIR", help="Also serve the files of DIR below /files/.")
@click.option("--cert", type=PATH, metavar="PEM", help="TLS certificate.")
@click.option("--key", type=PATH, metavar="PEM", help="TLS key, if not in the certificate's file.")
@click.option(
    "--controllers",
    default="",
    show_default=False,
    metavar="NAME,…",
    help="Congestion controls that clients may request; default: all that the kernel allows.",
)
@click.option("--max-size", default="1GB", metavar="BYTES", help="Maximum size of a response.")
@click.option(
    "--max-rate",
    default="",
    show_default=False,
    metavar="RATE",
    help="Rate limit for all responses together, such as 100mbit.",
)
@click.option(
    "--max-client-rate", default="", show_default=False, metavar="RATE", help="Rate limit per client address."
)
@click.option(
    "--max-clients",
    type=click.IntRange(min=1, max=1_000_000),
    default=512,
    metavar="N",
    help="Maximum number of connections.",
)
@click.option(
    "--max-per-address",
    type=click.IntRange(min=1),
    default=32,
    metavar="N",
    help="Maximum number of connections per client address.",
)
@click.option("--timeout", default="30s", metavar="TIME", help="Close a connection that is idle for this long.")
@click.option("--min-rate", default="8kbit", metavar="RATE", help="Close a connection whose average rate is lower.")
@click.option("--quiet", is_flag=True, help="Don't log responses.")
def serve(  # noqa: PLR0913, PLR0917 — a command has many options
    port: int,
    host: tuple[str, ...] = (),
    root: Path | None = None,
    cert: Path | None = None,
    key: Path | None = None,
    controllers: str = "",
    max_size: str = "1GB",
    max_rate: str = "",
    max_client_rate: str = "",
    max_clients: int = 512,
    max_per_address: int = 32,
    timeout: str = "30s",
    min_rate: str = "8kbit",
    quiet: bool = False,
) -> None:
    """Serve test downloads over HTTP with a chosen congestion control.

    Each request selects its congestion control.
    """
    import asyncio

    from dumbbell.cli.async_runner import run_until_signal
    from dumbbell.errors import ExperimentError
    from dumbbell.spec.typed import quantity
    from dumbbell.spec.units import duration_ns, rate_bps, size_bytes
    from dumbbell.transfer.server import LOOPBACK, Serving, tls_context
    from dumbbell.transfer.server import serve as serve_
    from dumbbell.transfer.server_limits import Limits

    if key is not None and cert is None:
        raise ExperimentError("--key needs a certificate", key="--key", value=str(key), right="add --cert PEM")
    silence_ns = quantity("--timeout", timeout, duration_ns)
    if silence_ns == 0:
        raise ExperimentError("the time is zero", key="--timeout", value=timeout, right="such as 30s")
    limits = Limits(
        size_bytes=quantity("--max-size", max_size, size_bytes),
        rate_bps=quantity("--max-rate", max_rate, rate_bps) if max_rate else None,
        address_rate_bps=quantity("--max-client-rate", max_client_rate, rate_bps) if max_client_rate else None,
        clients=max_clients,
        address_clients=max_per_address,
        silence_s=silence_ns / 1e9,
        least_bps=quantity("--min-rate", min_rate, rate_bps),
    )
    serving = Serving(
        port=port,
        hosts=tuple(host) or LOOPBACK,
        root=root,
        tls=None if cert is None else tls_context(cert, key),
        controllers=comma_separated(controllers),
        limits=limits,
    )

    def opened(urls: list[str]) -> None:
        for url in urls:
            _log(f"dumbbell: serving (^C ends it): {url}")
        for warning in _warnings(serving, limits):
            _log(f"dumbbell: {warning}")

    try:
        run_until_signal(serve_(serving, opened, _ignore if quiet else _log_response))
    except asyncio.CancelledError:
        _log("dumbbell: ended")


def _warnings(serving: "Serving", limits: "Limits") -> list[str]:
    """Warnings about what other hosts can do."""
    if all(host in LOCAL for host in serving.hosts):
        return []
    found = [
        f"open to every host that can reach this one: up to {limits.clients} connections, {limits.address_clients} per "
        f"address, {limits.size_bytes} bytes per response"
    ]
    if serving.root is not None:
        found.append(f"clients can read every file below {serving.root} except hidden files and links")
    if limits.rate_bps is None:
        found.append("clients can use the full rate of this host's link; limit it with --max-rate 100mbit")
    return found


def _log_response(entry: "AccessLogEntry") -> None:
    """Write a line of the access log."""
    retrans = "" if entry.retransmits is None else f", {entry.retransmits} retransmitted"
    cc = "" if entry.cc is None else f" {entry.cc}"
    fault = f": {entry.fault}" if entry.fault else ""
    head = f"{entry.address} {entry.request[:200]} {entry.status}{cc}"
    _log(f"{head} {entry.bytes} B {entry.seconds:.3f} s{retrans}{fault}")


def _ignore(_entry: "AccessLogEntry") -> None:
    return


def _log(text: str) -> None:
    sys.stderr.write(f"{visible_line(text)}\n")
    sys.stderr.flush()
