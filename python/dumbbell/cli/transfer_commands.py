"""`dumbbell fetch` and `dumbbell serve`: repeated downloads, and an HTTP server for them."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dumbbell.cli.options import PATH, Command, comma_separated, json_option
from dumbbell.control_characters import visible_line

if TYPE_CHECKING:
    import ssl

    from dumbbell.cli.console import Console
    from dumbbell.transfer.ab_session import Session, SessionOptions, Transfer
    from dumbbell.transfer.http_connection import AccessLogEntry
    from dumbbell.transfer.responses import Limits
    from dumbbell.transfer.server import Serving

__all__ = ["fetch", "serve"]


@click.command("fetch", cls=Command, older={"--seed": "--order-seed"})
@click.argument("url", metavar="URL", help="URL of a `dumbbell serve` or of a file on any server.")
@click.option(
    "--cc",
    default="",
    show_default=False,
    metavar="NAME,NAME",
    help="Congestion controls to compare; the first is compared with each other one.",
)
@click.option(
    "--size",
    default="",
    show_default=False,
    metavar="BYTES",
    help="Bytes to download, such as 61MB; default: the whole file.",
)
@click.option(
    "--repeats", type=click.IntRange(min=1, max=10_000), metavar="N", help="Number of downloads per controller."
)
@click.option(
    "--until",
    default="",
    show_default=False,
    metavar="5%",
    help="Stop when the confidence interval of the ratio is this narrow.",
)
@click.option(
    "--max-runs",
    type=click.IntRange(min=1, max=10_000),
    default=40,
    metavar="N",
    help="Maximum number of downloads per controller.",
)
@click.option(
    "--connections",
    type=click.IntRange(min=1, max=256),
    default=1,
    metavar="N",
    help="Parallel connections; each downloads the full size.",
)
@click.option("-4", "--4", "ipv4", is_flag=True, help="Use IPv4 only.")
@click.option("-6", "--6", "ipv6", is_flag=True, help="Use IPv6 only.")
@click.option("--insecure", is_flag=True, help="Don't verify the server's certificate.")
@click.option("--cacert", type=PATH, metavar="PEM", help="CA certificates to trust.")
@click.option("--timeout", default="300s", metavar="TIME", help="Time limit per download.")
@click.option(
    "--order-seed",
    "seed",
    type=click.IntRange(min=0),
    default=1,
    metavar="N",
    help="Seed of the order of downloads.",
)
@click.option("--out", "folder", type=PATH, metavar="RUN", help="Also write a result folder.")
@click.option("-o", "--output", type=PATH, metavar="FILE", help="Also draw a figure.")
@json_option
def fetch(  # noqa: PLR0913, PLR0917 — a command has many options
    url: str,
    cc: str = "",
    size: str = "",
    repeats: int | None = None,
    until: str = "",
    max_runs: int = 40,
    connections: int = 1,
    ipv4: bool = False,
    ipv6: bool = False,
    insecure: bool = False,
    cacert: Path | None = None,
    timeout: str = "300s",
    seed: int = 1,
    folder: Path | None = None,
    output: Path | None = None,
    as_json: bool = False,
) -> None:
    """Compare congestion controls by repeated downloads.

    Downloads with each one in random order until the difference is decided.
    """
    import socket

    from dumbbell.cli.console import err, out, print_json
    from dumbbell.cli.streams import run_until_signal
    from dumbbell.errors import ExitStatus, ExperimentError, OutputError
    from dumbbell.spec.typed import quantity
    from dumbbell.spec.units import duration_ns, share, size_bytes
    from dumbbell.transfer.ab_session import SessionOptions, Stopped, measure
    from dumbbell.transfer.client import DownloadRequest, parse_url

    ccs = comma_separated(cc)
    if len(set(ccs)) < len(ccs):
        raise ExperimentError("a congestion control is listed twice", key="--cc", value=cc, right="list each once")
    if any(not name.isascii() or not name.isprintable() for name in ccs):
        raise ExperimentError("not the name of a congestion control", key="--cc", value=cc, right="such as bbr,cubic")
    if repeats is not None and until:
        raise ExperimentError(
            "--repeats and --until exclude each other", key="--until", value=until, right="give one of them"
        )
    if ipv4 and ipv6:
        raise ExperimentError("-4 and -6 exclude each other", key="-6", right="give at most one of them")
    if folder is not None and (folder.exists() or folder.is_symlink()):
        raise OutputError(f"{folder}: exists already; choose another folder")
    session_options = SessionOptions(
        ccs, repeats, _until(quantity("--until", until, share) if until else None), max_runs, connections, seed
    )
    download_request = DownloadRequest(
        parse_url(url),
        size_bytes=quantity("--size", size, size_bytes) if size else None,
        family=socket.AF_INET if ipv4 else socket.AF_INET6 if ipv6 else socket.AF_UNSPEC,
        tls=_tls(insecure=insecure, cacert=cacert),
        timeout_s=quantity("--timeout", timeout, duration_ns) / 1e9,
    )
    session = run_until_signal(
        measure(session_options, download_request, lambda transfer: _progress(err, session_options, transfer))
    )
    _write(session, folder, output, _command(url, session_options, size=size, until=until))
    if as_json:
        from dumbbell.transfer.session_output import as_json as session_json

        print_json(session_json(session))
    else:
        _show(out, session)
    if session.stopped is Stopped.FAILED:
        err.print(f"dumbbell: {session.fault}", soft_wrap=True)
        raise click.exceptions.Exit(ExitStatus.FAILED)
    raise click.exceptions.Exit(ExitStatus.INTERRUPTED if session.stopped is Stopped.INTERRUPTED else ExitStatus.DONE)


def _until(within: float | None) -> float | None:
    from dumbbell.errors import ExperimentError

    if within is not None and within <= 0:
        raise ExperimentError("the width must be positive", key="--until", value=f"{within:g}", right="such as 5%")
    return within


def _tls(*, insecure: bool, cacert: Path | None) -> "ssl.SSLContext":
    import ssl

    from dumbbell.errors import ExperimentError, TransferError

    if insecure and cacert is not None:
        raise ExperimentError("--insecure and --cacert exclude each other", key="--insecure", right="give one of them")
    try:
        context = ssl.create_default_context(cafile=cacert)
    except (OSError, ssl.SSLError) as error:
        raise TransferError(f"{cacert}: not a PEM file of certificates: {error}") from error
    context.set_alpn_protocols(["http/1.1"])
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _command(url: str, session_options: "SessionOptions", *, size: str, until: str) -> str:
    """The command that repeats the measurement."""
    options = {"cc": ",".join(session_options.ccs), "size": size, "until": until, "repeats": session_options.repeats}
    options |= {
        "max-runs": session_options.most, "connections": session_options.connections, "seed": session_options.seed
    }  # fmt: skip
    arguments = [argument for key, value in options.items() if value for argument in (f"--{key}", str(value))]
    return shlex.join(["dumbbell", "fetch", url, *arguments])


def _progress(err: "Console", session_options: "SessionOptions", transfer: "Transfer") -> None:
    what = transfer.cc or "download"
    most = session_options.repeats or session_options.most
    err.print(f"{transfer.block + 1}/{most} {what} {transfer.time_s:.4g} s", style="dim")


def _write(session: "Session", folder: Path | None, output: Path | None, command: str) -> None:
    from dumbbell.cli.console import err
    from dumbbell.transfer.session_output import as_run, write

    if not session.transfers:
        return
    if folder is not None:
        write(session, folder, command)
        err.print(f"wrote {folder}")
    if output is not None:
        from dumbbell.plots import draw, save

        save(draw([as_run(session, command)], "downloads"), output)
        err.print(f"wrote {output}")


def _show(out: "Console", session: "Session") -> None:
    """Print one row per congestion control, then the comparisons and verdicts."""
    from dumbbell.cli.console import digits, grid
    from dumbbell.transfer.session_output import as_json, verdicts

    numbers = as_json(session)
    table = grid(["controller"], ["downloads", "median s", "min", "max", "Mbit/s", "first byte ms", "retrans"])

    def middle(kind: dict[str, Any], name: str, key: str = "median", scale: float = 1.0) -> str:
        return digits(kind[name][key] * scale) if kind[name] else ""

    for kind in numbers["kinds"]:
        table.add_row(
            kind["cc"] or "default", str(kind["downloads"]), middle(kind, "time_s"),
            middle(kind, "time_s", "min"), middle(kind, "time_s", "max"), middle(kind, "rate_mbps"),
            middle(kind, "first_byte_s", scale=1e3), middle(kind, "retransmits"),
        )  # fmt: skip
    out.print(table)
    for found in numbers["comparisons"]:
        if found["second"] is not None:
            delta = f"effect size (Cliff's delta) {found['cliffs_delta']:.2f}"
            out.print(f"{delta}, ratio of the medians {found['medians_ratio']:.3g}", style="dim")
    for line in verdicts(session):
        out.print(line, style="bold", soft_wrap=True)
    for note in numbers["notes"]:
        out.print(f"note: {note}", style="yellow", soft_wrap=True)


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

    from dumbbell.cli.streams import run_until_signal
    from dumbbell.errors import ExperimentError
    from dumbbell.spec.typed import quantity
    from dumbbell.spec.units import duration_ns, rate_bps, size_bytes
    from dumbbell.transfer.responses import Limits
    from dumbbell.transfer.server import LOOPBACK, Serving, tls_context
    from dumbbell.transfer.server import serve as serve_

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
