"""`dumbbell watch`: live TCP connections; `watch_screen` has the screen, `importers.recording` the recording."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dumbbell.cli.options import PATH, Command

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.analysis.filter import Filter
    from dumbbell.host.tcp_connections import Frame, Stream

__all__ = ["watch"]

LEAST_EVERY = "10ms"
Record = Callable[["Frame", "pl.DataFrame", "pl.DataFrame"], None]
"""Receives a sample, its table, and the table with differences from the previous sample."""


@click.command("watch", cls=Command, older={"--record": "--out"})
@click.argument("words", nargs=-1, metavar="[FILTER...]", help="Filter as for ss, such as: dport 443 and cc bbr")
@click.option("--every", default="1s", metavar="TIME", help="Sampling interval.")
@click.option("--sort", default="rate", metavar="COLUMN", help="Column to sort by.")
@click.option("--out", "record", type=PATH, metavar="RUN", help="Write a result folder at exit.")
@click.option("--once", is_flag=True, help="Print one table and exit.")
@click.option("--netns", metavar="NAME|PID", help="Network namespace to watch; needs root.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per sample.")
@click.option("--compact", is_flag=True, help="With --json: only sums by congestion control and destination.")
@click.option("--prometheus", type=click.IntRange(0, 65535), metavar="PORT", help="Serve /metrics to this host.")
def watch(  # noqa: PLR0913, PLR0917 — one argument for each option
    words: tuple[str, ...] = (),
    every: str = "1s",
    sort: str = "rate",
    record: Path | None = None,
    once: bool = False,
    netns: str | None = None,
    as_json: bool = False,
    compact: bool = False,
    prometheus: int | None = None,
) -> None:
    """Show this host's TCP connections live.

    Columns: rates, RTT, windows, losses, and what limits each connection.
    """
    from dumbbell.analysis.filter import matches, parse
    from dumbbell.cli.watch_fields import BY_NAME
    from dumbbell.errors import LocalHostError
    from dumbbell.host.tcp_connections import Stream
    from dumbbell.spec.typed import quantity
    from dumbbell.spec.units import duration_ns, suggest

    text = " ".join(words or [])
    filter_ = parse(text)
    if sort not in BY_NAME:
        right = suggest(sort, list(BY_NAME)) or f"choose from: {', '.join(BY_NAME)}"
        raise LocalHostError(f"--sort: no column is called '{sort}'; {right}")
    every_ns = quantity("--every", every, duration_ns, LEAST_EVERY)
    if compact and not as_json:
        raise LocalHostError("--compact needs --json; add it")
    if prometheus is not None and (once or as_json):
        raise LocalHostError("--prometheus serves until it is stopped; leave --once and --json out")
    if not (
        once
        or as_json
        or prometheus is not None
        or all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    ):
        raise LocalHostError("watch needs a terminal; add --once or --json to write to a pipe or a file")
    with ExitStack() as stack:
        keep: Record | None = None
        if record is not None:
            from dumbbell.importers.recording import recorded

            command_line = [
                "dumbbell",
                "watch",
                *(words or []),
                "--every",
                every,
                *(["--netns", netns] if netns else []),
            ]
            command = shlex.join([*command_line, "--out", str(record)])
            recording = stack.enter_context(recorded(record, text, every_ns, command, netns))

            def keep(frame: "Frame", rows: "pl.DataFrame", live: "pl.DataFrame") -> None:
                recording.take(frame, rows, live.filter(matches(filter_, live))["cookie"])

        stream = stack.enter_context(Stream(every_ns, 2 if once else None, netns=netns))
        if prometheus is not None:
            _serve(stream, filter_, keep, prometheus)
        elif once or as_json:
            _print_samples(stream, filter_, sort, keep, as_json=as_json, compact=compact)
        else:
            _show_screen(stream, text, sort, keep)
    if record is not None:
        sys.stderr.write(f"wrote {record}\n")


def _serve(stream: "Stream", filter_: "Filter", keep: Record | None, port: int) -> None:
    """Serve sums for Prometheus until Ctrl-C; the newest sample answers."""
    from dumbbell.analysis.live_sockets import Live
    from dumbbell.cli.watch_export import exposition, serving
    from dumbbell.host.tcp_connections import table

    live = Live()
    with serving(port) as exporter:
        sys.stderr.write(f"metrics at http://127.0.0.1:{exporter.port}/metrics; Ctrl-C ends\n")
        sys.stderr.flush()
        try:
            for frame in stream:
                seen = live.add_table(rows := table(frame), frame.monotonic_ns)
                if keep is not None:
                    keep(frame, rows, seen)
                if live.samples > 1:
                    exporter.publish(exposition(live, filter_))
        except KeyboardInterrupt:
            return


def _print_samples(
    stream: "Stream", filter_: "Filter", sort: str, keep: Record | None, *, as_json: bool, compact: bool = False
) -> None:
    """Print to standard output from the second sample on; rates need two samples."""
    from dumbbell.analysis.live_sockets import Live
    from dumbbell.cli.console import out
    from dumbbell.cli.watch_export import compact_json
    from dumbbell.cli.watch_table import as_json as sample_json
    from dumbbell.cli.watch_table import show
    from dumbbell.host.tcp_connections import table

    live = Live()
    try:
        for frame in stream:
            seen = live.add_table(rows := table(frame), frame.monotonic_ns)
            if keep is not None:
                keep(frame, rows, seen)
            if as_json and live.samples > 1:
                text = compact_json(frame, live, filter_) if compact else sample_json(frame, live, filter_, sort)
                sys.stdout.write(text + "\n")
                sys.stdout.flush()
    except KeyboardInterrupt:
        if keep is None:  # A recording ends with a complete result.
            raise
    if not as_json:
        show(out, live, filter_, sort)


def _show_screen(stream: "Stream", text: str, sort: str, keep: Record | None) -> None:
    from dumbbell.cli.watch_screen import Watch

    app = Watch(stream, text, sort, keep)
    try:
        app.run()
    finally:
        # Ends the reading thread.
        stream.close()
    if app.error is not None:
        raise app.error
    if app.return_code:
        raise click.exceptions.Exit(app.return_code)
