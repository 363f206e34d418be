"""The simulator's tables with every column that a result has: what the plan knows is filled in, the rest is null.

Column by column, each when somebody asks for it: a frame costs most of a millisecond however small the table.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
import polars as pl

from dumbbell import _sim
from dumbbell.columns import Column, Names, Places
from dumbbell.engine.rates import delays, rates, waits
from dumbbell.plan import Plan, QueuePlan
from dumbbell.result import FLOWS, PROBES, QUEUES

__all__ = ["Told", "flow_table", "probe_table", "queue_table"]

_Columns = Mapping[str, type[pl.DataType]]
_Any = Column | Names


class Told:
    """One of the simulator's tables; see `dumbbell.columns.Table`."""

    def __init__(self, told: _sim.Arrow, wanted: _Columns, filled: Mapping[str, Callable[["Told"], _Any]]) -> None:
        """`filled`: how columns are made that were not told."""
        self._told, self._wanted, self._filled = told, wanted, filled
        self._asked: dict[str, _Any] = {}

    def column(self, name: str) -> Column:
        """See `Table`."""
        found = self._found(name)
        assert isinstance(found, Column)
        return found

    def names(self, name: str) -> Names:
        """See `Table`."""
        found = self._found(name)
        assert isinstance(found, Names)
        return found

    def positions(self, name: str, names: Sequence[str]) -> Places:
        """See `Table`."""
        return self.names(name).positions(names)

    def last(self, name: str) -> Mapping[str, int]:
        """See `Table`; of what was told."""
        return self._told.last(name)

    def cell(self, name: str, row: int) -> Any:
        """See `Table`; of what was told."""
        return self._told.cell(name, row)

    def frame(self) -> pl.DataFrame:
        """See `Table`."""
        return self._frame

    @cached_property
    def _frame(self) -> pl.DataFrame:
        told = pl.DataFrame(self._told)
        there = {*told.columns, *self._filled}
        filled = [self._found(name).series(name) for name in self._filled]
        nothing = [_nothing(name, kind, told.height) for name, kind in self._wanted.items() if name not in there]
        return told.hstack([*filled, *nothing])[list(self._wanted)]

    def _found(self, name: str) -> Column | Names:
        if name not in self._asked:
            self._asked[name] = self._filled[name](self) if name in self._filled else self._read(name)
        return self._asked[name]

    def _read(self, name: str) -> Column | Names:
        try:
            if self._wanted[name] is pl.String:
                codes, known, texts = self._told.names(name)
                return Names(np.asarray(codes), texts, None if known is None else np.asarray(known))
            values, known = self._told.column(name)
            return Column(np.asarray(values), None if known is None else np.asarray(known))
        except KeyError:  # Of controllers that it does not have.
            return Column(np.zeros(len(self._told)), np.zeros(len(self._told), dtype=np.bool_))


def flow_table(told: _sim.Arrow, plan: Plan) -> Told:
    """`flows`: each flow's group, and its window in bytes."""

    def group(table: Told) -> Names:
        return _looked_up(table.names("flow"), {flow.name: flow.group for flow in plan.flows})

    def cwnd_bytes(table: Told) -> Column:
        # A flow of datagrams has neither.
        cwnd, mss = table.column("cwnd_packets"), table.column("mss_bytes")
        return Column(cwnd.values.astype(np.int64) * mss.values, cwnd.known)

    return Told(told, FLOWS, {"group": group, "cwnd_bytes": cwnd_bytes})


def queue_table(told: _sim.Arrow, named: Sequence[QueuePlan]) -> Told:
    """`queues`: whether each is under test, its rate, and the delay that its backlog makes."""
    names = [queue.name for queue in named]

    def under_test(table: Told) -> Column:
        return Column(np.array([queue.under_test for queue in named], dtype=np.bool_)[table.positions("queue", names)])

    def rate_bps(table: Told) -> Column:
        rate = rates(table.positions("queue", names), table.column("time_ns").values, named)
        limited = rate > 0
        return Column(rate, None if limited.all() else limited)

    def delay_ns(table: Told) -> Column:
        rate = table.column("rate_bps")
        known = rate.known
        if any(queue.holds_netem for queue in named):
            waiting = waits(table.positions("queue", names), named)
            known = waiting if known is None else known & waiting
        return Column(delays(table.column("backlog_bytes").values, rate.values).astype(np.int64), known)

    return Told(told, QUEUES, {"under_test": under_test, "rate_bps": rate_bps, "delay_ns": delay_ns})


def probe_table(told: _sim.Arrow, plan: Plan) -> Told:
    """`probes`: the kind of each."""

    def kind(table: Told) -> Names:
        kinds = {f"{probe.kind}-{number}": probe.kind for number, probe in enumerate(plan.probes, start=1)}
        return _looked_up(table.names("probe"), kinds)

    return Told(told, PROBES, {"kind": kind})


def _looked_up(names: Names, of: Mapping[str, str]) -> Names:
    """What stands for each name."""
    return Names(names.codes, [of[text] for text in names.texts], names.known)


def _nothing(name: str, kind: type[pl.DataType], height: int) -> pl.Series:
    return _null(name, kind).new_from_index(0, height)


@cache
def _null(name: str, kind: type[pl.DataType]) -> pl.Series:
    return pl.Series(name, [None], dtype=kind)
