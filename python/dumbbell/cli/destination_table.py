"""The table of `dumbbell stats --destinations`."""

from dumbbell.analysis.destinations import destinations
from dumbbell.cli.console import digits, grid, out, percent, print_json
from dumbbell.results.result import Run

__all__ = ["show_destinations"]


def show_destinations(run: Run, *, as_json: bool) -> None:
    """Print a row per destination, then the commands of the advice. Raises `ResultError` without addresses."""
    found = destinations(run)
    if as_json:
        print_json({"format": 1, "run": str(run.folder), "destinations": [each.as_json() for each in found]})
        return
    table = grid(["destination", "cc"], ["flows", "retrans", "RTT ms", "÷ least", "advice"])
    for each in found:
        table.add_row(
            each.prefix, each.cc, str(each.connections),
            "" if each.retransmit_rate is None else percent(each.retransmit_rate),
            digits(each.rtt_ms), digits(each.rtt_ratio), each.advice,
        )  # fmt: skip
    out.print(table)
    commands = [each.command for each in found if each.command]
    if commands:
        out.print()
        out.print("hints to test, first by dumbbell fetch or for one destination:", style="dim")
        for command in commands:
            out.print(f"  $ {command}", style="cyan", soft_wrap=True)
