"""`dumbbell doctor`: findings about this host's TCP settings, with commands that change them."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import sys
from typing import TYPE_CHECKING

import click
from rich.table import Table
from rich.text import Text

from dumbbell.cli.console import out, print_json
from dumbbell.cli.options import json_option

if TYPE_CHECKING:
    from dumbbell.host.buffers import Path
    from dumbbell.host.finding import Finding, Mark

__all__ = ["doctor"]

SIGNS: dict["Mark", tuple[str, str]] = {
    "ok": ("ok", "green"),
    "warning": ("warning", "yellow"),
    "problem": ("PROBLEM", "bold red"),
    "unknown": ("unknown", "magenta"),
}
MOST_COLUMNS = 100
"""Longer lines are hard to read."""


@click.command("doctor")
@click.option("--rate", metavar="RATE", help="Path rate, such as 1gbit, to check buffers against; needs --rtt.")
@click.option("--rtt", metavar="TIME", help="Path RTT, such as 80ms; needs --rate.")
@json_option
def doctor(
    rate: str | None = None,
    rtt: str | None = None,
    as_json: bool = False,
) -> None:
    """Check this host's TCP settings: congestion control, BBR version, pacing, buffers.

    Reads only and needs no root. Each finding is ok, warning, PROBLEM, or unknown with the reason.
    """
    from dumbbell.host.checks import run_checks
    from dumbbell.host.finding import as_json as parts
    from dumbbell.host.sources import LocalHost

    path = _path_of(rate, rtt)
    findings = run_checks(LocalHost(), path)
    if as_json:
        path_json = {"rate_bps": path.rate_bps, "rtt_ns": path.rtt_ns}
        print_json({"path": path_json, **parts(findings)})
        return
    if out.is_terminal:
        _show(findings)
        return
    with out.capture() as captured:
        _show(findings)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def _path_of(rate: str | None, rtt: str | None) -> "Path":
    """The path of `--rate` and `--rtt`."""
    from dumbbell.host.buffers import Path

    if rate is None and rtt is None:
        return Path()
    from dumbbell.spec.typed import quantity
    from dumbbell.spec.units import duration_ns, rate_bps

    return Path(
        None if rate is None else quantity("--rate", rate, rate_bps, "1bit"),
        None if rtt is None else quantity("--rtt", rtt, duration_ns, "1us"),
    )


def _show(findings: list["Finding"]) -> None:
    from dumbbell.host.finding import GROUPS

    width = min(out.width, MOST_COLUMNS)
    for group in GROUPS:
        out.print(group, style="bold")
        for finding in (finding for finding in findings if finding.group == group):
            out.print(_finding_row(finding), width=width)
            for command in finding.change:
                # Not wrapped, so that it can be copied.
                out.print(f"          $ {command}", style="cyan", soft_wrap=True)
        out.print()
    out.print(_summary_line(findings))


def _finding_row(finding: "Finding") -> Table:
    sign, style = SIGNS[finding.mark]
    meaning = (finding.meaning, "dim" if finding.mark == "ok" else "")
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=7, justify="right")
    table.add_column(ratio=1)
    source = (f" [{finding.source}]" if finding.source else "", "dim")
    parts = Text.assemble((finding.title, "bold"), ": ", finding.shown, ". ", meaning, source)
    table.add_row(Text(sign, style=style), parts)
    return table


def _summary_line(findings: list["Finding"]) -> Text:
    from dumbbell.host.finding import MARKS

    parts = []
    for mark in MARKS:
        count = sum(finding.mark == mark for finding in findings)
        if count:
            parts.append(f"{count} {SIGNS[mark][0]}")
    return Text(", ".join(parts))
