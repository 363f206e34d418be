"""The simulator's tables with every column that a result has: what the plan knows is filled in, the rest is null.

Column by column and without queries, which cost most of a millisecond each however small the table.
"""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.engine.rates import rates_and_delays
from dumbbell.plan import Plan, QueuePlan
from dumbbell.result import FLOWS, PROBES, QUEUES, positions

__all__ = ["flow_table", "probe_table", "queue_table"]


def flow_table(told: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """`flows`: each flow's group, and its window in bytes."""
    group = _looked_up(told["flow"], {flow.name: flow.group for flow in plan.flows})
    cwnd_bytes = told["cwnd_packets"].cast(pl.Int64) * told["mss_bytes"]
    return _shaped(told, {"group": group, "cwnd_bytes": cwnd_bytes}, FLOWS)


def queue_table(told: pl.DataFrame, named: Sequence[QueuePlan], number: npt.NDArray[np.uint32]) -> pl.DataFrame:
    """`queues`: whether each is under test, its rate, and the delay that its backlog makes.

    `number`: the position in `named` of each row's queue.
    """
    rate, delay = rates_and_delays(number, told["time_ns"].to_numpy(), told["backlog_bytes"].to_numpy(), named)
    under_test = np.array([queue.under_test for queue in named], dtype=np.bool_)[number]
    limited = rate > 0
    more = {
        "under_test": pl.Series(under_test),
        "rate_bps": _only(pl.Series(rate), limited),
        "delay_ns": _only(pl.Series(delay).cast(pl.Int64), limited),
    }
    return _shaped(told, more, QUEUES)


def probe_table(told: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """`probes`: the kind of each."""
    kinds = {f"{probe.kind}-{number}": probe.kind for number, probe in enumerate(plan.probes, start=1)}
    return _shaped(told, {"kind": _looked_up(told["probe"], kinds)}, PROBES)


def _looked_up(names: pl.Series, of: Mapping[str, str]) -> pl.Series:
    """What stands for each name."""
    values = list(of.values())
    if len(set(values)) == 1:
        return pl.Series(values[:1], dtype=pl.String).new_from_index(0, len(names))
    return pl.Series(values, dtype=pl.String).gather(pl.Series(positions(names, list(of))))


def _only(values: pl.Series, where: npt.NDArray[np.bool_]) -> pl.Series:
    """The values there, null elsewhere."""
    return values if where.all() else values.zip_with(pl.Series(where), _nothing("", pl.Int64, len(values)))


def _nothing(name: str, kind: type[pl.DataType], height: int) -> pl.Series:
    return _null(name, kind).new_from_index(0, height)


@cache
def _null(name: str, kind: type[pl.DataType]) -> pl.Series:
    return pl.Series(name, [None], dtype=kind)


def _shaped(told: pl.DataFrame, more: Mapping[str, pl.Series], wanted: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Exactly these columns; what the simulator does not have is null."""
    there = {*told.columns, *more}
    nothing = [_nothing(name, kind, told.height) for name, kind in wanted.items() if name not in there]
    return told.hstack([*(column.alias(name) for name, column in more.items()), *nothing])[list(wanted)]
