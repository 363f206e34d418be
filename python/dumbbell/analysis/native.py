"""Metrics of a run, by `crates/metrics`: hands over the facts of its manifest and its tables, once.

Time windows and flow lifetimes; mean, median, 95th percentile and maximum of samples; sums and means that skip None;
the period of two groups' rates.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, cast

from dumbbell import _sim
from dumbbell.results.result import Run, is_import
from dumbbell.results.tables import TABLE_NAMES

if TYPE_CHECKING:
    from dumbbell.results.columns import Floats

__all__ = [
    "NS",
    "PARTS",
    "SPREAD",
    "Cycle",
    "Kind",
    "Window",
    "as_dict",
    "bounds_ns",
    "by_flow_name",
    "clip_ns",
    "cycle",
    "is_bulk",
    "life_ns",
    "mean_of_known",
    "metrics",
    "native",
    "period",
    "remembered",
    "spread",
    "sum_of_known",
]


NS = 1_000_000_000
"""Nanoseconds in a second."""

Window = tuple[int, int]
"""From and to, in nanoseconds since the experiment's start; both inclusive."""


def bounds_ns(run: Run, window: Window | None = None) -> Window:
    """The requested window cut to the run; the whole run without one.

    Raises `ValueError` if nothing is left of it.
    """
    end_ns = round(run.manifest.duration_s * NS)
    if window is None:
        return 0, end_ns
    from_ns, to_ns = max(window[0], 0), min(window[1], end_ns)
    if from_ns >= to_ns:
        raise ValueError(f"the window {window[0]}..{window[1]} ns is outside a run of {end_ns} ns")
    return from_ns, to_ns


def life_ns(run: Run, flow: Mapping[str, Any]) -> Window:
    """The lifetime of a flow of the manifest; a flow without a stop lives until the run's end.

    A flow that never started has an empty one there; a log may not say when a flow started: at the log's beginning.
    """
    end_ns = bounds_ns(run)[1]
    start_s, stop_s = flow.get("start_s"), flow.get("stop_s")
    if start_s is None and not is_import(run.manifest):
        return end_ns, end_ns
    stop_ns = end_ns if stop_s is None else round(stop_s * NS)
    return (0 if start_s is None else round(start_s * NS)), stop_ns


def clip_ns(run: Run, flow: Mapping[str, Any], window: Window | None = None) -> Window | None:
    """The part of a flow's lifetime inside the window; None if it is empty."""
    from_ns, to_ns = bounds_ns(run, window)
    start_ns, stop_ns = life_ns(run, flow)
    start_ns, stop_ns = max(start_ns, from_ns), min(stop_ns, to_ns)
    return (start_ns, stop_ns) if start_ns < stop_ns else None


def is_bulk(flow: Mapping[str, Any]) -> bool:
    """Whether a flow sends as much as it can during its lifetime: TCP without a size limit or pauses."""
    return flow.get("kind") != "udp" and flow.get("bytes_asked") is None and not is_intermittent(flow)


def is_intermittent(flow: Mapping[str, Any]) -> bool:
    """Whether a flow's program pauses: requests and responses, or on and off."""
    return bool(flow.get("intermittent")) or flow.get("exchanges_s") is not None


Params = ParamSpec("Params")
Found = TypeVar("Found")


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
    flows, queues, probes = ((table := run.table(name)).native() or table for name in TABLE_NAMES)
    return _sim.Metrics(_facts(run), flows, queues, probes)


@remembered
def metrics(run: Run, window: Window | None = None) -> dict[str, Any]:
    """All single numbers but the cycle, as `crates/metrics/src/summary.rs` has them.

    Raises `ValueError` for a window outside the run.
    """
    numbers = native(run).summary(window)
    if run.manifest.fetch:
        # Downloads one after the other share nothing.
        numbers["jain"] = None
        for group in numbers["groups"].values():
            group["share"] = None
    return numbers


def by_flow_name(run: Run, numbers: list[Found]) -> dict[str, Found]:
    """Numbers in the order of the manifest's flows, by flow."""
    return dict(zip((flow.name for flow in run.manifest.flows), numbers, strict=True))


def _facts(run: Run) -> dict[str, Any]:
    """What the manifest says, as `crates/metrics/src/facts.rs` reads it."""
    name = run.manifest.bottleneck
    queue = next((queue for queue in run.manifest.queues if queue.name == name), None)
    return {
        "duration_ns": bounds_ns(run)[1],
        "flows": [_flow(run, flow) for flow in run.manifest.flows],
        "queue": None if queue is None else _queue(queue),
        "queues": [_queue(each) for each in run.manifest.queues],
        "holds_super_packets": _holds_super_packets(run),
        "is_import": is_import(run.manifest),
    }


