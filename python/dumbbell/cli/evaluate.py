"""`dumbbell evaluate`: judge controllers by RFC 9743's criteria, print the verdicts, write the page."""
# Modules are imported inside the command: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import math
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dumbbell.cli.console import digits, err, grid, out, print_json, unwrapped_err, unwrapped_out
from dumbbell.cli.options import PATH, Command, comma_separated, jobs_option, json_option, kernel_option
from dumbbell.cli.streams import Interrupted
from dumbbell.errors import ExitStatus, ExperimentError

if TYPE_CHECKING:
    from dumbbell.evaluation.referee import Controller, Evaluation, Finding

__all__ = ["evaluate", "shown_number"]

BUDGET_S = {"sim": 170.0, "kernel": 880.0}
"""Default budgets: the whole command takes 3 and 15 minutes at most."""


@click.command("evaluate", cls=Command, older={"--runs": "--max-runs"})
@click.argument(
    "controllers", nargs=-1, required=True, metavar="CC|FILE.c...", help="Controllers, or C files that register one."
)
@click.option(
    "--engine",
    metavar="sim|kernel",
    help="Engine; default: sim, for a C file kernel.",
    default=None,
    show_default=False,
)
@kernel_option
@click.option("--against", default="cubic,bbr,reno", metavar="CC,CC", help="Controllers that it must not harm.")
@click.option(
    "--budget", metavar="TIME", help="Wall time for each controller; default: 170s on sim, 880s on the kernel."
)
@click.option("--max-runs", "runs", type=click.IntRange(min=1), metavar="N", help="Budget in runs instead: repeatable.")
@click.option("--full", is_flag=True, help="Without a budget: until every verdict is known, or 200 seeds.")
@click.option(
    "--parameter", "parameters", multiple=True, metavar="KEY=VALUE", help="A controller parameter. Repeatable."
)
@click.option("--only", metavar="NAME,NAME", help="Only these criteria.")
@jobs_option
@json_option
@click.option("-o", "--output", type=PATH, metavar="FILE.html", help="Also write a page.")
def evaluate(  # noqa: PLR0913, PLR0917 — a command has many options
    controllers: tuple[str, ...], engine: str | None, kernel: str | None, against: str, budget: str | None,
    runs: int | None, full: bool, parameters: tuple[str, ...], only: str | None, jobs: int | None, as_json: bool,
    output: Path | None,
) -> None:  # fmt: skip
    """Judge congestion controls by the criteria of RFC 9743.

    Each criterion is an experiment with a limit.

    A C file is added to the kernel first. Several controllers are judged one after the other and shown side by side.
    """
    from dumbbell.evaluation.criteria import load_suite

    suite = load_suite()
    if only is not None:
        suite = suite.only(comma_separated(only))
    engine = engine or ("kernel" if any(each.endswith(".c") for each in controllers) else "sim")
    _check(engine, against, budget, runs, full=full)
    chosen = [_controller(each, engine, kernel, parameters) for each in controllers]
    for each in chosen:
        _check_offered(each, comma_separated(against))
    limit = _budget(engine, budget, runs, full=full)
    done = [_evaluated(suite, each, comma_separated(against), limit, full, jobs) for each in chosen]
    if output is not None:
        from dumbbell import extras

        with extras.explained():
            from dumbbell.reports.evaluation_page import write_evaluation

        write_evaluation(done, output)
    if as_json:
        print_json(_as_json(done))
    else:
        _show(done)
    failed = any(finding.judged.verdict == "fail" for each in done for finding in each.findings)
    raise click.exceptions.Exit(ExitStatus.of(valid=True, positive=not failed))


