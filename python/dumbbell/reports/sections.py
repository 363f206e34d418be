"""Sections of a report about one run, made from the run, its numbers (`dumbbell.analysis.findings`), or both.

`experiment_section` writes the experiment, `sentences` the summary.
"""

from collections.abc import Mapping
from typing import Any

from dumbbell.analysis.expect import Reader
from dumbbell.analysis.shares import percents
from dumbbell.analysis.source_figures import compare_source_figures
from dumbbell.analysis.spread import SPREAD
from dumbbell.engines import requests
from dumbbell.reports.experiment_section import by_hand
from dumbbell.reports.markup import Markup, details, element, join, table
from dumbbell.reports.number_format import UNKNOWN, jain_text, number, percent
from dumbbell.reports.sentences import sentences
from dumbbell.results.result import Run

__all__ = ["banner", "facts", "flows", "groups", "manifest", "queue", "repeat", "repeat_command", "seen", "states"]


def banner(run: Run) -> Markup:
    """Whether the run is valid."""
    if not run.manifest["valid"]:
        reasons = element(
            "ul", *(element("li", reason) for reason in run.manifest.get("invalid") or ["no reason given"])
        )
        return element("div", element("strong", "INVALID: don't use these numbers."), reasons, css="banner invalid")
    return element("div", element("strong", "Valid:"), " none of the run's checks failed.", css="banner")


def facts(run: Run, numbers: Mapping[str, Any]) -> Markup:
    """Summary sentences, then warnings."""
    warnings = [element("li", warning) for warning in run.manifest.get("warnings") or []]
    noted = element("div", element("strong", "Warnings"), element("ul", *warnings), css="banner warning")
    summary_list = element("ul", *(element("li", sentence) for sentence in sentences(numbers)), css="facts")
    return join([element("h3", "Summary"), summary_list, noted if warnings else ""])


def seen(run: Run, summary: Mapping[str, Any]) -> Markup:
    """The figures that the experiment's source reports, next to this run's."""
    source = run.manifest.get("source") or {}
    if not source:
        return Markup()
    where = [str(source[key]) for key in ("title", "url", "note") if source.get(key)]
    rows = [
        (each.what, each.reported(number), each.measured(number), each.verdict(), each.metric)
        for each in compare_source_figures(run.manifest, Reader(run, summary))
    ]
    head = ("", "source", "this run", "ratio", "metric")
    return join(
        [
            element("h3", "Comparison with the source"),
            element("p", " · ".join(where), css="quiet") if where else "",
            table(head, rows, css="text") if rows else "",
        ]
    )


def groups(numbers: Mapping[str, Any]) -> Markup:
    """A row for each group."""
    head = ("group", "throughput, Mbit/s", "share of goodput", "mean RTT, ms", "retransmits", "retransmit rate")
    shares = percents([group["share"] for group in numbers["groups"].values()])
    rows = [
        (
            name,
            number(group["throughput_mbps"]),
            UNKNOWN if share is None else f"{share} %",
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
    datagrams = {flow["name"] for flow in run.manifest["flows"] if flow.get("kind") == "udp"}
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
    """The bottleneck's queue and the ping."""
    held, ping = summary["queue"], summary["ping_ms"]
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
    return requests.repeat_command(str(manifest.get("name")), str(manifest["engine"]), manifest["seed"], ())


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
