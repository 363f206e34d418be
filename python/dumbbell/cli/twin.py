"""`dumbbell fit` and `dumbbell predict`: the path of a recording as an experiment, and other controllers on it."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dumbbell.cli.console import digits, err, grid, out, print_json, unwrapped_err, unwrapped_out
from dumbbell.cli.options import PATH, comma_separated, jobs_option, json_option

if TYPE_CHECKING:
    from dumbbell.identification.facts import Estimate
    from dumbbell.twin.fit import Case, Fit
    from dumbbell.twin.predict import Prediction, Range

__all__ = ["fit", "predict"]

REFUSED = 5
"""Exit status when no model of the path explains the recording."""
SHOWN = 6
COLUMNS = {"throughput_mbps": "throughput", "rtt_ms": "RTT", "rtt_p95_ms": "RTT p95", "retransmits": "retransmits"}

recordings_argument = click.argument(
    "files", type=PATH, nargs=-1, required=True, metavar="RECORDING...",
    help="Captures, logs that `dumbbell import` reads, or result folders, all of one path.",
)  # fmt: skip
recorded_option = click.option(
    "--cc-recorded", metavar="CC,CC",
    help="Controller that sent each recording, in order; default: as the log states, or identified.",
)  # fmt: skip
flow_option = click.option(
    "--flow", metavar="TEXT", help="The connection, if a recording has several: its two ends, one end, or a port."
)  # fmt: skip


@click.command("fit")
@recordings_argument
@click.option("-o", "--output", type=PATH, metavar="FILE", help="Experiment file to write.")
@click.option(
    "--report",
    type=PATH,
    metavar="FILE",
    help="HTML page to write: recorded and replayed side by side; also if refused.",
)
@recorded_option
@flow_option
@jobs_option
@json_option
def fit(
    files: tuple[Path, ...], output: Path | None = None, report: Path | None = None, cc_recorded: str | None = None,
    flow: str | None = None, jobs: int | None = None, as_json: bool = False,
) -> None:  # fmt: skip
    """Rebuild the path of recordings as an experiment file.

    Models of the path are replayed with the recorded controller; those that give the recorded throughput and round
    trip times are kept. If none does, nothing is written and the exit status is 5.
    """
    from dumbbell.publish import write
    from dumbbell.twin.experiment_file import experiment_text

    found = _fitted(files, cc_recorded, flow, jobs)
    if output is not None and found.refused is None:
        write(output, experiment_text(found).encode())
    if report is not None:
        _write_report(found, report, jobs)
    if as_json:
        print_json(_as_json(found, output))
    else:
        _show(found, output)
    if found.refused is not None:
        raise click.exceptions.Exit(REFUSED)


def _write_report(found: "Fit", report: Path, jobs: int | None) -> None:
    from dumbbell.reports.fit_page import write_fit
    from dumbbell.twin.traces import pairs_of

    with _progress("replay once more for the page"):
        write_fit(found, pairs_of(found, jobs), report)


@click.command("predict")
@click.argument(
    "files", type=PATH, nargs=-1, required=True, metavar="RECORDING...|FILE",
    help="Recordings of one path as for `dumbbell fit`, or one experiment file that it wrote.",
)  # fmt: skip
@click.option("--cc", "controllers", required=True, metavar="CC,CC", help="Controllers to predict, such as bbr,cubic.")
@click.option("--engine", "engines", default="sim", metavar="sim,kernel", help="Engines that run them.")
@click.option("--size", metavar="BYTES", help="Predict a download of this size, such as 61MB, and its completion time.")
@click.option("--duration", metavar="TIME", help="Duration of each run; default: the recording's.")
@recorded_option
@flow_option
@jobs_option
@json_option
def predict(  # noqa: PLR0913, PLR0917 — a command has many options
    files: tuple[Path, ...], controllers: str, engines: str = "sim", size: str | None = None,
    duration: str | None = None, cc_recorded: str | None = None, flow: str | None = None, jobs: int | None = None,
    as_json: bool = False,
) -> None:  # fmt: skip
    """Predict controllers on the path of recordings.

    Intervals cover all paths that the recordings allow. Where `dumbbell fit` refuses, this refuses too, with exit
    status 5.
    """
    from dumbbell.twin.predict import as_json as predictions_json
    from dumbbell.twin.replay import RECORDED

    chosen, on = _controllers(controllers), _engines(engines)
    settings = [f"duration={duration}"] if duration else []
    settings += [f"flows.{RECORDED}.bytes={size}"] if size else []
    text, file, paths = _path_of(files, cc_recorded, flow, jobs, as_json)
    from dumbbell.twin.predict import predict as predicted

    with _progress("predict") as (begin, advance):
        begin("run predictions")
        found = predicted(
            text, file, chosen, engines=on, errors=[each.largest_difference for each in paths], settings=settings,
            jobs=jobs, advance=advance,
        )  # fmt: skip
    if as_json:
        models = list(dict.fromkeys(each.model for each in paths))
        print_json({**predictions_json(found), "models": models or None, "refused": None})
    else:
        _show_predictions(found)


def _path_of(
    files: tuple[Path, ...], cc: str | None, flow: str | None, jobs: int | None, as_json: bool
) -> tuple[str, Path, list["Case"]]:
    """The experiment's text, its file, and the fitted paths; ends the command if the fit is refused."""
    from dumbbell.errors import ExperimentError
    from dumbbell.spec.document import text_of
    from dumbbell.twin.experiment_file import experiment_text

    experiments = [file for file in files if file.suffix == ".toml"]
    if experiments and len(files) > 1:
        raise ExperimentError(
            "an experiment together with other files", file=str(experiments[0]),
            right="give recordings, or one experiment file",
        )  # fmt: skip
    if experiments:
        return text_of(files[0]), files[0], []
    found = _fitted(files, cc, flow, jobs)
    if found.refused is not None:
        if as_json:
            print_json({"predictions": None, "refused": found.refused, "advice": found.advice})
        else:
            _refuse(found)
        raise click.exceptions.Exit(REFUSED)
    return experiment_text(found), Path("path.toml"), found.cases


