"""A result as tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from dumbbell.analysis.expect import FigureComparison, Outcome, Reader, compare_source_figures
from dumbbell.analysis.native import mean_of_known
from dumbbell.analysis.summary import EXTENT
from dumbbell.cli.console import Console, digits, grid, percent
from dumbbell.reports.markup import percents
from dumbbell.reports.sentences import repeats
from dumbbell.results.result import Run

if TYPE_CHECKING:
    from dumbbell.cli.runs import RunResults

__all__ = ["case_name", "show_cases", "show_run"]

MOST_FLOWS = 20
SEEN_COLUMNS = ["report", "this run", "ratio"]
REPEATED = (
    *(f"groups.*.{name}" for name in ("throughput_mbps", "share", "fct_s", "retransmits", "rtt_ms.mean")),
    *("queue.delay_ms.mean", "queue.loss_rate", "ping_ms.mean", "utilization", "jain"),
)
"""Metrics shown for several runs together; `--json` has all."""


def show_run(out: Console, run: Run, numbers: dict[str, Any]) -> None:
    """Print one run, the most important numbers first."""
    manifest = run.manifest
    out.print(manifest["title"] + (f": {manifest['case']}" if manifest.get("case") else ""), style="bold")
    out.print(_setting(manifest), style="dim")
    _show_invalid(out, manifest["invalid"])
    out.print()
    if "fetch" in numbers:
        _show_fetched(out, numbers)
    out.print(_flows(manifest, numbers, _windows_bytes(run, numbers)))
    if len(numbers["groups"]) > 1 and "fetch" not in numbers:
        out.print()
        out.print(_groups(numbers))
    out.print()
    for name, text in [*_default_limit(manifest), *_lines(numbers, manifest)]:
        out.print(Text.assemble((f"{name:<12}", "dim"), text))
    for program in manifest.get("programs", []):
        if not program.get("flow") or program["fault"]:
            out.print(Text.assemble((f"{program['name']:<11} ", "dim"), _program(program)))
    reader = Reader(run, numbers)
    _show_seen(out, run, reader)
    _show_expectations(out, reader.check(manifest.get("expect") or []))
    for warning in manifest["warnings"]:
        out.print(f"note: {warning}", style="yellow")
    out.print()
    out.print(f"{run.folder}", style="cyan", soft_wrap=True)


def _show_fetched(out: Console, numbers: Mapping[str, Any]) -> None:
    """The answer of `dumbbell fetch`: its sentences, then the ratios with their intervals."""
    for line in numbers["fetch"]["verdicts"]:
        out.print(line, style="bold", soft_wrap=True)
    table = grid(["time of", "divided by that of"], ["ratio", "from", "to"])
    for each in numbers["fetch"]["comparisons"]:
        if each.get("ratio") is not None:
            low, high = each.get("interval") or (None, None)
            table.add_row(each["first"], each["second"], digits(each["ratio"]), digits(low), digits(high))
    if table.row_count:
        out.print()
        out.print(table)
    out.print()


def _program(program: Mapping[str, Any]) -> str:
    """When a program ran and how it ended."""
    if program["fault"] or program["started_s"] is None:
        return "did not start"
    how = f"by signal {program['signal']}" if program["signal"] is not None else f"with status {program['status']}"
    how = "stopped" if program["stopped"] else f"ended {how}"
    return f"on {program['host']}, {program['started_s']:g} s to {program['ended_s'] or 0:.6g} s, {how}"


def show_cases(out: Console, done: "RunResults") -> None:
    """One row per case and group; columns without information are left out."""
    manifest = done.runs[0].manifest
    out.print(manifest["title"], style="bold")
    out.print(f"{len(done.runs)} runs on {done.engine}, {done.wall_s:.1f} s", style="dim")
    out.print()
    out.print(_cases(done))
    _show_by_parameter(out, done.runs)
    _show_repeated(out, done)
    _show_seen_cases(out, done)
    several_seeds = len({run.manifest.seed for run in done.runs}) > 1
    names = [_name_with_seed(run, several_seeds=several_seeds) for run in done.runs]
    invalid = [f"{name}: {text}" for name, run in zip(names, done.runs, strict=True) for text in run.manifest.invalid]
    _show_invalid(out, invalid)
    for name, run, outcomes in zip(names, done.runs, done.outcomes, strict=True):
        _show_expectations(out, outcomes, name if run.manifest.case or several_seeds else "")
    for warning in sorted({warning for run in done.runs for warning in run.manifest.warnings}):
        out.print(f"note: {warning}", style="yellow")
    out.print()
    out.print(f"{done.out}", style="cyan", soft_wrap=True)


def _cases(done: "RunResults") -> Table:
    several_seeds = len({numbers["seed"] for numbers in done.summaries}) > 1
    several_groups = any(len(numbers["groups"]) > 1 for numbers in done.summaries)
    sized = any("fct_s" in flow for numbers in done.summaries for flow in numbers["flows"])
    left = ["case"] + ["seed"] * several_seeds + ["group"] * several_groups
    right = ["Mbit/s"] + ["share"] * several_groups + ["seconds"] * sized
    table = grid(left, [*right, "retrans", "RTT ms", "queue ms", "ping ms", "util."])
    for run, numbers in zip(done.runs, done.summaries, strict=True):
        shares = _shares(numbers)
        name = Text(case_name(run), style="" if run.manifest.valid else "red")
        for position, (group, got) in enumerate(numbers["groups"].items()):
            first = position == 0
            flows = [flow for flow in numbers["flows"] if flow["group"] == group]
            shared = [_of(numbers["queue"], "delay_ms"), _of(numbers, "ping_ms")] if first else [None, None]
            table.add_row(
                name if first else "",
                *([str(numbers["seed"]) if first else ""] * several_seeds),
                *([group] * several_groups),
                digits(got["throughput_mbps"]),
                *([shares[position]] * several_groups),
                *([digits(mean_of_known([flow.get("fct_s") for flow in flows]))] * sized),
                str(sum(flow["retransmits"] or 0 for flow in flows)),
                digits(mean_of_known([flow["rtt_ms"]["mean"] for flow in flows])),
                *(digits(value) for value in shared),
                percent(numbers["utilization"]) if first else "",
            )
    return table


def case_name(run: Run) -> str:
    """The case's name, or the experiment's if it has none."""
    return str(run.manifest.case or run.manifest.name)


def _name_with_seed(run: Run, *, several_seeds: bool) -> str:
    return f"{case_name(run)}, seed {run.manifest['seed']}" if several_seeds else case_name(run)


def _show_invalid(out: Console, reasons: Sequence[str]) -> None:
    """Why runs are invalid; those that end with one advice as a list below it."""
    advised: dict[str, list[str]] = {}
    for reason in reasons:
        what, _, advice = reason.rpartition("; ")
        advised.setdefault(advice if what else "", []).append(what or reason)
    for advice, found in advised.items():
        if advice and len(found) > 1:
            out.print(f"INVALID, for {len(found)} reasons; {advice}:", style="bold red")
            for what in found:
                out.print(f"  {what}", style="red")
            continue
        for what in found:
            out.print(f"INVALID: {what}{f'; {advice}' if advice else ''}", style="bold red")


def _show_by_parameter(out: Console, runs: Sequence[Run]) -> None:
    """Means by the parameter in which the cases differ, if there is exactly one: one row per value."""
    from dumbbell.analysis.parameter import by_parameter, parameter_of, wide  # noqa: PLC0415 — needs polars

    if (found := parameter_of(runs)) is None:
        return
    heads, rows = wide(by_parameter(runs, found))
    table = grid([found.title], heads)
    for value, *means in rows:
        table.add_row(f"{value:g}", *map(digits, means))
    if rows:
        out.print()
        out.print(table)


def _show_repeated(out: Console, done: "RunResults") -> None:
    """Mean, min and max of the main metrics: a table per case with several seeds."""
    for repeated in done.repeated:
        rows = [(name, row) for name, row in repeated.metrics.items() if any(fnmatchcase(name, p) for p in REPEATED)]
        if not rows:
            continue
        left_out = f", {repeated.invalid} invalid left out" if repeated.invalid else ""
        partly = any(row["runs"] < repeated.runs for _, row in rows)
        table = grid([f"{repeated.name}, {repeated.runs} runs{left_out}"], [*EXTENT, *["runs"] * partly])
        for name, row in rows:
            table.add_row(name, *(digits(row[key]) for key in EXTENT), *[str(row["runs"])] * partly)
        out.print()
        out.print(table)


def _setting(manifest: Mapping[str, Any]) -> str:
    if manifest["engine"] == "import":
        formats = dict.fromkeys(file["format"] for file in (manifest.get("import") or {}).get("files", []))
        return f"imported ({', '.join(formats)}), {manifest['duration_s']:g} s"
    if manifest["engine"] == "fetch":
        return f"fetched, {len(manifest['flows'])} downloads in {manifest['duration_s']:.1f} s"
    kernel = manifest.get("kernel") or {}
    wall_s = manifest["wall_s"] or 0.0
    speed = manifest["duration_s"] / wall_s if wall_s else 0
    name, release = (str(kernel.get(key) or "") for key in ("name", "release"))
    # Also the name of a kernel with added files, or of the user's own choice.
    version = name.removeprefix("linux-") if release in name else " ".join(filter(None, (release, name)))
    engine = f"{manifest['engine']} {version}".strip()
    return f"{engine}, seed {manifest['seed']}, {manifest['duration_s']:g} s in {wall_s:.1f} s ({speed:.0f}× real time)"


def _windows_bytes(run: Run, numbers: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Mean and largest window in bytes of the flows whose window is not known in packets."""
    names = {flow["name"] for flow in numbers["flows"] if flow["cwnd_packets"]["mean"] is None}
    if run.manifest.engine != "import" or not names:
        return {}
    import polars as pl  # noqa: PLC0415 — only imported logs need it

    known = run.flows.filter(pl.col("cwnd_bytes").is_not_null() & pl.col("flow").is_in(list(names)))
    spread = known.group_by("flow").agg(
        pl.col("cwnd_bytes").mean().alias("mean"), pl.col("cwnd_bytes").max().alias("max")
    )
    return {row["flow"]: (row["mean"], float(row["max"])) for row in spread.iter_rows(named=True)}


