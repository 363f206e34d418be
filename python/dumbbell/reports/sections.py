"""Sections of a page: of one run its numbers in sentences and figures; of several runs their overview.

`page` folds each run's own report below the overview. `experiment_section` writes the experiment, `sentences` the
summary.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.analysis.expect import Reader, compare_source_figures
from dumbbell.analysis.native import SPREAD
from dumbbell.analysis.parameter import by_parameter, parameter_of, wide
from dumbbell.analysis.summary import measures
from dumbbell.engines import base
from dumbbell.plots import available, draw
from dumbbell.plots.case_dots import dot_rows
from dumbbell.plots.run_figures import labels, natural
from dumbbell.reports.across import across
from dumbbell.reports.experiment_section import by_hand
from dumbbell.reports.markup import UNKNOWN, Markup, details, element, jain_text, join, number, percent, percents, table
from dumbbell.reports.page_frame import Figures
from dumbbell.reports.sentences import sentences
from dumbbell.results.result import Run

__all__ = [
    "banner",
    "contents",
    "facts",
    "fetched",
    "flows",
    "groups",
    "in_order",
    "manifest",
    "names_of",
    "queue",
    "repeat",
    "repeat_command",
    "seen",
    "states",
    "title_of",
    "title_of_all",
]


OVERLAID = ("delivered", "rtt", "queue")
OVERLAID_MAX = 8
"""Runs on one axis: the number of hues."""
POINTS = 600
APART = 5
"""Ratio of the longest to the shortest run, as of downloads, from which a common time axis is folded."""


def contents(pairs: Sequence[tuple[Run, dict[str, Any]]], figures: Figures) -> Markup:
    """The complete overview; adds its figures to `figures`."""
    runs = [run for run, _ in pairs]
    return join([
        element("p", _subject(runs), css="quiet"),
        _answer(runs),
        _banner(runs),
        *_by_case(runs, figures),
        _completion(pairs),
        _seen_by_case(pairs),
        element("h2", "Runs"),
        _table(pairs),
        _measures(runs),
        *_overlays(runs, figures),
    ])  # fmt: skip


def _answer(runs: Sequence[Run]) -> Markup:
    """What the runs say together, before everything else."""
    texts = across(runs, names_of(runs))
    return element("ul", *(element("li", text) for text in texts), css="facts answer") if texts else Markup()


def in_order(runs: Sequence[Run]) -> list[Run]:
    """Cases of one experiment in the order of its file; other runs in the given order.

    An older result does not say its case's place: then in natural order (5 % before 10 %).
    """
    if len({run.manifest.name for run in runs}) > 1 or not all(run.manifest.case for run in runs):
        return list(runs)
    places = [run.manifest.get("case_number") for run in runs]
    if None in places:
        return sorted(runs, key=lambda run: natural(str(run.manifest["case"])))
    return sorted(runs, key=lambda run: int(run.manifest["case_number"]))


def title_of_all(runs: Sequence[Run]) -> str:
    """The runs' common title, and their number."""
    titles = {str(run.manifest.title or run.manifest.name) for run in runs}
    return f"{titles.pop()}: {len(runs)} runs" if len(titles) == 1 else f"{len(runs)} runs"


def title_of(run: Run) -> str:
    """A run's title on a page: its title, and its case if it has one."""
    title = str(run.manifest.title or run.manifest.name or run.folder.name)
    return f"{title}: {run.manifest['case']}" if run.manifest.case else title


def _subject(runs: Sequence[Run]) -> str:
    engines = dict.fromkeys(str(run.manifest.engine) for run in runs)
    seeds = dict.fromkeys(str(run.manifest.seed) for run in runs if run.manifest.seed is not None)
    return f"engine {' and '.join(engines)}" + (f", seed {', '.join(seeds)}" if seeds else "")


def _banner(runs: Sequence[Run]) -> Markup:
    """Whether all runs are valid."""
    names = [name for name, run in zip(names_of(runs), runs, strict=True) if not run.manifest.valid]
    if not names:
        return element("div", element("strong", "Valid:"), " no check of any run failed.", css="banner")
    listed = element("ul", *(element("li", name) for name in names))
    strong = element("strong", f"INVALID: don't use the numbers of {len(names)} of {len(runs)} runs.")
    return element("div", strong, listed, css="banner invalid")


