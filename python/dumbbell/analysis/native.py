"""The metrics that `crates/metrics` defines, for a run: hands over the facts of its manifest and its tables, once.

The other modules of this package name these numbers and give them the shape that their callers want.
"""

import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from dumbbell import _sim
from dumbbell.analysis.window import Window, bounds_ns, life_ns
from dumbbell.results import declared
from dumbbell.results.result import Run, is_import

if TYPE_CHECKING:
    from dumbbell.results.columns import Table

__all__ = ["by_flow_name", "metrics", "native", "remembered"]

Params = ParamSpec("Params")
Found = TypeVar("Found")

COLUMNS = {table: (numbers, names) for table, numbers, names in _sim.METRIC_COLUMNS}
"""The columns of numbers, and of names, from which metrics are computed, by table."""


def remembered(find: Callable[Concatenate[Run, Params], Found]) -> Callable[Concatenate[Run, Params], Found]:
    """Cache a pure function of a run, per run and arguments; callers must not modify the results."""

    @wraps(find)
    def answer(run: Run, *args: Params.args, **more: Params.kwargs) -> Found:
        question = (find, args, *more.items())
        found = run.remembered.get(question, _UNKNOWN)
        if found is _UNKNOWN:
            found = run.remembered[question] = find(run, *args, **more)
        return cast("Found", found)

    return cast("Callable[Concatenate[Run, Params], Found]", answer)


_UNKNOWN = object()
"""A sentinel, because None is a valid result."""


@remembered
def native(run: Run) -> _sim.Metrics:
    """A run's metrics, computed on request."""
    tables = (_given(run.table(name), name) for name in declared.TABLES)
    return _sim.Metrics(json.dumps(_facts(run)), *tables)


@remembered
def metrics(run: Run, window: Window | None = None) -> dict[str, Any]:
    """All single numbers but the cycle, as `crates/metrics/src/summary.rs` has them.

    Raises `ValueError` for a window outside the run.
    """
    return cast("dict[str, Any]", json.loads(native(run).summary(window)))


def by_flow_name(run: Run, numbers: list[Found]) -> dict[str, Found]:
    """Numbers in the order of the manifest's flows, by flow."""
    return dict(zip((flow["name"] for flow in run.manifest["flows"]), numbers, strict=True))


def _facts(run: Run) -> dict[str, Any]:
    """What the manifest says, as `crates/metrics/src/facts.rs` reads it."""
    name = run.manifest.get("bottleneck")
    queue = next((queue for queue in run.manifest["queues"] if queue["name"] == name), None)
    return {
        "duration_ns": bounds_ns(run)[1],
        "flows": [_flow(run, flow) for flow in run.manifest["flows"]],
        "queue": None if queue is None else _queue(queue),
        "holds_super_packets": _holds_super_packets(run),
        "is_import": is_import(run.manifest),
    }


def _flow(run: Run, flow: Mapping[str, Any]) -> dict[str, Any]:
    start_ns, stop_ns = life_ns(run, flow)
    counts = ("bytes_asked", "bytes_received", "retransmits", "data_segs_out")
    return {
        "name": flow["name"],
        "group": flow["group"],
        "cc": flow.get("cc"),
        "is_udp": flow.get("kind") == "udp",
        "start_ns": start_ns,
        "stop_ns": stop_ns,
        "fct_s": flow.get("fct_s"),
        "exchanges_s": flow.get("exchanges_s"),
        **{name: _integer(flow.get(name)) for name in counts},
    }


def _queue(queue: Mapping[str, Any]) -> dict[str, Any]:
    counts = ("drops", "marks", "sent_bytes", "sent_packets")
    rates = [(time_s or 0.0, rate) for time_s, rate in queue.get("rates") or []]
    return {"name": queue["name"], "rates": rates, **{name: _integer(queue.get(name)) for name in counts}}


def _integer(count: float | None) -> int | None:
    return None if count is None else int(count)


def _holds_super_packets(run: Run) -> bool:
    """True with offloads on the sender's own device, where packets are segmented after the queue."""
    experiment = run.manifest.get("experiment") or {}
    path, hosts = experiment.get("path") or {}, experiment.get("hosts")
    on_sender = run.manifest["engine"] == "host" and isinstance(hosts, dict) and not hosts.get("router")
    return bool(path.get("offloads") or path.get("tc") or on_sender)


def _given(table: "Table", name: str) -> _sim.Arrow | tuple[dict[str, Any], dict[str, Any]]:
    """The simulator's own table, or arrays of the columns that metrics need."""
    if (arrow := table.native()) is not None:
        return arrow
    numbers, names = COLUMNS[name]
    texts = {column: table.names(column) for column in names}
    return (
        {column: table.column(column).floats() for column in numbers},
        {column: (each.codes_or_end(), list(each.texts)) for column, each in texts.items()},
    )