def _check(engine: str, against: str, budget: str | None, runs: int | None, *, full: bool) -> None:
    if engine not in BUDGET_S:
        raise ExperimentError("evaluate has no such engine", key="--engine", value=engine, right="sim or kernel")
    if not comma_separated(against):
        raise ExperimentError("names no controller", key="--against", value=against, right="such as cubic,bbr,reno")
    given = [name for name, value in (("--budget", budget), ("--max-runs", runs), ("--full", full)) if value]
    if len(given) > 1:
        raise ExperimentError("only one of these limits the runs", key=" and ".join(given), right="leave one out")


def _budget(engine: str, budget: str | None, runs: int | None, *, full: bool) -> Any:
    from dumbbell.evaluation.referee import Budget
    from dumbbell.spec.units import Wrong, duration_ns

    if budget is None:
        return Budget(runs=runs) if runs or full else Budget(wall_s=BUDGET_S[engine])
    try:
        return Budget(wall_s=duration_ns(_in_seconds(budget)) / 1e9)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key="--budget", value=budget, right="such as 180s or 3min") from None


def _in_seconds(text: str) -> str:
    number = text.removesuffix("min").strip()
    return f"{float(number) * 60:g}s" if text.endswith("min") and number.replace(".", "", 1).isdigit() else text


def _controller(text: str, engine: str, kernel: str | None, parameters: Sequence[str]) -> "Controller":
    from dumbbell.evaluation.referee import Controller

    named = dict(_parameter(each) for each in parameters)
    if not text.endswith(".c"):
        return Controller(text, named, engine, kernel)
    if engine != "kernel":
        raise ExperimentError("a C file runs in a kernel", key="--engine", value=engine, right="--engine kernel")
    from dumbbell.cli.console import bars_on
    from dumbbell.kernels.added import add

    with bars_on(err) as bars:
        addition = add(Path(text), to=kernel, progress=bars)
    return Controller(addition.added.names[0], named, engine, addition.kernel.name)


def _check_offered(controller: "Controller", against: Sequence[str]) -> None:
    """Raises `ExperimentError` or `PlanError` before any run if the engine lacks a controller or a parameter."""
    from dumbbell.engines import Request
    from dumbbell.engines.base import engine_called, permitted
    from dumbbell.publish import temporary
    from dumbbell.spec import read

    engine = engine_called(controller.engine, controller.kernel, allowed=permitted(kernels=[controller.kernel]))
    bottleneck = {"rate": "10mbit", "qdisc": "pfifo limit 100"}
    for key, name in (("CC", controller.name), *(("--against", name) for name in against)):
        parameters = dict(controller.parameters) if key == "CC" else {}
        flow = {"cc": name} | ({"cc_parameters": parameters} if parameters else {})
        document = {"duration": "1ms", "path": {"rtt": "10ms", "bottleneck": bottleneck}, "flows": [flow]}
        (case,) = read(document, Path("evaluate"))
        try:
            if not parameters:
                engine.check(Request("evaluate", case, 1, Path("evaluate")))
                continue
            # Only the controller itself knows its parameters.
            with temporary("evaluate") as folder:
                engine.run(Request("evaluate", case, 1, folder / "run"), lambda _seconds: None)
        except ExperimentError as error:
            raise ExperimentError(error.problem, key=key, value=name, right=error.right) from None


def _parameter(text: str) -> tuple[str, Any]:
    """Read as --set is."""
    from dumbbell.spec.document import split_setting

    try:
        return split_setting(text)
    except ExperimentError:
        right = "KEY=VALUE, such as cwnd=100"
        raise ExperimentError("not a parameter", key="--parameter", value=text, right=right) from None