def _bytes(number: float) -> str:
    """A size with its unit: `141 kB`, `6.51 MB`."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= factor:
            return f"{number / factor:.3g} {unit}"
    return f"{number:.0f} B"


def _flows(
    manifest: Mapping[str, Any], numbers: Mapping[str, Any], windows: Mapping[str, tuple[float, float]] | None = None
) -> Table:
    datagrams = {flow["name"] for flow in manifest["flows"] if flow.get("kind") == "udp"}
    sized = any("fct_s" in flow for flow in numbers["flows"])
    table = grid(
        ["flow", "cc"], ["Mbit/s", *(["seconds"] if sized else []), "retrans", "rate", "RTT ms", "p95", "cwnd", "max"]
    )
    for flow in numbers["flows"][:MOST_FLOWS]:
        table.add_row(
            flow["name"],
            flow["cc"] or ("udp" if flow["name"] in datagrams else ""),
            digits(flow["throughput_mbps"]),
            *([digits(flow.get("fct_s"))] if sized else []),
            "" if flow["retransmits"] is None else str(flow["retransmits"]),
            percent(flow["retransmit_rate"]),
            digits(flow["rtt_ms"]["mean"]),
            digits(flow["rtt_ms"]["p95"]),
            *(
                map(_bytes, windows[flow["name"]])
                if windows and flow["name"] in windows
                else (digits(flow["cwnd_packets"][key]) for key in ("mean", "max"))
            ),
        )
    if len(numbers["flows"]) > MOST_FLOWS:
        table.add_row(f"… and {len(numbers['flows']) - MOST_FLOWS} more", *[""] * (len(table.columns) - 1))
    return table


def _groups(numbers: Mapping[str, Any]) -> Table:
    table = grid(["group"], ["Mbit/s", "share"])
    for (name, group), share in zip(numbers["groups"].items(), _shares(numbers), strict=True):
        table.add_row(name, digits(group["throughput_mbps"]), share)
    return table


def _shares(numbers: Mapping[str, Any]) -> list[str]:
    """Each group's share in percent; rounded so that they add up."""
    texts = percents([group["share"] for group in numbers["groups"].values()], least_places=1)
    return ["" if text is None else f"{text}%" for text in texts]