def _completion(pairs: Sequence[tuple[Run, dict[str, Any]]]) -> Markup:
    """Completion times by run and group; empty without sized transfers."""
    rows = [
        (
            name, group, f"{times['done']} of {times['asked']}", number(times["mean"]), number(times["max"]),
            number(numbers["groups"][group]["throughput_mbps"]), number(numbers["groups"][group]["retransmits"]),
        )
        for name, (_, numbers) in zip(names_of([run for run, _ in pairs]), pairs, strict=True)
        for group, times in numbers["completion"].items()
    ]  # fmt: skip
    if not rows:
        return Markup()
    head = ("run", "group", "transfers completed", "mean, s", "max, s", "Mbit/s", "retransmits")
    if parameter_of([run for run, _ in pairs]) is not None:
        return details("Completion times of each run", table(head, rows))  # The table above has their means.
    return join([element("h2", "Completion times"), table(head, rows)])


def _table(pairs: Sequence[tuple[Run, dict[str, Any]]]) -> Markup:
    """A row for each run. Shares and Jain's index get a column if any run has them."""
    shared = any(len(numbers["groups"]) > 1 for _, numbers in pairs)
    fair = any(numbers["jain"] is not None for _, numbers in pairs)
    head = ["run", "engine", "seed", "valid", *(["shares"] if shared else []), "queueing delay, ms", "ping, ms"]
    rows = [
        [
            name,
            numbers["engine"],
            "" if numbers["seed"] is None else numbers["seed"],
            "yes" if numbers["valid"] else element("strong", "INVALID"),
            *([_shares(numbers)] if shared else []),
            number(numbers["queue"]["delay_ms"]["mean"]),
            number(numbers["ping_ms"]["mean"]),
            percent(numbers["utilization"]),
            *([jain_text(numbers["jain"])] if fair else []),
        ]
        for name, (_, numbers) in zip(names_of([run for run, _ in pairs]), pairs, strict=True)
    ]
    return table([*head, "utilization", *(["Jain"] if fair else [])], rows)


def _shares(numbers: dict[str, Any]) -> str:
    """Each group with its share, rounded so that shares add up to 100 %."""
    texts = percents([group["share"] for group in numbers["groups"].values()])
    named = zip(numbers["groups"], texts, strict=True)
    return ", ".join(f"{name} {UNKNOWN if text is None else f'{text} %'}" for name, text in named)


def _seen_by_case(pairs: Sequence[tuple[Run, dict[str, Any]]]) -> Markup:
    """The figures that the source reports, next to those of the runs; each case with its own."""
    rows = []
    for name, (run, numbers) in zip(names_of([run for run, _ in pairs]), pairs, strict=True):
        rows += [
            (each.what, name, each.reported(number), each.measured(number), each.verdict(), each.metric)
            for each in compare_source_figures(run.manifest, Reader(run, numbers))
        ]
    if not rows:
        return Markup()
    sources = dict.fromkeys(_where(run.manifest.source or {}) for run, _ in pairs)
    return join([
        element("h2", "Comparison with the source"),
        *(element("p", text, css="quiet") for text in sources if text),
        table(("", "run", "source", "this run", "ratio", "metric"), rows, css="text"),
    ])  # fmt: skip


def _where(source: Mapping[str, Any]) -> str:
    return " · ".join(str(source[key]) for key in ("title", "url", "note") if source.get(key))


def _by_case(runs: Sequence[Run], figures: Figures) -> list[Markup]:
    """The figure that answers: over the one number in which the cases differ, with its table, or a row per case."""
    if (found := parameter_of(runs)) is None:
        several = len({(run.manifest.name, run.manifest.case) for run in runs}) > 1
        shown = several and not dot_rows(runs)[0].is_empty()
        return [element("h2", "By case"), figures.box(draw(runs, "cases"))] if shown else []
    heads, rows = wide(by_parameter(runs, found))
    if not rows:
        return []
    cells = [(f"{value:g}", *map(number, means)) for value, *means in rows]
    return [
        element("h2", f"By {found.name}"),
        figures.box(draw(runs, "cases")),
        table((found.title, *heads), cells),
    ]


def _measures(runs: Sequence[Run]) -> Markup:
    """All metrics of groups and path, with a column for each run."""
    columns = [measures(run) for run in runs]
    names = dict.fromkeys(name for column in columns for name in column if not name.startswith("flows."))
    rows = [(name, *(number(column.get(name)) for column in columns)) for name in names]
    return details("All metrics of groups and path", table(("", *names_of(runs)), rows))


