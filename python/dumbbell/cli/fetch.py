"""`dumbbell fetch`: repeated downloads; the result as a table, a verdict, a figure, a result folder."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dumbbell.cli.options import PATH, comma_separated, json_option

if TYPE_CHECKING:
    import ssl

    from dumbbell.cli.console import Console
    from dumbbell.transfer.ab_session import Session, SessionOptions, Transfer

__all__ = ["fetch"]

INTERRUPTED = 130


@click.command("fetch")
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
    "--seed", type=click.IntRange(min=0), default=1, metavar="N", help="Random seed for the order of downloads."
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

    from dumbbell.cli.async_runner import run_until_signal
    from dumbbell.cli.console import err, out, print_json
    from dumbbell.errors import ExperimentError, OutputError
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
        from dumbbell.transfer.session_text import as_json as session_json

        print_json(session_json(session))
    else:
        _show(out, session)
    if session.stopped is Stopped.FAILED:
        err.print(f"dumbbell: {session.fault}", soft_wrap=True)
        raise click.exceptions.Exit(1)
    raise click.exceptions.Exit(INTERRUPTED if session.stopped is Stopped.INTERRUPTED else 0)


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
    from dumbbell.transfer.session_result import as_run, write

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
    from dumbbell.cli.number_text import digits, grid
    from dumbbell.transfer.session_text import as_json, verdicts

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