def _fitted(files: Sequence[Path], cc: str | None, flow: str | None, jobs: int | None) -> "Fit":
    from dumbbell.errors import ExperimentError
    from dumbbell.twin.fit import fit as fitted
    from dumbbell.twin.recording import read_recording

    names: Sequence[str | None] = _controllers(cc, "--cc-recorded") if cc is not None else [None] * len(files)
    if len(names) == 1:
        names = list(names) * len(files)
    if len(names) != len(files):
        raise ExperimentError(
            f"{len(names)} controllers for {len(files)} recordings", key="--cc-recorded", value=cc,
            right="one for all, or one for each in order",
        )  # fmt: skip
    with _progress("read recordings") as (begin, _):
        recordings = [read_recording(file, name, flow) for file, name in zip(files, names, strict=True)]
        found = fitted(recordings, jobs, begin)
    for each in recordings:
        for warning in each.warnings:
            err.print(f"warning: {each.file.name}: {warning}")
    return found


@contextmanager
def _progress(first: str) -> Iterator[tuple[Callable[[str], None], Callable[[int, int], None]]]:
    from rich.progress import Progress

    with Progress(console=unwrapped_err, transient=True, disable=not unwrapped_err.is_terminal) as bar:
        task = bar.add_task(first, total=None)
        yield (
            lambda text: bar.update(task, description=text),
            lambda done, total: bar.update(task, completed=done, total=total),
        )


def _controllers(text: str, key: str = "--cc") -> tuple[str, ...]:
    from dumbbell.errors import ExperimentError

    names = comma_separated(text)
    if not names:
        raise ExperimentError("names no controller", key=key, value=text, right="such as cubic,bbr")
    if key == "--cc-recorded":
        from dumbbell.engines import Simulator
        from dumbbell.spec.units import suggest

        known = Simulator.controllers()
        for name in names:
            if name not in known:
                raise ExperimentError(
                    "the simulator has no such controller, so it can't replay the recording", key=key, value=name,
                    right=suggest(name, list(known)),
                )  # fmt: skip
    return names


def _engines(text: str) -> tuple[str, ...]:
    from dumbbell.errors import ExperimentError
    from dumbbell.twin.predict import ENGINES

    names = comma_separated(text)
    for name in names:
        if name not in ENGINES:
            raise ExperimentError(
                "no engine for predictions", key="--engine", value=name, right=f"available: {', '.join(ENGINES)}"
            )
    return names or ENGINES[:1]


