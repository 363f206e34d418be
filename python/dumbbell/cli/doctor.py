"""`dumbbell doctor`: what this machine does to TCP, what it means, and what to type."""
# ruff: noqa: PLC0415 — a slip in an option answers at once

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from dumbbell.cli.console import Console, print_json

if TYPE_CHECKING:
    from dumbbell.machine.buffers import Path
    from dumbbell.machine.finding import Finding, Mark

__all__ = ["doctor"]

SIGNS: dict["Mark", tuple[str, str]] = {
    "ok": ("ok", "green"),
    "look": ("look", "yellow"),
    "problem": ("PROBLEM", "bold red"),
    "unknown": ("unknown", "magenta"),
}
MOST_COLUMNS = 100
"""Wider lines are hard to read."""


def doctor(
    rate: Annotated[str | None, typer.Option(metavar="RATE", help="Of a path, such as 1gbit; with --rtt.")] = None,
    rtt: Annotated[str | None, typer.Option(metavar="TIME", help="Of that path, such as 80ms.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output, and nothing else.")
    ] = False,
) -> None:
    """Say what this machine does to TCP: is BBR on, which BBR is it, who paces, are buffers large enough?

    Reads only; needs no root. A finding is ok, look, PROBLEM, or unknown with its reason.
    """
    from dumbbell.machine.doctor import examined
    from dumbbell.machine.finding import as_json as told
    from dumbbell.machine.sources import Machine

    path = _asked(rate, rtt)
    findings = examined(Machine(), path)
    if as_json:
        asked = {"rate_bps": path.rate_bps, "rtt_ns": path.rtt_ns}
        print_json({"path": asked, **told(findings)})
        return
    out = Console()
    if out.is_terminal:
        _show(out, findings)
        return
    with out.capture() as captured:
        _show(out, findings)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def _asked(rate: str | None, rtt: str | None) -> "Path":
    """The path that `--rate` and `--rtt` name."""
    from dumbbell.machine.buffers import Path

    if rate is None and rtt is None:
        return Path()
    from dumbbell.spec.typed import quantity
    from dumbbell.spec.units import duration_ns, rate_bps

    return Path(
        None if rate is None else quantity("--rate", rate, rate_bps, "1bit"),
        None if rtt is None else quantity("--rtt", rtt, duration_ns, "1us"),
    )


def _show(out: Console, findings: list["Finding"]) -> None:
    from dumbbell.machine.finding import GROUPS

    width = min(out.width, MOST_COLUMNS)
    for group in GROUPS:
        out.print(group, style="bold")
        for finding in (finding for finding in findings if finding.group == group):
            out.print(_told(finding), width=width)
            for command in finding.change:
                # Never wrapped: it is there to be copied.
                out.print(f"          $ {command}", style="cyan", soft_wrap=True)
        out.print()
    out.print(_counts(findings))


def _told(finding: "Finding") -> Table:
    sign, style = SIGNS[finding.mark]
    meaning = (finding.meaning, "dim" if finding.mark == "ok" else "")
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=7, justify="right")
    table.add_column(ratio=1)
    source = (f" [{finding.source}]" if finding.source else "", "dim")
    told = Text.assemble((finding.title, "bold"), ": ", finding.shown, ". ", meaning, source)
    table.add_row(Text(sign, style=style), told)
    return table


def _counts(findings: list["Finding"]) -> Text:
    from dumbbell.machine.finding import MARKS

    told = []
    for mark in MARKS:
        count = sum(finding.mark == mark for finding in findings)
        if count:
            told.append(f"{count} {SIGNS[mark][0]}")
    return Text(", ".join(told))
