"""Sentences about who got what: shares, turns, fairness, convergence, completion."""

from collections.abc import Mapping
from typing import Any

from dumbbell.analysis.shares import percents
from dumbbell.report.words import jain_text, number, percent, sentence

__all__ = ["answers", "completion", "convergence", "cost_of_turns", "evenness", "goodput", "repeats", "turns"]

Numbers = Mapping[str, Any]

COST_RATIO = 2.0
"""How much a group's loss must differ over a cycle to be told."""
GROUPS_MAX = 6
"""A sentence with more of them is a table."""


def goodput(numbers: Numbers) -> str | None:
    """Each group's share of the goodput, the largest first."""
    order = _by_share(numbers)
    if len(order) == 1:
        name, group = order[0]
        return f"{name} got {number(group['throughput_mbps'])} Mbit/s."
    shares = percents([group["share"] for _, group in order])
    parts = [
        f"{name} took {share} % of the goodput ({number(group['throughput_mbps'])} Mbit/s)"
        for (name, group), share in list(zip(order, shares, strict=True))[:GROUPS_MAX]
    ]
    return sentence(*parts, capital=False)


def turns(numbers: Numbers) -> str | None:
    """What repeats in the rates of the two largest groups, and how sure that is."""
    cycle, text = numbers["cycle"], repeats(numbers)
    if cycle is None or text is None:
        return None
    sure = f"strength {cycle['strength']:.2f}, p {number(cycle['p_value'])}"
    if cycle["correlation"] is not None:
        sure += f", correlation {cycle['correlation']:.2f}"
    return f"{'T' if text.startswith('the ') else text[0]}{text[1:]} ({sure})."


def repeats(numbers: Numbers) -> str | None:
    """What repeats in the rates of the two largest groups; `analysis.alternation` decides whether they alternate."""
    cycle, order = numbers["cycle"], _by_share(numbers)
    if cycle is None or len(order) < 2:
        return None
    first, second = (name for name, _ in order[:2])
    period = f"a period of {number(cycle['period_s'])} s"
    if (rhythm := cycle["probe_rtt_s"]) is not None:
        period += f", as PROBE_RTT (every {number(rhythm)} s)"
    elif cycle["kind"] in ("alternating", "opposed"):
        period += f" (half a period: {number(cycle['half_period_s'])} s)"
    match cycle["kind"]:
        case "alternating":
            return f"{first} and {second} alternated with {period}"
        case "opposed":
            leads = percent(1 - cycle["second_leads"])
            return f"{first} and {second} moved against each other with {period}; {first} led {leads} of the time"
        case "together":
            return f"{first} and {second} rose and fell together with {period}"
    return f"the difference between {first} and {second} repeats with {period}; they don't alternate"


def cost_of_turns(numbers: Numbers) -> str | None:
    """Loss over the cycle, of groups whose largest is at least twice their least."""
    spans = numbers["cycle_loss"] or {}
    parts = [
        f"{name} lost between {percent(span['least'])} and {percent(span['most'])} of what it sent"
        for name, span in list(spans.items())[:GROUPS_MAX]
        if span["most"] > COST_RATIO * span["least"]
    ]
    return f"Over a cycle {'; '.join(parts)}." if parts else None


def evenness(numbers: Numbers) -> str | None:
    """Jain's index, of at least two flows."""
    if numbers["jain"] is None or len(numbers["flows"]) < 2:
        return None
    return f"Jain's index of the long-lived flows was {jain_text(numbers['jain'])}."


def convergence(numbers: Numbers) -> str | None:
    """How long the last flow took, where flows started at different times."""
    time_s = numbers["convergence_s"]
    if time_s is None or not numbers["starts_apart"]:
        return None
    return f"The last long-lived flow to start had most of its later rate after {number(time_s)} s."


def completion(numbers: Numbers) -> str | None:
    """Completion times of sized flows; where some were not done, how many were."""
    parts = []
    for name, times in list(numbers["completion"].items())[:GROUPS_MAX]:
        asked, done = times["asked"], times["done"]
        if asked == 1:
            parts.append(f"the transfer of {name} " + (f"took {number(times['mean'])} s" if done else "was not done"))
        elif done == 0:
            parts.append(f"none of the {number(asked)} transfers of {name} was done")
        else:
            count = f"the {number(asked)}" if done == asked else f"{number(done)} of {number(asked)}"
            parts.append(f"{count} transfers of {name} took {_times(times)}{'' if done == asked else ' (those done)'}")
    return sentence(*parts)


def answers(numbers: Numbers) -> str | None:
    """How long answers took to requests."""
    parts = [
        f"{number(times['answers'])} answers to {name} took {_times(times)}"
        if times["answers"]
        else f"no answer came to {name}"
        for name, times in list(numbers["answers"].items())[:GROUPS_MAX]
    ]
    return sentence(*parts)


def _times(times: Mapping[str, Any]) -> str:
    return f"{number(times['mean'])} s on average, {number(times['max'])} s at most"


def _by_share(numbers: Numbers) -> list[tuple[str, Mapping[str, Any]]]:
    known = [(name, group) for name, group in numbers["groups"].items() if group["share"] is not None]
    return sorted(known, key=lambda item: -item[1]["share"])
