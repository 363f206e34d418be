"""Sentences about shares, alternation, fairness, convergence and completion times."""

from collections.abc import Mapping
from typing import Any

from dumbbell.analysis.shares import percents
from dumbbell.reports.number_format import jain_text, number, percent, sentence

__all__ = [
    "alternation",
    "answers",
    "completion",
    "convergence",
    "cost_of_alternation",
    "evenness",
    "goodput",
    "repeats",
]

Numbers = Mapping[str, Any]

COST_RATIO = 2.0
"""Minimum ratio of a group's largest to its smallest loss rate over a cycle for a sentence about it."""
GROUPS_MAX = 6
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
    """The periodicity in the rates of the two largest groups; `analysis.alternation` decides whether they alternate."""
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
            parts.append(f"{count} transfers of {name} completed, in {_times(times)}")
    return sentence(*parts)


def answers(numbers: Numbers) -> str | None:
    """Response times of requests."""
    parts = [
        f"{number(times['answers'])} responses to {name} took {_times(times)}"
        if times["answers"]
        else f"{name} received no response"
        for name, times in list(numbers["answers"].items())[:GROUPS_MAX]
    ]
    return sentence(*parts)


def _times(times: Mapping[str, Any]) -> str:
    return f"{number(times['mean'])} s on average, {number(times['max'])} s at most"


def _by_share(numbers: Numbers) -> list[tuple[str, Mapping[str, Any]]]:
    known = [(name, group) for name, group in numbers["groups"].items() if group["share"] is not None]
    return sorted(known, key=lambda item: -item[1]["share"])
