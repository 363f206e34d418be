"""The parts of a report about one run, each from the run, its numbers (`dumbbell.analysis.findings`), or both.

What was asked is `asked`, what happened in sentences is `sentences`.
"""

from collections.abc import Mapping
from typing import Any

from dumbbell.analysis import SPREAD, Reader, compare_seen
from dumbbell.analysis.shares import percents
from dumbbell.engine import requests
from dumbbell.report.asked import by_hand
from dumbbell.report.markup import Markup, details, element, join, table
from dumbbell.report.sentences import sentences
from dumbbell.report.words import UNKNOWN, jain_text, number, percent
from dumbbell.result import Run

__all__ = ["banner", "birth", "facts", "flows", "groups", "queue", "repeat", "repeat_command", "seen", "states"]


def banner(run: Run) -> Markup:
    """Whether to believe the run."""
    if not run.birth["valid"]:
        reasons = element("ul", *(element("li", reason) for reason in run.birth.get("invalid") or ["no reason given"]))
        return element("div", element("strong", "INVALID: don't use these numbers."), reasons, css="banner invalid")
    return element("div", element("strong", "Valid:"), " none of the run's checks failed.", css="banner")


def facts(run: Run, numbers: Mapping[str, Any]) -> Markup:
    """What happened in a few sentences, then what to know about it."""
    warnings = [element("li", warning) for warning in run.birth.get("warnings") or []]
    noted = element("div", element("strong", "Warnings"), element("ul", *warnings), css="banner warning")
    said = element("ul", *(element("li", sentence) for sentence in sentences(numbers)), css="facts")
    return join([element("h3", "What happened"), said, noted if warnings else ""])


def seen(run: Run, summary: Mapping[str, Any]) -> Markup:
    """What the experiment's source saw, this run's figures, and how they compare."""
    source = run.birth.get("source") or {}
    if not source:
        return Markup()
    where = [str(source[key]) for key in ("title", "url", "note") if source.get(key)]
    rows = [
        (each.what, each.reported(number), each.measured(number), each.verdict(), each.metric)
        for each in compare_seen(run.birth, Reader(run, summary))
    ]
    head = ("", "the source saw", "this run", "ratio", "metric")
    return join(
        [
            element("h3", "What the source saw"),
            element("p", " · ".join(where), css="quiet") if where else "",
            table(head, rows, css="text") if rows else "",
        ]
    )


def groups(numbers: Mapping[str, Any]) -> Markup:
    """A row for each group."""
    head = ("group", "throughput, Mbit/s", "share of goodput", "mean RTT, ms", "retransmits", "of sent")
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
    """The share of its time that each group's controllers spent in each state."""
    known = {name: group["states"] for name, group in numbers["groups"].items() if group["states"]}
    if not known:
        return Markup()
    names = list(dict.fromkeys(state for shares in known.values() for state in shares))
    rows = [(group, *(percent(shares[s]) if s in shares else "" for s in names)) for group, shares in known.items()]
    return join([element("h3", "States of the controllers, shares of the time"), table(("group", *names), rows)])


def flows(run: Run, summary: Mapping[str, Any]) -> Markup:
    """A row for each flow; the completion time where a flow has a size."""
    sized = any("fct_s" in flow for flow in summary["flows"])
    datagrams = {flow["name"] for flow in run.birth["flows"] if flow.get("kind") == "udp"}
    head = ["flow", "controller", "Mbit/s", "MB", *(["done in, s"] if sized else []), "retransmits", "of sent"]
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
        f"utilisation {percent(summary['utilisation'])}; Jain's index {jain_text(summary['jain'])}"
    )
    return join([element("h3", "Queue and ping"), table(("", *SPREAD), rows), element("p", counts, css="quiet")])


def repeat_command(run: Run) -> str:
    """The command that gives the same run again, as far as the birth certificate knows."""
    birth = run.birth
    if birth.get("command") or birth["seed"] is None:
        return str(birth.get("command") or "")
    return requests.repeat_command(str(birth.get("name")), str(birth["engine"]), birth["seed"], ())


def repeat(run: Run) -> Markup:
    """How to get the same numbers again, by Dumbbell and by hand."""
    script = by_hand(run)
    folded = details("By hand: the same as a script for any Linux box", element("pre", script))
    return join([element("h3", "Do it again"), element("pre", repeat_command(run)), folded if script else ""])


def birth(run: Run) -> Markup:
    """Which build, which dice, which machine."""
    record = run.birth
    kernel, agent, host, simulator = (record.get(key) or {} for key in ("kernel", "agent", "host", "simulator"))
    rows = [
        ("Dumbbell", record.get("dumbbell")),
        ("engine, seed", record["engine"] if record["seed"] is None else f"{record['engine']}, {record['seed']}"),
        (
            "experiment ran",
            f"{number(float(record['duration_s']))} s"
            + ("" if record.get("wall_s") is None else f", in {number(record['wall_s'])} s of wall time"),
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
    folded = details(
        "Which build, which dice, which machine", table(("", ""), [row for row in rows if row[1]], css="text")
    )
    return join([element("h3", "Birth certificate"), folded])