def _lines(numbers: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    lines = []
    if (queue := numbers["queue"]) and queue["packets"]["mean"] is not None:
        marks = f", {queue['marks']} marks" if queue["marks"] else ""
        drops = "" if queue["drops"] is None else f", {queue['drops']} drops"
        lines.append(("queue", f"{_spread(queue['packets'])} packets{drops}{marks}"))
        if queue["delay_ms"] and queue["delay_ms"]["mean"] is not None:
            lines.append(("", f"{_spread(queue['delay_ms'])} ms"))
        if queue["loss_rate"] is not None:
            lines.append(("", f"loss rate {percent(queue['loss_rate'])}"))
    lines += _totals(manifest)
    if numbers["ping_ms"] and numbers["ping_ms"]["mean"] is not None:
        lines.append(("ping", f"{_spread(numbers['ping_ms'])} ms"))
    delay = numbers.get("one_way_delay_ms")
    if delay and delay["mean"] is not None:
        lines.append(("one way", f"{_spread(delay)} ms"))
    lines += [
        ("responses", f"{name}: {_spread(group['response_s'])} s")
        for name, group in numbers["groups"].items()
        if group.get("response_s") and group["response_s"]["mean"] is not None
    ]
    kinds = {flow["name"]: str(flow.get("kind") or "udp") for flow in manifest["flows"]}
    lines += [
        (kinds[flow["name"]].upper(), f"{flow['name']}: {flow['lost_datagrams']:,} lost{_jitter(flow['jitter_ms'])}")
        for flow in numbers["flows"][:MOST_FLOWS]
        if flow.get("lost_datagrams") is not None
    ]
    if shaken := list(_handshakes(manifest)):
        more = f" and {len(shaken) - MOST_FLOWS} more" if len(shaken) > MOST_FLOWS else ""
        lines.append(("handshake", f"{', '.join(shaken[:MOST_FLOWS])}{more}"))
    silent = [f"{flow['name']} {percent(flow['no_data_share'])}" for flow in numbers["flows"] if flow["no_data_share"]]
    if silent:
        more = f" and {len(silent) - MOST_FLOWS} more" if len(silent) > MOST_FLOWS else ""
        lines.append(("no data", f"in intervals of 1 s: {', '.join(silent[:MOST_FLOWS])}{more}"))
    if numbers["utilization"] is not None:
        lines.append(("utilization", percent(numbers["utilization"])))
    if numbers["jain"] is not None:
        lines.append(("Jain", f"{numbers['jain']:.3f}"))
    if text := repeats(numbers):
        lines.append(("cycle", f"{text} (strength {numbers['cycle']['strength']:.2f})"))
    return lines


def _handshakes(manifest: Mapping[str, Any]) -> Iterator[str]:
    """The time of each QUIC connection's handshake, where its qlog says it."""
    for flow in manifest["flows"]:
        if (seconds := (flow.get("seen") or {}).get("handshake_s")) is not None:
            yield f"{flow['name']} {seconds * 1e3:.3g} ms"


def _jitter(spread: Mapping[str, float | None]) -> str:
    return "" if spread["mean"] is None else f", jitter mean {digits(spread['mean'])}, max {digits(spread['max'])} ms"


def _totals(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Counters of queues that were sampled once: what they had counted by then, which is no number for any time."""
    found = []
    for queue in manifest["queues"]:
        known = {key: value for key, value in (queue.get("totals") or {}).items() if value is not None}
        if not known or queue.get("drops") is not None or queue.get("sent_packets") is not None:
            continue
        texts = [
            f"{value:,} {key.replace('sent_', '')}{' sent' if key.startswith('sent_') else ''}"
            for key, value in known.items()
        ]
        found.append(("totals", f"{queue['name']} {queue['kind']}: {', '.join(texts)}, until the log's last sample"))
    return found


def _show_seen(out: Console, run: Run, reader: Reader) -> None:
    """The source's values, this run's, and their ratio."""
    rows = [_seen_row(seen) for seen in compare_source_figures(run.manifest, reader)]
    _print_seen(out, grid(["reported by the source"], SEEN_COLUMNS), rows, run.manifest)


def _show_seen_cases(out: Console, done: "RunResults") -> None:
    """The source's values for each case; of several seeds the mean and the range."""
    found: dict[tuple[str, str, str], list[FigureComparison]] = {}
    for run, numbers in zip(done.runs, done.summaries, strict=True):
        for seen in compare_source_figures(run.manifest, Reader(run, numbers)):
            found.setdefault((seen.what, seen.metric, run.manifest.case or ""), []).append(seen)
    repeated = any(len(each) > 1 for each in found.values())
    cased = any(case for _, _, case in found)
    head = ["report", "mean", "range", "ratio"] if repeated else SEEN_COLUMNS
    rows = []
    for (what, _, case), each in found.items():
        here = [seen.here for seen in each if seen.here is not None]
        _, reported, measured, verdict = _seen_row(replace(each[0], here=mean_of_known(here)))
        extent = f"{_rounded(min(here))} to {_rounded(max(here))}" if here else ""
        rows.append((what, *([case] * cased), reported, measured, *([extent] * repeated), verdict))
    table = grid(["reported by the source", *(["case"] * cased)], head)
    _print_seen(out, table, rows, done.runs[0].manifest)


def _print_seen(out: Console, table: Table, rows: Sequence[Sequence[str]], manifest: Mapping[str, Any]) -> None:
    if rows:
        for row in rows:
            table.add_row(*row)
        out.print()
        out.print(table)
        out.print(f"source: {manifest['source']['title']}", style="dim")


def _seen_row(seen: FigureComparison) -> tuple[str, str, str, str]:
    return seen.what, seen.reported(_rounded), "none" if seen.problem else seen.measured(_rounded), seen.verdict()


def _rounded(number: float) -> str:
    """At most four significant digits, without trailing zeros."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def _show_expectations(out: Console, outcomes: Sequence[Outcome], case: str = "") -> None:
    for outcome in outcomes:
        style, word = ("green", "as expected") if outcome.passed else ("bold red", "NOT as expected")
        where = f"{case}: " if case else ""
        out.print(f"{word}: {where}{outcome.expression} (it is {_shown(outcome.value)})", style=style)


def _of(numbers: Mapping[str, Any] | None, key: str) -> float | None:
    return numbers[key]["mean"] if numbers and numbers[key] else None


def _shown(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return digits(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value or "none")


DEFAULT_QDISC, DEFAULT_LIMIT_PACKETS = "pfifo limit 1000", 1000
"""The queue of an experiment without `path.bottleneck.qdisc`; a test compares it with the language's."""
ETHERNET_BYTES = 14


def _default_limit(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How long packets may wait in the default queue: who names no queue may not expect its limit."""
    queue: Mapping[str, Any] = next(
        (queue for queue in manifest["queues"] if queue["name"] == manifest.get("bottleneck")), {}
    )
    path = (manifest.get("experiment") or {}).get("path") or {}
    rates = queue.get("rates") or []
    if queue.get("qdisc") != DEFAULT_QDISC or not rates or not isinstance(path.get("mtu"), int):
        return []
    rate_bps = rates[0][1]
    seconds = DEFAULT_LIMIT_PACKETS * (path["mtu"] + ETHERNET_BYTES) * 8 / rate_bps
    return [("limit", f"{DEFAULT_QDISC}, the default: up to {digits(seconds)} s at {rate_bps / 1e6:g} Mbit/s")]


def _spread(values: Mapping[str, float | None]) -> str:
    return (
        f"mean {digits(values['mean'])}, p50 {digits(values['p50'])}, "
        f"p95 {digits(values['p95'])}, max {digits(values['max'])}"
    )
