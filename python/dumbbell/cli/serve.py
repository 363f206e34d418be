"""`dumbbell serve`: options to a server, and a line to standard error for every response."""
# Modules are imported inside the command, as in `app`.
# ruff: noqa: PLC0415

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.visible import visible_line

if TYPE_CHECKING:
    from dumbbell.transfer.exchange import Told
    from dumbbell.transfer.limits import Limits
    from dumbbell.transfer.server import Serving

__all__ = ["serve"]

LOCAL = ("localhost", "127.0.0.1", "::1")


def serve(  # noqa: PLR0913, PLR0917 — a command has many options
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0: any that is free.")],
    host: Annotated[
        list[str], typer.Option(metavar="ADDRESS", help=":: for everybody, IPv4 too. Default: this machine only.")
    ] = [],  # noqa: B006 — typer copies it
    root: Annotated[Path | None, typer.Option(metavar="DIR", help="Serve its files too, below /files/.")] = None,
    cert: Annotated[Path | None, typer.Option(metavar="PEM", help="TLS with this certificate.")] = None,
    key: Annotated[Path | None, typer.Option(metavar="PEM", help="Its key, where it isn't in the same file.")] = None,
    controllers: Annotated[
        str, typer.Option(metavar="NAME,…", help="Which may be asked for. Default: all that the kernel lets us.")
    ] = "",
    max_size: Annotated[str, typer.Option(metavar="BYTES", help="Of one response.")] = "1GB",
    max_rate: Annotated[str, typer.Option(metavar="RATE", help="Of all responses, such as 100mbit.")] = "",
    max_client_rate: Annotated[str, typer.Option(metavar="RATE", help="Of all responses to one address.")] = "",
    max_clients: Annotated[int, typer.Option(min=1, max=1_000_000, help="Connections at once.")] = 512,
    max_per_address: Annotated[int, typer.Option(min=1, help="Connections at once from one address.")] = 32,
    timeout: Annotated[
        str, typer.Option(metavar="TIME", help="A client may be silent, or take nothing, so long.")
    ] = "30s",
    min_rate: Annotated[str, typer.Option(metavar="RATE", help="Who takes less on average is cut off.")] = "8kbit",
    quiet: Annotated[bool, typer.Option("--quiet", help="No line for each response.")] = False,
) -> None:
    """Serve bytes and files by HTTP, with the congestion control that the request names."""
    import asyncio

    from dumbbell.cli.asked import in_loop
    from dumbbell.errors import ExperimentError
    from dumbbell.spec.typed import quantity
    from dumbbell.spec.units import duration_ns, rate_bps, size_bytes
    from dumbbell.transfer.limits import Limits
    from dumbbell.transfer.server import LOOPBACK, Serving, tls_context
    from dumbbell.transfer.server import serve as serve_

    if key is not None and cert is None:
        raise ExperimentError("a key and no certificate", key="--key", value=str(key), right="add --cert PEM")
    silence_ns = quantity("--timeout", timeout, duration_ns)
    if silence_ns == 0:
        raise ExperimentError("no time at all", key="--timeout", value=timeout, right="such as 30s")
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
        controllers=tuple(name.strip() for name in controllers.split(",") if name.strip()),
        limits=limits,
    )

    def opened(urls: list[str]) -> None:
        _say(f"dumbbell: serving at {' and '.join(urls)}; ^C ends it")
        for warning in _warnings(serving, limits):
            _say(f"dumbbell: {warning}")

    try:
        in_loop(serve_(serving, opened, _ignore if quiet else _tell))
    except asyncio.CancelledError:
        _say("dumbbell: ended")


def _warnings(serving: "Serving", limits: "Limits") -> list[str]:
    """What it opens, where it opens anything."""
    if all(host in LOCAL for host in serving.hosts):
        return []
    found = [
        f"open to every machine that reaches this one: {limits.clients} connections, {limits.address_clients} from one "
        f"address, {limits.size_bytes} bytes a response"
    ]
    if serving.root is not None:
        found.append(f"every file below {serving.root} can be read by all of them, but hidden ones and links")
    if limits.rate_bps is None:
        found.append("they can use all of this machine's line; --max-rate 100mbit bounds it")
    return found


def _tell(told: "Told") -> None:
    """A line of the access log."""
    again = "" if told.retransmits is None else f", {told.retransmits} retransmitted"
    cc = "" if told.cc is None else f" {told.cc}"
    fault = f": {told.fault}" if told.fault else ""
    text = f"{told.address} {told.request[:200]} {told.status}{cc} {told.bytes} B {told.seconds:.3f} s{again}{fault}"
    _say(text)


def _ignore(_told: "Told") -> None:
    return


def _say(text: str) -> None:
    sys.stderr.write(f"{visible_line(text)}\n")
    sys.stderr.flush()
