"""Summary sentences made from numbers only: about flows, about sharing, about the path.

Each sentence is a function from the numbers (`dumbbell.analysis.findings`) to text, or to None if they are
insufficient. Thresholds are next to the functions. A sentence names no cause, and no number that is not an input.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.reports.markup import jain_text, listed, number, percent, percents, sentence, spread_text

__all__ = [
    "alternation",
    "answers",
    "completion",
    "convergence",
    "cost_of_alternation",
    "dips",
    "emptiness",
    "evenness",
    "fullness",
    "goodput",
    "link",
    "losses",
    "ping",
    "power",
    "queue",
    "repeats",
    "retransmits",
    "round_trips",
    "sawteeth",
    "sentences",
    "states",
]


Numbers = Mapping[str, Any]

GROUPS_MAX = 6
FLOWS_MAX = 4
"""Flows that a sentence names individually."""
PEAK_AT_LEAST = 10
"""Packets. Below that, one packet is a tenth of the window and every step resembles a cut."""
HIDDEN = " tcpi_delivery_rate does not show this: the socket keeps its last sample."
"""`tcpi_delivery_rate` takes no lower sample while the flow is application-limited (`tcp_rate_gen`)."""
STATE_AT_LEAST = 0.01
"""Share of a group's time; only the table lists rarer states."""


def retransmits(numbers: Numbers) -> str | None:
    """Segments that each group retransmitted, and their share of what it sent."""
    parts = []
    for name, group in list(numbers["groups"].items())[:GROUPS_MAX]:
        if group["retransmits"] == 0:
            parts.append(f"{name} retransmitted nothing")
        elif group["retransmits"] is not None and group["retransmit_rate"] is not None:
            parts.append(
                f"{name} retransmitted {number(group['retransmits'])} segments "
                f"({percent(group['retransmit_rate'])} of what it sent)"
            )
    return sentence(*parts, capital=False)


def dips(numbers: Numbers) -> str | None:
    """The cost of PROBE_RTT for each flow, as medians."""
    parts = []
    for flow in _few([flow for flow in numbers["flows"] if flow["dips"]]):
        dip = flow["dips"]
        apart = "" if dip["apart_s"] is None else f", {number(dip['apart_s'])} s apart"
        parts.append(
            f"{flow['name']} entered PROBE_RTT {_times(dip['count'])}{apart}: its delivery rate fell by "
            f"{percent(dip['depth'])}, from {number(dip['before_mbps'])} to {number(dip['lowest_mbps'])} Mbit/s, for "
            f"{number(dip['lasted_ms'], 'ms')}"
        )
    hidden = any(_hidden(flow["dips"]) for flow in numbers["flows"] if flow["dips"])
    return f"{'; '.join(parts)} (medians).{HIDDEN if hidden else ''}" if parts else None


def _hidden(dip: Mapping[str, Any]) -> bool:
    """Did `tcpi_delivery_rate` fall by less than half of that?"""
    return dip["reported_depth"] is not None and dip["reported_depth"] < dip["depth"] / 2


def sawteeth(numbers: Numbers) -> str | None:
    """Period and depth of each sawtooth window with a peak of at least ten packets."""
    known = [flow for flow in numbers["flows"] if flow["sawtooth"]]
    parts = [
        f"{flow['name']} reduced its window {_times(saw['count'])}, every {number(saw['period_s'])} s, "
        f"from {number(saw['peak_packets'])} to {number(saw['trough_packets'])} packets (by {percent(saw['depth'])})"
        for flow in _few([flow for flow in known if flow["sawtooth"]["peak_packets"] >= PEAK_AT_LEAST])
        for saw in [flow["sawtooth"]]
    ]
    return sentence(*parts, "medians", capital=False) if parts else None


def states(numbers: Numbers) -> str | None:
    """The share of time in each state, for groups with more than one lasting state."""
    parts = []
    for name, group in list(numbers["groups"].items())[:GROUPS_MAX]:
        shares = {phase: share for phase, share in (group["states"] or {}).items() if share >= STATE_AT_LEAST}
        if len(shares) > 1:
            texts = [f"{percent(share)} of the time in {phase}" for phase, share in shares.items()]
            parts.append(f"{name} spent {listed(texts)}")
    return sentence(*parts, capital=False)


def power(numbers: Numbers) -> str | None:
    """The flows with the highest and the lowest power (throughput ÷ RTT), if there are at least two."""
    known = [flow for flow in numbers["flows"] if flow["power_mbps_per_ms"] is not None]
    if len(known) < 2:
        return None
    best, worst = (choose(known, key=lambda flow: flow["power_mbps_per_ms"]) for choose in (max, min))
    if best["power_mbps_per_ms"] == worst["power_mbps_per_ms"]:
        return None
    most, least = (number(flow["power_mbps_per_ms"]) for flow in (best, worst))
    return (
        f"{best['name']} had the highest power (throughput ÷ mean RTT), {most} Mbit/s per ms; "
        f"{worst['name']} the lowest, {least} Mbit/s per ms."
    )


