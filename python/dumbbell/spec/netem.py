"""The grammar of what netem does to packets: loss, jitter, reordering, duplication, corruption.

Each value is checked by the discipline's own grammar and kept as written, so that what tc is
told is what the file says. Source: tc-netem(8).
"""

from dumbbell.spec.qdisc import GRAMMAR, check_options
from dumbbell.spec.units import Wrong

__all__ = ["netem_words"]

BEHIND = {"slot": ("packets", "bytes")}
"""Options that belong to another."""


def netem_words(option: str, value: object) -> str:
    """The words that follow `option`, checked; raises `Wrong`.

    >>> netem_words("loss", "gemodel 1% 10%")
    'gemodel 1% 10%'
    """
    examples = {
        "loss": "what netem takes after 'loss': '1%', 'random 1% 25%', 'gemodel 1% 10%', 'state 1% 20%'; "
        "or, on the simulator only, 'every 1000'",
        "distribution": "uniform, normal, pareto or paretonormal",
        "reorder": "such as '25% 50%'; it needs a delay",
        "duplicate": "such as '1%'",
        "corrupt": "such as '0.1%'",
        "slot": "such as '4ms', '2ms 6ms' or '4ms packets 32'",
    }
    if not isinstance(value, str) or not value.split() or not value.isascii() or not value.isprintable():
        raise Wrong(f"not a setting for netem's {option}", examples[option])
    words = value.split()
    if option == "loss" and words[0] == "every":
        if len(words) != 2 or not words[1].isdecimal() or int(words[1]) == 0:
            raise Wrong("not a loss of one packet in so many", "such as 'every 1000'")
        return value
    if words[0] in GRAMMAR["netem"]:
        raise Wrong(f"'{words[0]}' is the option itself", f"only what follows it: {examples[option]}")
    try:
        check_options(
            "netem", [option, *words], {each: GRAMMAR["netem"][each] for each in (option, *BEHIND.get(option, ()))}
        )
    except Wrong as wrong:
        raise Wrong(wrong.problem, examples[option]) from None
    if option == "loss" and all(word in ("random", "state", "gemodel") for word in words):
        raise Wrong("a loss without a probability", examples[option])
    return " ".join(words)