def _as_json(found: "Fit", output: Path | None) -> dict[str, Any]:
    facts = found.facts
    return {
        "recordings": [
            {
                "file": str(each.file), "flow": each.label, "cc": each.cc, "cc_known": each.cc_known,
                "duration_s": each.duration_s, "samples": each.flow is None, "warnings": list(each.warnings),
            }
            for each in found.recordings
        ],
        "path": {
            "rtt_ms": _estimate(facts.rtt_s, 1e3),
            "rate_mbps": _estimate(facts.rate_bps, 1e-6),
            "queue_ms": _estimate(facts.queue_s, 1e3),
            "buffer_bytes": _estimate(facts.buffer_bytes, 1),
            "loss": _estimate(facts.loss, 1),
            "window_bytes": _estimate(facts.window_bytes, 1),
            "segments_per_ack": _estimate(facts.acks, 1),
            "forward_queue_ms": _estimate(facts.forward_queue_s, 1e3),
            "return_queue_ms": _estimate(facts.reverse_queue_s, 1e3),
        },
        "models": [
            {
                "name": each.model.name, "misfit": each.misfit, "passes": each.passes, "values": dict(each.values),
                "replays": [
                    {
                        reading.name: {
                            "recorded": reading.recorded, "replayed": reading.replayed, "spread": reading.spread
                        }
                        for reading in readings
                    }
                    for readings in each.readings
                ],
            }
            for each in found.tried
        ],
        "cases": [each.name for each in found.cases],
        "file": str(output) if output is not None and found.refused is None else None,
        "refused": found.refused,
        "advice": found.advice if found.refused is not None else None,
    }  # fmt: skip


def _estimate(estimate: "Estimate", scale: float) -> dict[str, Any]:
    def scaled(value: float | None) -> float | None:
        return None if value is None else value * scale

    return {
        "value": scaled(estimate.value), "low": scaled(estimate.low), "high": scaled(estimate.high),
        "evidence": estimate.evidence,
    }  # fmt: skip


def _show(found: "Fit", output: Path | None) -> None:
    from dumbbell.twin.experiment_file import fact_lines

    for each in found.recordings:
        unwrapped_out.print(f"recording  {each.label}, {each.duration_s:.3g} s, {each.cc} {each.cc_known}")
    for name, value in fact_lines(found):
        unwrapped_out.print(f"{name:<10} {value}")
    out.print()
    table = grid(["replayed as", ""], list(COLUMNS.values()))
    for tried in found.tried[:SHOWN]:
        for readings in tried.readings:
            by_name = {each.name: each for each in readings}
            cells = [f"{100 * by_name[name].difference:+.1f}%" if name in by_name else "" for name in COLUMNS]
            table.add_row(tried.model.name, "passes" if tried.passes else "fails", *cells)
    out.print(table)
    out.print()
    if found.refused is not None:
        _refuse(found)
        return
    unwrapped_out.print(f"The path is {' or '.join(each.model.says for each in found.accepted)}.")
    cases = found.cases
    if len(cases) > 1:
        unwrapped_out.print(f"The recording allows {len(cases)} paths:")
        for case in cases:
            unwrapped_out.print(f"  {case.name}")
    if output is not None:
        unwrapped_out.print(f"Written to {output}. Predict with: dumbbell predict {output} --cc bbr,cubic")


def _refuse(found: "Fit") -> None:
    unwrapped_out.print(f"Refused: {found.refused}.")
    unwrapped_out.print(f"What would help: {found.advice}.")


def _show_predictions(found: Sequence["Prediction"]) -> None:
    titles = {
        "throughput_mbps": "Mbit/s", "completion_s": "completion s", "rtt_ms": "RTT ms", "retransmits": "retransmits",
        "neighbour_mbps": "neighbour",
    }  # fmt: skip
    known = [name for name in titles if any(each.numbers.get(name) for each in found)]
    table = grid(["engine", "controller"], [titles[name] for name in known])
    for each in found:
        if each.reason is None:
            table.add_row(each.engine, each.cc, *(_cell(each.numbers.get(name)) for name in known))
    out.print(table)
    for each in found:
        if each.reason is not None:
            unwrapped_out.print(f"{each.cc} on {each.engine}: unknown, {each.reason}")
    out.print()
    unwrapped_out.print(_sentence(found))


def _cell(number: "Range | None") -> str:
    if number is None:
        return "unknown"
    value, low, high = (digits(each) for each in (number.value, number.low, number.high))
    return value if low == high else f"{value} ({low}…{high})"


def _sentence(found: Sequence["Prediction"]) -> str:
    """Which controller is faster, if the intervals say so."""
    ranked = []
    for each in found:
        throughput = each.numbers.get("throughput_mbps")
        if each.engine == found[0].engine and throughput is not None:
            ranked.append((each.cc, throughput))
    ranked.sort(key=lambda pair: -pair[1].value)
    if not ranked:
        return "No engine ran any of them."
    (first, best), *rest = ranked
    if not rest:
        return f"{first} gets {digits(best.low)} to {digits(best.high)} Mbit/s."
    open_ = [cc for cc, each in rest if each.high >= best.low]
    if not open_:
        ahead = 100 * (best.value / rest[0][1].value - 1)
        return f"{first} is the fastest on every path that the recordings allow, {ahead:.2g} % before {rest[0][0]}."
    return f"{first} and {' and '.join(open_)} can't be told apart: their intervals overlap."
