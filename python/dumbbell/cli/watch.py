"""`dumbbell watch`: TCP connections as they live. The screen is `watching`'s, a recording `importers.recording`'s."""
# Modules are imported inside the command, as in `app`.
# ruff: noqa: PLC0415

import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.analysis.filter import Filter
    from dumbbell.machine.stream import Frame, Stream

__all__ = ["watch"]

LEAST_EVERY = "10ms"
Record = Callable[["Frame", "pl.DataFrame", "pl.DataFrame"], None]
"""Gets a look, its table, and the same beside the look before it."""


def watch(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILTER...]", help="As ss has it: dport 443 and cc bbr.", show_default=False),
    ] = None,
    every: Annotated[str, typer.Option(metavar="TIME", help="Between two looks.")] = "1s",
    sort: Annotated[str, typer.Option(metavar="COLUMN", help="By which column.")] = "rate",
    record: Annotated[Path | None, typer.Option(metavar="RUN", help="Write a result folder, at the end.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Print one table and end.")] = False,
    netns: Annotated[
        str | None, typer.Option(metavar="NAME|PID", help="Of another network namespace (needs root).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line for each look.")] = False,
) -> None:
    """Watch TCP connections live: rates, RTT, windows, losses, what limits each."""
    from dumbbell.analysis.filter import matches, parse
    from dumbbell.cli.watching.columns import BY_NAME
    from dumbbell.errors import MachineError
    from dumbbell.machine.stream import Stream
    from dumbbell.spec.qdisc import suggest
    from dumbbell.spec.typed import quantity
    from dumbbell.spec.units import duration_ns

    text = " ".join(words or [])
    filter_ = parse(text)
    if sort not in BY_NAME:
        right = suggest(sort, list(BY_NAME)) or f"there is: {', '.join(BY_NAME)}"
        raise MachineError(f"--sort: no column is called '{sort}'; {right}")
    every_ns = quantity("--every", every, duration_ns, LEAST_EVERY)
    if not (once or as_json or all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))):
        raise MachineError("watch needs a terminal; for a pipe or a file add --once or --json")
    with ExitStack() as stack:
        keep: Record | None = None
        if record is not None:
            from dumbbell.importers.recording import recorded

            said = ["dumbbell", "watch", *(words or []), "--every", every, *(["--netns", netns] if netns else [])]
            command = shlex.join([*said, "--record", str(record)])
            recording = stack.enter_context(recorded(record, text, every_ns, command, netns))

            def keep(frame: "Frame", rows: "pl.DataFrame", live: "pl.DataFrame") -> None:
                recording.take(frame, rows, live.filter(matches(filter_, live))["cookie"])

        stream = stack.enter_context(Stream(every_ns, 2 if once else None, netns=netns))
        if once or as_json:
            _plainly(stream, filter_, sort, keep, as_json=as_json)
        else:
            _on_screen(stream, text, sort, keep)
    if record is not None:
        sys.stderr.write(f"wrote {record}\n")


def _plainly(stream: "Stream", filter_: "Filter", sort: str, keep: Record | None, *, as_json: bool) -> None:
    """To standard output, from the second look on: the first has nothing to be compared with."""
    from dumbbell.analysis.live import Live
    from dumbbell.cli.console import out
    from dumbbell.cli.watching.plain import as_json as told
    from dumbbell.cli.watching.plain import show
    from dumbbell.machine.connections import table

    live = Live()
    try:
        for frame in stream:
            seen = live.take(rows := table(frame), frame.monotonic_ns)
            if keep is not None:
                keep(frame, rows, seen)
            if as_json and live.looks > 1:
                sys.stdout.write(told(frame, live, filter_, sort) + "\n")
                sys.stdout.flush()
    except KeyboardInterrupt:
        if keep is None:  # Somebody who records ends with a whole result.
            raise
    if not as_json:
        show(out, live, filter_, sort)


def _on_screen(stream: "Stream", text: str, sort: str, keep: Record | None) -> None:
    from dumbbell.cli.watching.app import Watch

    app = Watch(stream, text, sort, keep)
    try:
        app.run()
    finally:
        # The thread that reads comes to the stream's end.
        stream.close()
    if app.error is not None:
        raise app.error
    if app.return_code:
        raise typer.Exit(app.return_code)
