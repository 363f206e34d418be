"""Experiments as values: what `crates/experiment` parsed, as the frozen dataclasses of `model`, and back to documents.

The keys, their kinds, defaults and rules are declared in `crates/experiment/src/keys`; `model` is made of them.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from dumbbell import _sim
from dumbbell.spec import model
from dumbbell.spec.axes import Axis, axis_of_values
from dumbbell.spec.qdisc import Qdisc, qdisc_of_values

__all__ = [
    "Experiment",
    "document_of",
    "experiment_of_values",
    "short_document_of",
    "ssh_destinations",
    "table_of_values",
]

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment(model.Experiment):
    """An experiment: one case of a file."""

    @property
    def group_names(self) -> tuple[str, ...]:
        """A name for each group: its own, or its controller's, numbered when taken."""
        return tuple(_sim.numbered([flows.name or flows.cc or flows.kind for flows in self.flows]))


def experiment_of_values(values: Mapping[str, Any]) -> Experiment:
    """The experiment that `crates/experiment` parsed."""
    return table_of_values(Experiment, values)


def document_of(values: Any) -> dict[str, Any]:
    """An experiment, or a table of one, as a document with all keys."""
    return _sim.write_experiment(values, complete=True)


def short_document_of(experiment: Experiment) -> dict[str, Any]:
    """The experiment as a document without keys that have their default value. Raises `_sim.Mistakes`."""
    return _sim.write_experiment(experiment)


def ssh_destinations(experiment: Experiment) -> tuple[str, ...]:
    """The destinations of ssh; none without real hosts."""
    hosts = experiment.hosts
    return tuple(each.ssh for each in (hosts.sender, hosts.receiver, hosts.router) if each) if hosts else ()


def table_of_values(cls: type[T], values: Mapping[str, Any]) -> T:
    """A generated dataclass of values that `crates/experiment` parsed."""
    make: Callable[[Mapping[str, Any]], T] = _table(cls)  # type: ignore[arg-type]  # mypy: a class is hashable.
    return make(values)


@cache
def _table(cls: type) -> Callable[[Mapping[str, Any]], Any]:
    """What makes a dataclass of its values."""
    makers = {name: made for name, hint in get_type_hints(cls).items() if (made := _maker(hint)) is not None}

    def make(values: Mapping[str, Any]) -> Any:
        held = {name: makers[name](value) for name, value in values.items() if value is not None and name in makers}
        return cls(**{**values, **held})

    return make


def _each(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: tuple(map(make, values))


def _maker(hint: Any) -> Callable[[Any], Any] | None:
    """What makes a field of its values; None: it takes them as they are."""
    if hint in OWN_MAKERS:
        return OWN_MAKERS[hint]
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _table(hint)
    parts = get_args(hint)
    if get_origin(hint) is tuple:
        made = _maker(parts[0]) if Ellipsis in parts else None
        return tuple if made is None else _each(made)
    return next((made for part in parts if (made := _maker(part)) is not None), None)


OWN_MAKERS: dict[Any, Callable[[Any], Any]] = {Qdisc: qdisc_of_values, Axis: axis_of_values}
"""Of values that are not generated dataclasses."""