def _overlays(runs: Sequence[Run], figures: Figures) -> list[Markup]:
    if len(runs) > OVERLAID_MAX:
        return [element("p", f"{len(runs)} runs exceed the {OVERLAID_MAX} that fit on one axis.", css="quiet")]
    found = []
    for name in OVERLAID:
        if all(available(run, (name,)) for run in runs):
            found.append(figures.box(draw(runs, name, points=POINTS)))
    lengths = [float(run.manifest.duration_s) for run in runs]
    if found and max(lengths) > APART * min(lengths):
        # The longest run leaves the others no width; the answer above does not need this figure.
        return [details("All runs on one time axis", *found)]
    return [element("h3", "All runs on one time axis"), *found] if found else []


def names_of(runs: Sequence[Run]) -> list[str]:
    """A name for each run that distinguishes it from the others."""
    return [name or title_of(run) for name, run in zip(labels(runs), runs, strict=True)]


def banner(run: Run) -> Markup:
    """Whether the run is valid."""
    if not run.manifest.valid:
        reasons = element("ul", *(element("li", reason) for reason in run.manifest.invalid or ["no reason given"]))
        return element("div", element("strong", "INVALID: don't use these numbers."), reasons, css="banner invalid")
    return element("div", element("strong", "Valid:"), " none of the run's checks failed.", css="banner")


def fetched(run: Run, numbers: Mapping[str, Any], figures: Figures) -> Markup:
    """The answer of `dumbbell fetch`: its sentences, the ratios with their intervals, its figure; empty for others."""
    if "fetch" not in numbers:
        return Markup()
    verdicts = element("ul", *(element("li", line) for line in numbers["fetch"]["verdicts"]), css="facts")
    rows = [
        (
            f"{each['first']} ÷ {each['second']}",
            number(each["ratio"]),
            *map(number, each.get("interval") or (None,) * 2),
        )
        for each in numbers["fetch"]["comparisons"]
        if each.get("ratio") is not None
    ]
    ratios = table(("ratio of times", "median", "from", "to"), rows) if rows else ""
    return join([element("h3", "Downloads"), verdicts, ratios, figures.box(draw([run], "downloads"))])


def facts(run: Run, numbers: Mapping[str, Any]) -> Markup:
    """Summary sentences, then warnings."""
    warnings = [element("li", warning) for warning in run.manifest.warnings or []]
    noted = element("div", element("strong", "Warnings"), element("ul", *warnings), css="banner warning")
    found = [element("li", sentence) for sentence in sentences(numbers)]
    summary_list = [element("h3", "Summary"), element("ul", *found, css="facts")] if found else []
    return join([*summary_list, noted if warnings else ""])


def seen(run: Run, summary: Mapping[str, Any]) -> Markup:
    """The figures that the experiment's source reports, next to this run's."""
    source = run.manifest.get("source") or {}
    if not source:
        return Markup()
    where = _where(source)
    rows = [
        (each.what, each.reported(number), each.measured(number), each.verdict(), each.metric)
        for each in compare_source_figures(run.manifest, Reader(run, summary))
    ]
    head = ("", "source", "this run", "ratio", "metric")
    return join(
        [
            element("h3", "Comparison with the source"),
            element("p", where, css="quiet") if where else "",
            table(head, rows, css="text") if rows else "",
        ]
    )


def groups(numbers: Mapping[str, Any]) -> Markup:
    """A row for each group."""
    # Sequential downloads have no shares.
    shared = any(group["share"] is not None for group in numbers["groups"].values())
    share_head = ("share of goodput",) if shared else ()
    head = ("group", "throughput, Mbit/s", *share_head, "mean RTT, ms", "retransmits", "retransmit rate")
    shares = percents([group["share"] for group in numbers["groups"].values()])
    rows = [
        (
            name,
            number(group["throughput_mbps"]),
            *([UNKNOWN if share is None else f"{share} %"] if shared else []),
            number(group["rtt_ms"]),
            number(group["retransmits"]),
            percent(group["retransmit_rate"]),
        )
        for (name, group), share in zip(numbers["groups"].items(), shares, strict=True)
    ]
    return join([element("h3", "Groups"), table(head, rows)])


def states(numbers: Mapping[str, Any]) -> Markup:
    """The share of time that each group's controllers spent in each state."""
    known = {name: group["states"] for name, group in numbers["groups"].items() if group["states"]}
    if not known:
        return Markup()
    names = list(dict.fromkeys(state for shares in known.values() for state in shares))
    rows = [(group, *(percent(shares[s]) if s in shares else "" for s in names)) for group, shares in known.items()]
    return join([element("h3", "Controller states, share of time"), table(("group", *names), rows)])


