"""`dumbbell fetch`: options to a session of downloads, and what came out as a table, a sentence, a figure, a folder."""
# Modules are imported inside the command, as in `app`.
# ruff: noqa: PLC0415

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import ssl

    from dumbbell.cli.console import Console
    from dumbbell.transfer.session import Asked, Session, Trial

__all__ = ["fetch"]

INTERRUPTED = 130


def fetch(  # noqa: PLR0913, PLR0917 — a command has many options
    url: Annotated[str, typer.Argument(metavar="URL", help="A dumbbell serve, or any server's file.")],
    cc: Annotated[str, typer.Option(metavar="NAME,NAME", help="Controllers to compare; the first against each.")] = "",
    size: Annotated[str, typer.Option(metavar="BYTES", help="Such as 61MB; default: all of the file.")] = "",
    repeats: Annotated[int | None, typer.Option(min=1, max=10_000, help="So many of each, no more, no less.")] = None,
    until: Annotated[str, typer.Option(metavar="5%", help="Until the ratio is known so exactly.")] = "",
    max_runs: Annotated[int, typer.Option(min=1, max=10_000, help="Of each at most.")] = 40,
    connections: Annotated[int, typer.Option(min=1, max=256, help="At once, each downloads it all.")] = 1,
    ipv4: Annotated[bool, typer.Option("-4", "--4", help="IPv4 only.")] = False,
    ipv6: Annotated[bool, typer.Option("-6", "--6", help="IPv6 only.")] = False,
    insecure: Annotated[bool, typer.Option("--insecure", help="Trust any certificate.")] = False,
    cacert: Annotated[Path | None, typer.Option(metavar="PEM", help="Trust what these have signed.")] = None,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="Of one download.")] = "300s",
    seed: Annotated[int, typer.Option(min=0, help="Of the order's dice.")] = 1,
    folder: Annotated[Path | None, typer.Option("--out", metavar="RUN", help="Keep it as a result.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="A figure.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Download with each controller in turn, until it is known which is faster, and by how much."""
    import socket

    from dumbbell.cli.asked import in_loop
    from dumbbell.cli.console import err, out, print_json
    from dumbbell.errors import ExperimentError, OutputError
    from dumbbell.spec.typed import quantity
    from dumbbell.spec.units import duration_ns, share, size_bytes
    from dumbbell.transfer.client import Wanted, place_of
    from dumbbell.transfer.session import Asked, Stopped, measure

    ccs = tuple(name.strip() for name in cc.split(",") if name.strip())
    if len(set(ccs)) < len(ccs):
        raise ExperimentError("a controller twice", key="--cc", value=cc, right="each once")
    if any(not name.isascii() or not name.isprintable() for name in ccs):
        raise ExperimentError("no name of a controller", key="--cc", value=cc, right="such as bbr,cubic")
    if repeats is not None and until:
        raise ExperimentError("a number and a condition", key="--until", value=until, right="either of the two")
    if ipv4 and ipv6:
        raise ExperimentError("IPv4 only and IPv6 only", key="-6", right="one, or neither")
    if folder is not None and (folder.exists() or folder.is_symlink()):
        raise OutputError(f"{folder}: exists already; results are never overwritten")
    asked = Asked(
        ccs, repeats, _until(quantity("--until", until, share) if until else None), max_runs, connections, seed
    )
    wanted = Wanted(
        place_of(url),
        size_bytes=quantity("--size", size, size_bytes) if size else None,
        family=socket.AF_INET if ipv4 else socket.AF_INET6 if ipv6 else socket.AF_UNSPEC,
        tls=_tls(insecure=insecure, cacert=cacert),
        timeout_s=quantity("--timeout", timeout, duration_ns) / 1e9,
    )
    session = in_loop(measure(asked, wanted, lambda trial: _progress(err, asked, trial)))
    _write(session, folder, output, _command(url, asked, size=size, until=until))
    if as_json:
        from dumbbell.transfer.words import as_json as told

        print_json(told(session))
    else:
        _show(out, session)
    if session.stopped is Stopped.FAILED:
        err.print(f"dumbbell: {session.fault}", soft_wrap=True)
        raise typer.Exit(1)
    raise typer.Exit(INTERRUPTED if session.stopped is Stopped.INTERRUPTED else 0)


def _until(within: float | None) -> float | None:
    from dumbbell.errors import ExperimentError

    if within is not None and within <= 0:
        raise ExperimentError("nothing is known exactly", key="--until", value=f"{within:g}", right="such as 5%")
    return within


def _tls(*, insecure: bool, cacert: Path | None) -> "ssl.SSLContext":
    import ssl

    from dumbbell.errors import ExperimentError, TransferError

    if insecure and cacert is not None:
        raise ExperimentError("whom to trust, and to trust anybody", key="--insecure", right="one of the two")
    try:
        context = ssl.create_default_context(cafile=cacert)
    except (OSError, ssl.SSLError) as error:
        raise TransferError(f"{cacert}: no certificates as PEM: {error}") from error
    context.set_alpn_protocols(["http/1.1"])
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _command(url: str, asked: "Asked", *, size: str, until: str) -> str:
    """That measures the same again."""
    words = ["dumbbell", "fetch", url]
    options = {"cc": ",".join(asked.ccs), "size": size, "until": until, "repeats": asked.repeats}
    options |= {"max-runs": asked.most, "connections": asked.connections, "seed": asked.seed}
    return shlex.join([*words, *(word for key, value in options.items() if value for word in (f"--{key}", str(value)))])


def _progress(err: "Console", asked: "Asked", trial: "Trial") -> None:
    what = trial.cc or "download"
    most = asked.repeats or asked.most
    err.print(f"{trial.block + 1}/{most} {what} {trial.time_s:.4g} s", style="dim")


def _write(session: "Session", folder: Path | None, output: Path | None, command: str) -> None:
    from dumbbell.cli.console import err
    from dumbbell.transfer.record import as_run, write

    if not session.trials:
        return
    if folder is not None:
        write(session, folder, command)
        err.print(f"wrote {folder}")
    if output is not None:
        from dumbbell.plot import draw, save

        save(draw([as_run(session, command)], "downloads"), output)
        err.print(f"wrote {output}")


def _show(out: "Console", session: "Session") -> None:
    """A row a kind, then what follows from them."""
    from dumbbell.cli.cells import digits, grid
    from dumbbell.transfer.words import as_json, verdicts

    told = as_json(session)
    table = grid(["controller"], ["downloads", "median s", "min", "max", "Mbit/s", "first byte ms", "retrans"])

    def middle(kind: dict[str, Any], name: str, key: str = "median", scale: float = 1.0) -> str:
        return digits(kind[name][key] * scale) if kind[name] else ""

    for kind in told["kinds"]:
        table.add_row(
            kind["cc"] or "not told", str(kind["downloads"]), middle(kind, "time_s"),
            middle(kind, "time_s", "min"), middle(kind, "time_s", "max"), middle(kind, "rate_mbps"),
            middle(kind, "first_byte_s", scale=1e3), middle(kind, "retransmits"),
        )  # fmt: skip
    out.print(table)
    for found in told["comparisons"]:
        if found["second"] is not None:
            delta = f"effect size (Cliff's delta) {found['cliffs_delta']:.2f}"
            out.print(f"{delta}, ratio of the medians {found['medians_ratio']:.3g}", style="dim")
    for line in verdicts(session):
        out.print(line, style="bold", soft_wrap=True)
    for note in told["notes"]:
        out.print(f"note: {note}", style="yellow", soft_wrap=True)