def _flow(run: Run, flow: Mapping[str, Any]) -> dict[str, Any]:
    start_ns, stop_ns = life_ns(run, flow)
    is_udp = flow.get("kind") == "udp"
    # UDP retransmits nothing: results before 0.2 have 0.
    counts = ("bytes_asked", "bytes_received", *(() if is_udp else ("retransmits", "data_segs_out")))
    return {
        "name": flow["name"],
        "group": flow["group"],
        "cc": flow.get("cc"),
        "is_udp": is_udp,
        "is_intermittent": is_intermittent(flow),
        "start_ns": start_ns,
        "stop_ns": stop_ns,
        "fct_s": flow.get("fct_s"),
        "handshake_s": (flow.get("seen") or {}).get("handshake_s"),
        "exchanges_s": flow.get("exchanges_s"),
        **{name: _integer(flow.get(name)) for name in counts},
    }


def _queue(queue: Mapping[str, Any]) -> dict[str, Any]:
    counts = ("drops", "marks", "sent_bytes", "sent_packets")
    rates = [(time_s or 0.0, rate) for time_s, rate in queue.get("rates") or []]
    about = {"qdisc": queue.get("qdisc") or "", "is_under_test": bool(queue.get("under_test"))}
    return {"name": queue["name"], "rates": rates, **about, **{name: _integer(queue.get(name)) for name in counts}}


def _integer(count: float | None) -> int | None:
    return None if count is None else int(count)


def _holds_super_packets(run: Run) -> bool:
    """True with offloads on the sender's own device, where packets are segmented after the queue."""
    experiment = run.manifest.experiment or {}
    path, hosts = experiment.get("path") or {}, experiment.get("hosts")
    on_sender = run.manifest.engine == "host" and isinstance(hosts, dict) and not hosts.get("router")
    return bool(path.get("offloads") or path.get("tc") or on_sender)


PARTS = tuple(_sim.SPREAD_PARTS)
"""The keys of a spread."""
SPREAD = ("mean", "p50", "p95", "max")
"""Those that tables show, in display order."""


def spread(samples: Sequence[float]) -> dict[str, float | None]:
    """Mean, min, p50, p95, p99 and max over all samples; each None without samples.

    >>> spread([1, 2, 3])
    {'mean': 2.0, 'min': 1.0, 'p50': 2.0, 'p95': 2.9, 'p99': 2.98, 'max': 3.0}
    """
    found = _sim.spread(list(samples))
    return dict.fromkeys(PARTS) if found is None else dict(zip(PARTS, found, strict=True))


def as_dict(found: Mapping[str, float] | None) -> dict[str, float | None]:
    """A spread of `native.metrics`, with a None for each number of a missing one."""
    return dict.fromkeys(PARTS) if found is None else dict(found)


Number = TypeVar("Number", int, float)


def sum_of_known(values: Iterable[Number | None]) -> Number | None:
    """The sum of the known values."""
    known = [value for value in values if value is not None]
    return sum(known, start=type(known[0])(0)) if known else None


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """The mean of the known values."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


Kind = Literal["alternating", "opposed", "together", "separate"]


@dataclass(frozen=True)
class Cycle:
    """A period of two groups' rates; `kind` states whether they alternate."""

    period_s: float
    strength: float
    """n(k) at the period: 1 for exact repetition, less with jitter or missing changes."""
    p_value: float
    """Share of red-noise series of the same autocorrelation with as much evidence."""
    phase: float | None = None
    """The lag of the second largest group behind the largest, as a share of the period, 0 to 1; None for a single
    signal."""
    kind: Kind = "separate"
    """How the two rates move; `separate` for a single signal."""
    correlation: float | None = None
    """Pearson's r of the two rates; None for a single signal."""
    second_leads: float | None = None
    """Share of the bins in which the second largest group leads; None for a single signal."""
    probe_rtt_s: float | None = None
    """The interval between a flow's PROBE_RTTs in seconds if it equals the period; None otherwise, and for alternating
    groups."""

    @property
    def half_period_s(self) -> float:
        """Time between changes of the leading group, if the groups alternate."""
        return self.period_s / 2


@remembered
def cycle(run: Run, window: Window | None = None) -> Cycle | None:
    """The period of the two largest groups' rates, its strength, phase and kind.

    None with fewer than two groups, in less than three periods, without significance, or for sequential downloads.
    """
    return None if run.manifest.fetch else _cycle(native(run).cycle(window))


def period(signal: "Floats", step_s: float) -> Cycle | None:
    """The period of an evenly sampled oscillating signal, or None."""
    return _cycle(_sim.period(signal, step_s))


def _cycle(found: dict[str, Any] | None) -> Cycle | None:
    if found is None:
        return None
    del found["half_period_s"]
    return Cycle(**found)
