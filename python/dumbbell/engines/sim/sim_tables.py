"""The simulator's tables with all columns of a result: adds those that follow from the plan; others are null.

Columns are created on demand: a data frame takes most of a millisecond, however small.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
import polars as pl

from dumbbell import _sim
from dumbbell.engines.queue_rates import delays, is_rate_limited, rates
from dumbbell.plan import Plan, QueuePlan
from dumbbell.results.columns import Column, Names, Places
from dumbbell.results.result import FLOWS, PROBES, QUEUES

__all__ = ["PartialTable", "flow_table", "probe_table", "queue_table"]

_Columns = Mapping[str, type[pl.DataType]]
_Any = Column | Names


class PartialTable:
    """One of the simulator's tables; see `dumbbell.results.columns.Table`."""

    def __init__(
        self, source: _sim.Arrow, schema: _Columns, filled: Mapping[str, Callable[["PartialTable"], _Any]]
    ) -> None:
        """`filled`: functions that compute missing columns."""
        self._source, self._schema, self._filled = source, schema, filled
        self._cache: dict[str, _Any] = {}

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
        """See `Table`; only for columns of the simulator."""
        return self._source.last(name)

    def cell(self, name: str, row: int) -> Any:
        """See `Table`; only for columns of the simulator."""
        return self._source.cell(name, row)

    def frame(self) -> pl.DataFrame:
        """See `Table`."""
        return self._frame

    @cached_property
    def _frame(self) -> pl.DataFrame:
        source = pl.DataFrame(self._source)
        present = {*source.columns, *self._filled}
        filled = [self._found(name).series(name) for name in self._filled]
        empty = [_nulls(name, kind, source.height) for name, kind in self._schema.items() if name not in present]
        return source.hstack([*filled, *empty])[list(self._schema)]

    def _found(self, name: str) -> Column | Names:
        if name not in self._cache:
            self._cache[name] = self._filled[name](self) if name in self._filled else self._read(name)
        return self._cache[name]

    def _read(self, name: str) -> Column | Names:
        try:
            if self._schema[name] is pl.String:
                codes, known, texts = self._source.names(name)
                return Names(np.asarray(codes), texts, None if known is None else np.asarray(known))
            values, known = self._source.column(name)
            return Column(np.asarray(values), None if known is None else np.asarray(known))
        except KeyError:  # A column of controllers that the simulator lacks.
            return Column(np.zeros(len(self._source)), np.zeros(len(self._source), dtype=np.bool_))


def flow_table(source: _sim.Arrow, plan: Plan) -> PartialTable:
    """`flows` with group and window in bytes."""

    def group(table: PartialTable) -> Names:
        return _mapped(table.names("flow"), {flow.name: flow.group for flow in plan.flows})

    def cwnd_bytes(table: PartialTable) -> Column:
        # UDP flows have neither.
        cwnd, mss = table.column("cwnd_packets"), table.column("mss_bytes")
        return Column(cwnd.values.astype(np.int64) * mss.values, cwnd.known)

    return PartialTable(source, FLOWS, {"group": group, "cwnd_bytes": cwnd_bytes})


def queue_table(source: _sim.Arrow, named: Sequence[QueuePlan]) -> PartialTable:
    """`queues` with under_test, rate and delay."""
    names = [queue.name for queue in named]

    def under_test(table: PartialTable) -> Column:
        return Column(np.array([queue.under_test for queue in named], dtype=np.bool_)[table.positions("queue", names)])

    def rate_bps(table: PartialTable) -> Column:
        rate = rates(table.positions("queue", names), table.column("time_ns").values, named)
        limited = rate > 0
        return Column(rate, None if limited.all() else limited)

    def delay_ns(table: PartialTable) -> Column:
        rate = table.column("rate_bps")
        known = rate.known
        if any(queue.holds_netem for queue in named):
            waiting = is_rate_limited(table.positions("queue", names), named)
            known = waiting if known is None else known & waiting
        return Column(delays(table.column("backlog_bytes").values, rate.values).astype(np.int64), known)

    return PartialTable(source, QUEUES, {"under_test": under_test, "rate_bps": rate_bps, "delay_ns": delay_ns})


def probe_table(source: _sim.Arrow, plan: Plan) -> PartialTable:
    """`probes` with their kind."""

    def kind(table: PartialTable) -> Names:
        kinds = {f"{probe.kind}-{number}": probe.kind for number, probe in enumerate(plan.probes, start=1)}
        return _mapped(table.names("probe"), kinds)

    return PartialTable(source, PROBES, {"kind": kind})


def _mapped(names: Names, of: Mapping[str, str]) -> Names:
    """Map names to values."""
    return Names(names.codes, [of[text] for text in names.texts], names.known)


def _nulls(name: str, kind: type[pl.DataType], height: int) -> pl.Series:
    return _null(name, kind).new_from_index(0, height)


@cache
def _null(name: str, kind: type[pl.DataType]) -> pl.Series:
    return pl.Series(name, [None], dtype=kind)