def flows(run: Run, summary: Mapping[str, Any]) -> Markup:
    """A row for each flow, with its completion time if it has a size."""
    sized = any("fct_s" in flow for flow in summary["flows"])
    datagrams = {flow.name for flow in run.manifest.flows if flow.kind == "udp"}
    head = [
        "flow",
        "controller",
        "Mbit/s",
        "MB",
        *(["completion time, s"] if sized else []),
        "retransmits",
        "retransmit rate",
    ]
    head += [f"{name} {what}" for what in ("RTT, ms", "cwnd, packets") for name in SPREAD]
    rows = [
        [
            flow["name"],
            flow["cc"] or ("UDP" if flow["name"] in datagrams else ""),
            number(flow["throughput_mbps"]),
            number(None if flow["bytes"] is None else flow["bytes"] / 1e6),
            *([number(flow.get("fct_s"))] if sized else []),
            number(flow["retransmits"]),
            percent(flow["retransmit_rate"]),
            *(number(flow[what][name]) for what in ("rtt_ms", "cwnd_packets") for name in SPREAD),
        ]
        for flow in summary["flows"]
    ]
    return join([element("h3", "Flows"), table(head, rows)])


def queue(summary: Mapping[str, Any]) -> Markup:
    """The bottleneck's queue and the ping; nothing for a log that has neither."""
    held, ping = summary["queue"], summary["ping_ms"]
    known = (held["packets"]["mean"], held["delay_ms"]["mean"], ping["mean"], held["drops"], summary["utilization"])
    if all(number is None for number in known):
        return Markup()
    rows = [
        ("queue, packets", *(number(held["packets"][name]) for name in SPREAD)),
        ("queueing delay, ms", *(number(held["delay_ms"][name]) for name in SPREAD)),
        ("ping, ms", *(number(ping[name]) for name in SPREAD)),
    ]
    counts = (
        f"{number(held['drops'])} packets dropped, {number(held['marks'])} marked; "
        f"utilization {percent(summary['utilization'])}; Jain's index {jain_text(summary['jain'])}"
    )
    return join([element("h3", "Queue and ping"), table(("", *SPREAD), rows), element("p", counts, css="quiet")])


def repeat_command(run: Run) -> str:
    """The command that repeats this run, if the manifest has one."""
    manifest = run.manifest
    if manifest.get("command") or manifest["seed"] is None:
        return str(manifest.get("command") or "")
    return base.repeat_command(str(manifest.get("name")), str(manifest["engine"]), manifest["seed"], ())


def repeat(run: Run) -> Markup:
    """How to reproduce the numbers, with Dumbbell and with a shell script."""
    script = by_hand(run)
    folded = details("Without Dumbbell: a shell script for any Linux host", element("pre", script))
    return join([element("h3", "Reproduce"), element("pre", repeat_command(run)), folded if script else ""])


def manifest(run: Run) -> Markup:
    """The manifest's build, seed and host."""
    record = run.manifest
    kernel, agent, host, simulator = (record.get(key) or {} for key in ("kernel", "agent", "host", "simulator"))
    rows = [
        ("Dumbbell", record.get("dumbbell")),
        ("engine, seed", record["engine"] if record["seed"] is None else f"{record['engine']}, {record['seed']}"),
        (
            "duration",
            f"{number(float(record['duration_s']))} s"
            + ("" if record.get("wall_s") is None else f", wall-clock time {number(record['wall_s'])} s"),
        ),
        ("kernel", " ".join(str(kernel[key]) for key in ("name", "release", "version") if kernel.get(key))),
        ("simulator", " ".join(str(simulator[key]) for key in ("version", "sha256") if simulator.get(key))),
        ("kernel configuration", kernel.get("config_sha256")),
        ("kernel binary", kernel.get("binary_sha256")),
        ("agent", " ".join(str(agent[key]) for key in ("version", "sha256") if agent.get(key))),
        ("host", ", ".join(f"{key} {value}" for key, value in host.items()) if isinstance(host, Mapping) else host),
        ("result folder", run.folder),
        ("traffic", record.get("generator")),
    ]
    folded = details("Build, seed and host", table(("", ""), [row for row in rows if row[1]], css="text"))
    return join([element("h3", "Manifest"), folded])
