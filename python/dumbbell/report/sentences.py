"""What happened, in sentences made from numbers only: `sentences` is their order.

Every sentence is a function from the numbers (`dumbbell.analysis.findings`) to a text, or to None where they don't
say enough; the thresholds stand beside the functions. They name no cause, and no number that is not in the numbers.

```text
sharing    who got what: shares, turns, fairness, completion
pathwords  the link, the queue, pings and round trips
flowwords  what controllers did: retransmissions, dips, sawteeth, states
```
"""

from collections.abc import Mapping
from typing import Any

from dumbbell.report import flowwords, pathwords, sharing

__all__ = ["sentences"]

ORDER = (
    sharing.goodput,
    sharing.turns,
    sharing.cost_of_turns,
    sharing.evenness,
    sharing.convergence,
    sharing.completion,
    sharing.answers,
    pathwords.link,
    pathwords.emptiness,
    pathwords.fullness,
    pathwords.queue,
    pathwords.losses,
    pathwords.round_trips,
    pathwords.ping,
    flowwords.retransmits,
    flowwords.dips,
    flowwords.sawteeth,
    flowwords.states,
    flowwords.power,
)


def sentences(numbers: Mapping[str, Any]) -> list[str]:
    """Every sentence that these numbers make."""
    return [text for said in ORDER if (text := said(numbers)) is not None]
