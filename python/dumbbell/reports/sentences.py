"""Summary sentences made from numbers only; `ORDER` is their order.

Each sentence is a function from the numbers (`dumbbell.analysis.findings`) to text, or to None if they are
insufficient. Thresholds are next to the functions. A sentence names no cause, and no number that is not an input.

```text
sharing_sentences  shares, alternation, fairness, completion
path_sentences     link, queue, pings, round trips
flow_sentences     retransmissions, dips, sawteeth, states
```
"""

from collections.abc import Mapping
from typing import Any

from dumbbell.reports import flow_sentences, path_sentences, sharing_sentences

__all__ = ["sentences"]

ORDER = (
    sharing_sentences.goodput,
    sharing_sentences.alternation,
    sharing_sentences.cost_of_alternation,
    sharing_sentences.evenness,
    sharing_sentences.convergence,
    sharing_sentences.completion,
    sharing_sentences.answers,
    path_sentences.link,
    path_sentences.emptiness,
    path_sentences.fullness,
    path_sentences.queue,
    path_sentences.losses,
    path_sentences.round_trips,
    path_sentences.ping,
    flow_sentences.retransmits,
    flow_sentences.dips,
    flow_sentences.sawteeth,
    flow_sentences.states,
    flow_sentences.power,
)


def sentences(numbers: Mapping[str, Any]) -> list[str]:
    """All sentences for these numbers."""
    return [text for sentence in ORDER if (text := sentence(numbers)) is not None]