def _evaluated(
    suite: Any, controller: "Controller", against: Sequence[str], budget: Any, full: bool, jobs: int | None
) -> "Evaluation":
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from dumbbell.engines.base import permitted
    from dumbbell.evaluation.referee import evaluate as run

    columns = (
        TextColumn("{task.description}", markup=False), TextColumn("{task.completed} runs"), BarColumn(),
        TimeElapsedColumn(),
    )  # fmt: skip
    began = _cpu_s()
    try:
        with Progress(
            *columns, console=unwrapped_err, transient=True, disable=not unwrapped_err.is_terminal
        ) as progress:
            bar = progress.add_task(controller.name, total=None)
            found = run(
                suite, controller, against, budget, full=full, jobs=jobs,
                allowed=permitted(kernels=[controller.kernel]),
                advance=lambda finished, _: progress.update(bar, completed=finished),
            )  # fmt: skip
    except KeyboardInterrupt:
        raise Interrupted from None
    used = f"{found.runs} runs in {found.wall_s:.0f} s ({_cpu_s() - began:.0f} s of processor time)"
    unwrapped_err.print(f"{controller.name}: {used}; repeat with --max-runs {found.runs}")
    return found


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _show(done: Sequence["Evaluation"]) -> None:
    """A table with a row for each criterion; a column of verdicts and of medians for each controller."""
    names = [each.controller.name for each in done]
    table = grid(
        ["section", "criterion", "limit"], [f"{name}{more}" for name in names for more in ("", " median", " seeds")]
    )
    first = done[0]
    missing = []
    for section in first.suite.sections:
        rows = [at for at, each in enumerate(first.findings) if each.criterion.section == section.number]
        if not rows:
            missing.append(
                f"not tested: {section.number} {section.title}: {section.not_tested or 'left out by --only'}"
            )
        for at in rows:
            finding = first.findings[at]
            cells = [cell for each in done for cell in _cells(each.findings[at])]
            limit = f"{finding.criterion.limit.text()} {finding.criterion.unit}".strip()
            table.add_row(section.number if at == rows[0] else "", finding.name, limit, *cells)
    out.print(table)
    for line in missing:
        unwrapped_out.print(line)
    for each in done:
        out.print(_counts(each))


def _cells(finding: "Finding") -> tuple[str, str, str]:
    return finding.judged.verdict.value, shown_number(finding.judged.median), str(len(finding.values))


def shown_number(value: float | None) -> str:
    """A number with few digits; empty if it is not known."""
    return "" if value is None else "0" if value == 0 else digits(value)


def _counts(each: "Evaluation") -> str:
    verdicts = [finding.judged.verdict.value for finding in each.findings]
    counted = ", ".join(f"{verdicts.count(word)} {word}" for word in ("pass", "fail", "not known") if word in verdicts)
    return f"{each.controller.name}: {counted}; {each.runs} runs in {each.wall_s:.0f} s"


def _as_json(done: Sequence["Evaluation"]) -> dict[str, Any]:
    return {"evaluations": [_evaluation_json(each) for each in done]}


def _evaluation_json(each: "Evaluation") -> dict[str, Any]:
    tested = {finding.criterion.section for finding in each.findings}
    return {
        "controller": each.controller.name,
        "parameters": dict(each.controller.parameters),
        "engine": each.controller.engine,
        "kernel": each.controller.kernel,
        "against": list(each.against),
        "runs": each.runs,
        "wall_s": each.wall_s,
        "ended": each.ended,
        "sections": [
            {
                "number": section.number, "title": section.title, "tested": section.number in tested,
                "not_tested": section.not_tested or None,
                "criteria": [_finding_json(f) for f in each.findings if f.criterion.section == section.number],
            }
            for section in each.suite.sections
        ],
    }  # fmt: skip


def _finding_json(finding: "Finding") -> dict[str, Any]:
    criterion, judged = finding.criterion, finding.judged
    return {
        "name": finding.name, "title": criterion.title, "metric": criterion.metric, "compared": criterion.compared,
        "rival": finding.rival, "limit": criterion.limit.text(), "unit": criterion.unit, "why": criterion.why,
        "verdict": judged.verdict.value, "median": judged.median,
        "interval": [end if math.isfinite(end) else None for end in (judged.low, judged.high)],
        "values": list(finding.values), "seeds": len(finding.values), "runs": finding.runs,
        "reason": finding.reason or None, "commands": list(finding.commands),
    }  # fmt: skip
