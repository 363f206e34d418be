"""What netem takes after the name of an option: loss, jitter, reordering, duplication, corruption (tc-netem(8))."""

from dumbbell.spec.units import value_of

__all__ = ["netem_words"]


def netem_words(option: str, value: object) -> str:
    """The words that follow `option`, checked; raises `Wrong`.

    >>> netem_words("loss", "gemodel 1% 10%")
    'gemodel 1% 10%'
    """
    return str(value_of(option, value))