def _few(flows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """All flows, or the first of each group if there are more than `FLOWS_MAX`."""
    if len(flows) <= FLOWS_MAX:
        return flows
    firsts = {flow["group"]: flow for flow in reversed(flows)}
    return list(reversed(firsts.values()))[:FLOWS_MAX]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{number(count)} times"


EARLY = 0.1
"""Share of the run. A queue that was last empty before this is reported as never empty afterwards."""
FULL_AT_LEAST = 0.001
STANDING_AT_LEAST_MS = 1.0
"""Below this delay there is no standing queue."""


def link(numbers: Numbers) -> str | None:
    """Utilization."""
    used = numbers["utilization"]
    return None if used is None else f"Bottleneck utilization was {percent(used)}."


def emptiness(numbers: Numbers) -> str | None:
    """Whether the queue ever drained, and the delay of its standing part."""
    held = numbers["occupancy"]
    if held is None:
        return None
    empty, last_s = held["empty_share"], held["last_empty_s"]
    if empty == 0:
        drained = "the queue was never empty"
    elif last_s <= EARLY * numbers["duration_s"] and empty < 1:
        drained = f"after {number(last_s)} s the queue was never empty"
    else:
        drained = f"the queue was empty {percent(empty)} of the time"
    drained += f" ({number(held['samples'])} samples)"
    standing_ms = held["standing_ms"]
    if standing_ms is None or standing_ms < STANDING_AT_LEAST_MS:
        return sentence(drained)
    return sentence(drained, f"for 95 % of the time the queueing delay was at least {number(standing_ms, 'ms')}")


def fullness(numbers: Numbers) -> str | None:
    """The share of time at the queue's limit."""
    full = (numbers["occupancy"] or {}).get("full_share")
    if full is None:
        return None
    if full == 0:
        return "The queue was never full."
    return f"The queue was full {percent(full) + ' of the time' if full >= FULL_AT_LEAST else 'at times'}."


def queue(numbers: Numbers) -> str | None:
    """Mean backlog and queueing delay."""
    held = numbers["queue"]
    packets, delay = held["packets"]["mean"], held["delay_ms"]
    return sentence(
        "" if packets is None else f"the queue held {number(packets)} packets on average",
        "" if delay["mean"] is None else f"the queueing delay was {spread_text(delay, 'ms')}",
    )


def losses(numbers: Numbers) -> str | None:
    """Packets that the queue dropped and marked."""
    drops, marks = numbers["queue"]["drops"], numbers["queue"]["marks"]
    return sentence(
        "" if drops is None else f"the queue dropped {number(drops)} packets" if drops else "the queue dropped nothing",
        f"it ECN-marked {number(marks)} packets" if marks else "",
    )


def round_trips(numbers: Numbers) -> str | None:
    """Each group's mean RTT relative to the configured propagation RTT."""
    base = numbers["propagation_ms"]
    known = [(name, group) for name, group in numbers["groups"].items() if group["rtt_over_propagation"] is not None]
    if base is None or not known:
        return None
    parts = [
        f"{number(group['rtt_over_propagation'])} times that for {name} ({number(group['rtt_ms'], 'ms')})"
        for name, group in known[:GROUPS_MAX]
    ]
    return f"The path's propagation RTT is {number(base, 'ms')}; the mean RTT was {', '.join(parts)}."


def ping(numbers: Numbers) -> str | None:
    """Ping round-trip times."""
    times = numbers["ping_ms"]
    return None if times["mean"] is None else f"The ping RTT was {spread_text(times, 'ms')}."


COST_RATIO = 2.0
"""Minimum ratio of a group's largest to its smallest loss rate over a cycle for a sentence about it."""
"""Groups that a sentence names; the table has all."""


def goodput(numbers: Numbers) -> str | None:
    """Each group's share of the goodput, largest first."""
    order = _by_share(numbers)
    if len(order) == 1:
        name, group = order[0]
        return f"The throughput of {name} was {number(group['throughput_mbps'])} Mbit/s."
    shares = percents([group["share"] for _, group in order])
    parts = [
        f"{name} got {share} % of the goodput ({number(group['throughput_mbps'])} Mbit/s)"
        for (name, group), share in list(zip(order, shares, strict=True))[:GROUPS_MAX]
    ]
    return sentence(*parts, capital=False)


def alternation(numbers: Numbers) -> str | None:
    """The periodicity in the rates of the two largest groups, with its significance."""
    cycle, text = numbers["cycle"], repeats(numbers)
    if cycle is None or text is None:
        return None
    sure = f"strength {cycle['strength']:.2f}, p {number(cycle['p_value'])}"
    if cycle["correlation"] is not None:
        sure += f", correlation {cycle['correlation']:.2f}"
    return f"{'T' if text.startswith('the ') else text[0]}{text[1:]} ({sure})."


def repeats(numbers: Numbers) -> str | None:
    """The period in the rates of the two largest groups; `crates/metrics/src/cycle.rs` decides if they alternate."""
    cycle, order = numbers["cycle"], _by_share(numbers)
    if cycle is None or len(order) < 2:
        return None
    first, second = (name for name, _ in order[:2])
    period = f"a period of {number(cycle['period_s'])} s"
    if (rhythm := cycle["probe_rtt_s"]) is not None:
        period += f", the interval of PROBE_RTT ({number(rhythm)} s)"
    elif cycle["kind"] in ("alternating", "opposed"):
        period += f" (half a period: {number(cycle['half_period_s'])} s)"
    match cycle["kind"]:
        case "alternating":
            return f"{first} and {second} alternated with {period}"
        case "opposed":
            leads = percent(1 - cycle["second_leads"])
            return f"{first} and {second} moved in opposite directions with {period}; {first} led {leads} of the time"
        case "together":
            return f"{first} and {second} rose and fell together with {period}"
    return f"the rate difference between {first} and {second} repeats with {period}; they don't alternate"


def cost_of_alternation(numbers: Numbers) -> str | None:
    """Loss rates over a cycle, of groups whose largest is more than twice their smallest."""
    spans = numbers["cycle_loss"] or {}
    parts = [
        f"{name} lost between {percent(span['least'])} and {percent(span['most'])} of what it sent"
        for name, span in list(spans.items())[:GROUPS_MAX]
        if span["most"] > COST_RATIO * span["least"]
    ]
    return f"Over a cycle {'; '.join(parts)}." if parts else None


def evenness(numbers: Numbers) -> str | None:
    """Jain's fairness index, for at least two flows."""
    if numbers["jain"] is None or len(numbers["flows"]) < 2:
        return None
    return f"Jain's fairness index of the long-lived flows was {jain_text(numbers['jain'])}."


def convergence(numbers: Numbers) -> str | None:
    """Convergence time of the last flow, if flows started at different times."""
    time_s = numbers["convergence_s"]
    if time_s is None or not numbers["starts_apart"]:
        return None
    return f"The last long-lived flow to start converged to its later rate after {number(time_s)} s."


def completion(numbers: Numbers) -> str | None:
    """Completion times of sized flows, and how many completed."""
    parts = []
    for name, times in list(numbers["completion"].items())[:GROUPS_MAX]:
        started, done = times["asked"], times["done"]
        if started == 1:
            took = f"completed in {number(times['mean'])} s" if done else "did not complete"
            parts.append(f"the transfer of {name} {took}")
        elif done == 0:
            parts.append(f"none of the {number(started)} transfers of {name} completed")
        else:
            count = f"all {number(started)}" if done == started else f"{number(done)} of {number(started)}"
            parts.append(f"{count} transfers of {name} completed, in {_completion_times(times)}")
    return sentence(*parts)


def answers(numbers: Numbers) -> str | None:
    """Response times of requests."""
    parts = [
        f"{number(times['answers'])} responses to {name} took {_completion_times(times)}"
        if times["answers"]
        else f"{name} received no response"
        for name, times in list(numbers["answers"].items())[:GROUPS_MAX]
    ]
    return sentence(*parts)


def _completion_times(times: Mapping[str, Any]) -> str:
    return f"{number(times['mean'])} s on average, {number(times['max'])} s at most"


def _by_share(numbers: Numbers) -> list[tuple[str, Mapping[str, Any]]]:
    known = [(name, group) for name, group in numbers["groups"].items() if group["share"] is not None]
    return sorted(known, key=lambda item: -item[1]["share"])


ORDER = (
    goodput,
    alternation,
    cost_of_alternation,
    evenness,
    convergence,
    completion,
    answers,
    link,
    emptiness,
    fullness,
    queue,
    losses,
    round_trips,
    ping,
    retransmits,
    dips,
    sawteeth,
    states,
    power,
)


def sentences(numbers: Mapping[str, Any]) -> list[str]:
    """All sentences for these numbers."""
    return [text for sentence in ORDER if (text := sentence(numbers)) is not None]
