"""Queue disciplines as tc takes them: `crates/core/src/tc` has their grammar, `crates/experiment` checks every word."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell import _sim
from dumbbell.spec.units import value_of

__all__ = ["GRAMMAR", "POLICE", "Qdisc", "parse_qdisc", "qdisc_of_values", "suggest"]

POLICE = "police"

Options = dict[str, tuple[str, ...]]
"""An option's arguments; a trailing ? marks one that may be missing; words|like|this are a choice."""

GRAMMAR: dict[str, Options] = _sim.QDISCS


@dataclass(frozen=True)
class Qdisc:
    """A discipline whose every word was checked."""

    kind: str
    words: tuple[str, ...]
    """What follows the kind, as written."""
    bdp_words: dict[int, tuple[float, str]]
    """Position of each size in bandwidth-delay products, with its number and its unit (`size` or `packets`)."""

    @property
    def text(self) -> str:
        """As written."""
        return " ".join((self.kind, *self.words))

    def option(self, *names: str) -> str | None:
        """First argument of the first of these options that was written."""
        for name in names:
            if name in self.words[:-1]:
                return self.words[self.words.index(name) + 1]
        return None


def parse_qdisc(value: object) -> Qdisc:
    """Check a discipline as one would write it to tc; raises `Wrong`."""
    return qdisc_of_values(value_of("discipline", value))


def qdisc_of_values(values: Mapping[str, Any]) -> Qdisc:
    """The discipline that `crates/experiment` parsed."""
    sizes = {int(position): (products, unit) for position, (products, unit) in values["bdp_words"].items()}
    return Qdisc(values["kind"], tuple(values["words"]), sizes)


def suggest(word: str, known: Collection[str]) -> str:
    """What could have been meant, and what there is."""
    return _sim.suggest(word, list(known))
