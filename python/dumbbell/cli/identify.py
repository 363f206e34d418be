"""`dumbbell identify`: name the congestion control that made a capture."""
# Modules are imported inside the command: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dumbbell.cli.console import digits, err, grid, out, percent, print_json, unwrapped_err, unwrapped_out
from dumbbell.cli.options import PATH, comma_separated, jobs_option, json_option

if TYPE_CHECKING:
    from dumbbell.identification.identify import Identification

__all__ = ["identify"]

SHOWN = 6
CLOSE = 0.25
"""A second candidate with this confidence is named in the verdict."""


@click.command("identify")
@click.argument("trace", type=PATH, metavar="TRACE", help="A pcap or pcapng file.")
@click.option(
    "--flow", metavar="TEXT", help="The connection, if there are several: its two ends, one end, or a port."
)  # fmt: skip
@click.option("--candidates", metavar="CC,CC", help="Controllers to compare with; default: all that hosts run.")
@jobs_option
@json_option
def identify(
    trace: Path, flow: str | None = None, candidates: str | None = None, jobs: int | None = None, as_json: bool = False
) -> None:
    """Name the congestion control that made a capture.

    TRACE is a pcap or pcapng file with a bulk TCP transfer, captured at its sender or receiver. The path is estimated
    from it, the simulator's controllers are run on that path, and the nearest is named, or none.
    """
    from rich.progress import Progress

    from dumbbell.errors import ExitStatus
    from dumbbell.identification.candidates import CONTROLLERS
    from dumbbell.identification.identify import identify as identified
    from dumbbell.identification.nearest import UNKNOWN

    chosen = CONTROLLERS if candidates is None else _chosen(candidates)
    with Progress(console=unwrapped_err, transient=True, disable=not unwrapped_err.is_terminal) as bar:
        task = bar.add_task("simulate candidates", total=None)
        found = identified(
            trace, flow, controllers=chosen, jobs=jobs,
            advance=lambda done, total: bar.update(task, completed=done, total=total),
        )  # fmt: skip
    for warning in found.warnings:
        err.print(f"warning: {warning}")
    if as_json:
        print_json(_as_json(trace, found))
    else:
        _show(found)
    raise click.exceptions.Exit(ExitStatus.UNDECIDED if found.verdict == UNKNOWN else ExitStatus.DONE)


def _chosen(text: str) -> tuple[str, ...]:
    from dumbbell.engines import Simulator
    from dumbbell.errors import ExperimentError
    from dumbbell.spec.units import suggest

    names, known = comma_separated(text), Simulator.controllers()
    for name in names:
        if name not in known:
            raise ExperimentError(
                "the simulator has no such controller", key="--candidates", value=name, right=suggest(name, list(known))
            )
    if not names:
        raise ExperimentError("names no controller", key="--candidates", value=text, right="such as cubic,bbr,reno")
    return names


def _as_json(trace: Path, found: "Identification") -> dict[str, Any]:
    path = found.path
    return {
        "trace": str(trace),
        "flow": found.flow.label,
        "verdict": found.verdict,
        "confidence": round(found.confidence, 3),
        "limit": round(found.judged.limit, 3),
        "alike": list(found.judged.alike),
        "path": {
            "captured_at": "sender" if path.at_sender else "receiver",
            "rtt_ms": path.rtt_s * 1e3,
            "rate_mbps": path.rate_bps / 1e6,
            "buffer_bytes": round(path.buffer_bytes),
            "buffer_filled": path.buffer_seen,
            "random_loss": path.loss,
            "other_share": path.other_share,
            "window_bytes": round(path.window_bytes) or None,
            "duration_s": path.duration_s,
        },
        "ranking": [
            {
                "cc": each.controller,
                "distance": round(each.distance, 3),
                "confidence": round(each.confidence, 3),
                "other_traffic": each.others,
                "distances": {group: round(value, 3) for group, value in each.groups.items()},
            }
            for each in found.ranking
        ],
        "runs": found.runs,
        "warnings": list(found.warnings),
    }


def _show(found: "Identification") -> None:
    path = found.path
    unwrapped_out.print(f"flow      {found.flow.label}")
    at = "sender" if path.at_sender else "receiver"
    unwrapped_out.print(f"captured  at the {at}, {path.duration_s:.3g} s")
    filled = "" if path.buffer_seen else " or more: the flow never filled it"
    bdp = path.buffer_bytes / path.bdp_bytes
    unwrapped_out.print(
        f"path      {path.rate_bps / 1e6:.3g} Mbit/s, {path.rtt_s * 1e3:.3g} ms, "
        f"buffer {path.buffer_bytes / 1e3:.3g} kB ({bdp:.2g} BDP){filled}"
    )
    if path.loss > 0:
        unwrapped_out.print(f"loss      {percent(path.loss)} at random")
    if path.window_bytes > 0:
        unwrapped_out.print(f"window    {path.window_bytes / 1e3:.3g} kB, and it limits")
    if path.other_share > 0:
        unwrapped_out.print(f"others    {percent(path.other_share)} of the bottleneck while it was busy")
    out.print()
    table = grid(["candidate"], ["distance", "confidence"])
    for each in found.ranking[:SHOWN]:
        table.add_row(each.controller, digits(each.distance), percent(each.confidence))
    out.print(table)
    out.print()
    unwrapped_out.print(verdict(found))


def verdict(found: "Identification") -> str:
    """The answer in one sentence."""
    from dumbbell.identification.nearest import scales_for

    first, *rest = found.ranking
    judged = found.judged
    if not judged.known:
        near = f"Unknown: the nearest candidate, {first.controller}, is {digits(first.distance)} away"
        if judged.limit < first.distance and judged.rival and judged.limit < scales_for(found.path).limit:
            return f"{near}, and {judged.rival} is hardly farther; within {digits(judged.limit)} it would be named."
        return f"{near}; beyond {digits(judged.limit)} none is named."
    text = f"The flow behaves like {first.controller} (confidence {100 * found.confidence:.0f} %)"
    close = [each.controller for each in rest if each.confidence >= CLOSE * first.confidence]
    open_ = list(dict.fromkeys([*judged.alike, *close]))
    return f"{text}; {' and '.join(open_)} can't be ruled out." if open_ else f"{text}."
