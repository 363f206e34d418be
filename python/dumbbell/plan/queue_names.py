"""Names of queues: `bottleneck`, a link's name, `path-netem`, `bottleneck-shaper`, `tc-1`.

In 0.1.0 they had dots (`path.netem`), which separate the keys of a metric; a person may still write them so.
"""

import re

__all__ = ["today"]

_DOTS = ((re.compile(r"(^|(?<=queues\.))tc\."), "tc-"), (re.compile(r"\.(netem|shaper)\b"), r"-\1"))


def today(text: str) -> str:
    """A queue's name, or a metric's or a pattern that has one, with today's spelling.

    >>> today("queues.path.netem.drops")
    'queues.path-netem.drops'
    >>> today("tc.10")
    'tc-10'
    """
    for dotted, dashed in _DOTS:
        text = dotted.sub(dashed, text)
    return text
