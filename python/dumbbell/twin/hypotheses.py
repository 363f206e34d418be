"""Models that may be a recording's path: each an experiment's `path`, other traffic and changes, from the facts.

A model has knobs, numbers that the facts leave within bounds and the replay refines, and cases, numbers that no
recording of this kind can show. Nothing here runs.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dumbbell.identification.facts import Estimate, Facts
from dumbbell.identification.path import receive_buffer

__all__ = ["Document", "Knob", "Model", "models"]

Document = dict[str, Any]
Values = Mapping[str, float]

UNSEEN_BDP = (0.5, 1.0, 2.0, 4.0)
"""Sizes of a buffer that never filled."""
LEAST_BUFFER_BYTES = 2 * 1514.0
ALONE = 0.97
"""From this share of the link on, the rest is less than what the gate sees: there is no neighbour."""
FASTEST = 8.0
"""Rate of a link that was never filled, in units of what was delivered, up to which the replay looks."""
FEW = 0.55
"""Share of the link below which one equal neighbour does not explain the rest."""
OTHER = "other"
BURSTS = (4e3, 4e6)
PACKET_BYTES = 1000
"""RED's mean packet (avpkt), as tc-red(8) recommends."""
BURSTY = 1.5
"""Losses in a row from which loss comes in bursts: single random losses of 5 % are 1.05 on average."""
SHAPED_BYTES = 6 * 1514.0
"""A burst from which the link is a shaper: acknowledgements that were held back let fewer packets pass at once."""
WAITING = 0.2
"""Queue of acknowledgements, in smallest round trip times, from which the return path is taken to be slow."""
UNLIKE = 1.03
"""What was delivered, in units of the common rate, from which this is not the link's."""
FASTER, MOST_FASTER = 1.05, 3.0
"""The link's rate in units of the flow's share, beside traffic that takes turns with its packets."""
FRAME_BYTES, ACK_BYTES = 1514, 66
SEVERAL = 2
"""Neighbours of one kind: more of them differ from two by less than the other models do."""
AQM = ("codel", "fq_codel", "pie")
"""With their defaults."""


@dataclass(frozen=True)
class Knob:
    """A number that the replay refines within its bounds."""

    name: str
    start: float
    low: float
    high: float
    unit: str


@dataclass(frozen=True)
class Model:
    """A hypothesis about the path."""

    name: str
    says: str
    """The hypothesis as the rest of a sentence that begins with `The path is`."""
    build: Callable[[Values], Document]
    """The parts of the experiment, given the knobs."""
    knobs: tuple[Knob, ...] = ()
    cases: tuple[tuple[str, Values], ...] = ()
    """What can't be known: names, and knobs that differ."""
    profile: str | None = None
    """A knob that another one can make up for: the refinement looks along its whole range."""
    chance: bool = False
    """Does it draw random numbers?"""

    @property
    def start(self) -> dict[str, float]:
        """The knobs as the facts have them."""
        return {knob.name: knob.start for knob in self.knobs}


def models(facts: Facts) -> Iterator[Model]:
    """All models that the facts do not exclude, simple ones first; a receiver's window that limits is part of each."""
    if facts.window_bytes.value is None:
        yield from _paths(facts)
        return
    unseen = facts.buffer_bytes.value is None and not facts.loss.value
    for model in _idle(facts) if unseen else _paths(facts):
        yield _behind_window(model, facts.window_bytes)


def _idle(facts: Facts) -> Iterator[Model]:
    """A link whose queue stayed empty: of which discipline it is makes no difference."""
    rate, least = facts.rate_bps.value, facts.rate_bps.low
    assert rate is not None
    assert least is not None
    knob = Knob("rate", rate, 1.02 * least, FASTEST * least, "bit/s")
    yield Model("drop-tail, never full", "a queue that never filled", _fifo(facts, rate), (knob,), _unseen(facts, rate))


def _behind_window(model: Model, window: Estimate) -> Model:
    """Windows are offered in whole segments: the largest is nearest to what the buffer allows."""
    assert window.low is not None
    assert window.high is not None
    knob = Knob("window", window.high, 0.9 * window.low, 1.2 * window.high, "B")

    def build(values: Values) -> Document:
        return {**model.build(values), "own": {"rcvbuf": f"{receive_buffer(values['window']):.0f}B"}}

    return replace(
        model, says=f"{model.says}, and the receiver's window limits", build=build, knobs=(*model.knobs, knob)
    )


def _paths(facts: Facts) -> Iterator[Model]:
    if facts.rate_bps.value is not None:
        yield from _single(facts, facts.rate_bps.value)
    if facts.policed_bps is not None:
        yield _policer(facts, facts.policed_bps)


def _single(facts: Facts, rate: float) -> Iterator[Model]:
    seen = _buffer_knob(facts.buffer_bytes, facts, rate)
    if facts.buffer_bytes.value is not None:
        knobs = (seen, Knob("rate", rate, 0.97 * rate, 1.1 * rate, "bit/s")) if facts.sampled else (seen,)
        yield Model("drop-tail", "a drop-tail queue", _fifo(facts, rate), knobs)
    elif not facts.loss.value:
        yield Model("drop-tail, never full", "a queue that never filled", _fifo(facts, rate), (), _unseen(facts, rate))
    if facts.loss.value:
        yield from _lossy(facts, rate, facts.loss, seen)
    if facts.loss.value and facts.loss_run > BURSTY:
        yield from _bursty(facts, rate, facts.loss)
    if facts.loss.value or facts.buffer_bytes.value is not None:
        yield _red(facts, rate)
    if facts.burst_bytes is not None and facts.burst_bytes > SHAPED_BYTES:
        yield _shaper(facts, rate, seen, facts.burst_bytes)
    yield Model("cake", "CAKE with its defaults", _cake(facts, rate))
    for kind in AQM:
        yield Model(kind, f"{kind} with its defaults", _queue(facts, rate, kind), chance=kind == "pie")
    if len(facts.levels) > 1:
        yield Model("rate steps", "a drop-tail queue whose rate changes", _steps(facts), (_steps_buffer(facts),))
    if facts.share < ALONE or facts.others_start_s is not None:
        yield from _shared(facts, rate, seen)
    if (
        facts.faster_bps is not None
        and facts.share * rate < ALONE * facts.faster_bps
        and FASTER * rate < facts.faster_bps < MOST_FASTER * rate
    ):
        yield from _beside_regular(facts, rate, facts.faster_bps)
    if _is_asymmetric(facts):
        yield _asymmetric(facts, rate)


def _beside_regular(facts: Facts, rate: float, faster: float) -> Iterator[Model]:
    """Traffic that takes turns with the flow's packets: what seems to be the rate is its share of a faster one."""
    by = faster / rate
    buffer = facts.buffer_bytes
    value, low, high = (None if each is None else by * each for each in (buffer.value, buffer.low, buffer.high))
    scaled = Estimate(value, low, high, buffer.evidence)
    seen = replace(facts, buffer_bytes=scaled, share=facts.share / by)
    for model in _shared(seen, faster, _buffer_knob(scaled, seen, faster)):
        yield replace(model, name=f"{model.name} on a faster link", says=f"{model.says} on a faster link")


def _is_asymmetric(facts: Facts) -> bool:
    """Do acknowledgements wait so long that it is no resolution of time stamps?"""
    waits = facts.reverse_queue_s
    return (
        waits.value is not None and waits.low is not None and facts.rtt_s.value is not None
        and facts.forward_queue_s.value is not None and facts.rate_bps.value is not None
        and waits.low > WAITING * facts.rtt_s.value and facts.fastest_bps > UNLIKE * facts.rate_bps.value
    )  # fmt: skip


def _asymmetric(facts: Facts, rate: float) -> Model:
    """A slow return: acknowledgements queue there, so the common rate is that at which it lets them pass."""
    forward, waits = facts.forward_queue_s.value, facts.reverse_queue_s.value
    assert forward is not None
    assert waits is not None
    back = rate / FRAME_BYTES / (facts.acks.value or 2.0) * ACK_BYTES
    limit = max(back * waits / 8, 2 * FRAME_BYTES)
    least = facts.fastest_bps

    def build(values: Values) -> Document:
        queue = max(values["rate"] * values["queue"] / 8, LEAST_BUFFER_BYTES)
        path = _path(facts, values["rate"], f"bfifo limit {queue:.0f}")
        return {"path": path | {"reverse": {"rate": f"{back:.0f}bit", "qdisc": f"bfifo limit {limit:.0f}"}}}

    # A lost acknowledgement makes the way there seem longer by what it takes until the next.
    knobs = (
        Knob("rate", 1.1 * least, 0.95 * least, 2 * least, "bit/s"),
        Knob("queue", 0.5 * forward, 0.1 * forward, 1.1 * forward, "s"),
    )
    return Model("slow return", "a drop-tail queue with a return path that is slow for acknowledgements", build, knobs)


def _buffer_knob(buffer: Estimate, facts: Facts, rate: float) -> Knob:
    """The longest queue is a little below the limit: the packet that overflowed it is not in it."""
    if facts.sampled:  # Smoothing hides the peaks.
        value = max(buffer.low or 0.0, LEAST_BUFFER_BYTES)
        return Knob("buffer", 1.1 * value, value, 2 * value, "B")
    value = buffer.value or buffer.low or rate * facts.rtt_s.value / 8  # type: ignore[operator]
    return Knob("buffer", max(value, LEAST_BUFFER_BYTES), 0.93 * value, 1.05 * value + 1514, "B")


def _steps_buffer(facts: Facts) -> Knob:
    value = max(facts.levels_buffer_bytes, LEAST_BUFFER_BYTES)
    return Knob("buffer", value, 0.93 * value, 1.05 * value + 1514, "B")


def _unseen(facts: Facts, rate: float) -> tuple[tuple[str, Values], ...]:
    """Sizes of a buffer that only has a lower bound."""
    assert facts.rtt_s.value is not None
    bdp = rate * facts.rtt_s.value / 8
    least = max(facts.buffer_bytes.low or 0.0, facts.buffer_bytes.value or 0.0)
    larger = [(f"buffer of {factor:g} BDP", factor * bdp) for factor in UNSEEN_BDP if factor * bdp > 1.1 * least]
    names = [(f"buffer of {least / bdp:.2g} BDP, as long as its queue was", max(least, LEAST_BUFFER_BYTES)), *larger]
    return tuple((name, {"buffer": value}) for name, value in names)


def _fifo(facts: Facts, rate: float) -> Callable[[Values], Document]:
    cases = dict(_unseen(facts, rate))
    large = max(values["buffer"] for values in cases.values())

    def build(values: Values) -> Document:
        path = _path(facts, values.get("rate", rate), f"bfifo limit {values.get('buffer', large):.0f}")
        if values.get("loss"):
            path["loss"] = f"{100 * values['loss']:.4f}%"
        return {"path": path}

    return build


def _lossy(facts: Facts, rate: float, loss: Estimate, seen: Knob) -> Iterator[Model]:
    assert loss.value is not None
    assert loss.low is not None
    assert loss.high is not None
    knob = Knob("loss", loss.value, loss.low, loss.high, "of packets")
    bounds: tuple[tuple[str, Values], ...] = (
        (f"loss of {100 * loss.low:.3g} %", {"loss": loss.low}),
        (f"loss of {100 * loss.high:.3g} %", {"loss": loss.high}),
    )
    build = _fifo(facts, rate)
    yield Model(
        "random loss", "a link with random loss whose queue never filled", build, (knob,),
        (*bounds, *_unseen(facts, rate)), chance=True,
    )  # fmt: skip
    if facts.buffer_bytes.value is not None:
        yield Model(
            "drop-tail and random loss", "a drop-tail queue and random loss", build, (seen, knob), bounds, chance=True
        )


def _bursty(facts: Facts, rate: float, loss: Estimate) -> Iterator[Model]:
    """The Gilbert model (`gemodel p r`): bursts of losses begin with probability p and end with r."""
    assert loss.value is not None
    fifo = _fifo(facts, rate)
    assert loss.low is not None
    assert loss.high is not None

    def build(values: Values) -> Document:
        parts = fifo({})
        parts["path"]["loss"] = f"gemodel {100 * values['loss']:.5f}% {100 / values['run']:.3f}%"
        return parts

    knobs = (
        Knob("loss", loss.value, loss.low, loss.high, "of packets begin a burst"),
        Knob("run", facts.loss_run, max(0.6 * facts.loss_run, 1.01), 1.6 * facts.loss_run, "packets"),
    )
    cases = tuple(
        (f"{100 * share:.3g} % of packets begin a burst of losses", {"loss": share}) for share in (loss.low, loss.high)
    )
    yield Model(
        "bursty loss", "a link with bursts of losses whose queue never filled", build, knobs, cases, chance=True
    )


def _red(facts: Facts, rate: float) -> Model:
    """RED with the parameters that `tc-red(8)` recommends for a largest mean queue."""
    seen = facts.buffer_bytes.value or facts.buffer_bytes.low or 0.0
    most = max(seen, 6 * PACKET_BYTES)

    def build(values: Values) -> Document:
        top = values["largest mean queue"]
        low = max(top / 3, PACKET_BYTES)
        burst = max(round((2 * low + top) / (3 * PACKET_BYTES)), 1) + 1
        qdisc = (
            f"red limit {8 * top:.0f} min {low:.0f} max {top:.0f} avpkt {PACKET_BYTES} burst {burst} "
            f"bandwidth {rate:.0f}bit probability 0.02"
        )
        return {"path": _path(facts, rate, qdisc)}

    knob = Knob("largest mean queue", most, 0.4 * most, 2.5 * most, "B")
    return Model("red", "a RED queue", build, (knob,), chance=True)


def _shaper(facts: Facts, rate: float, seen: Knob, burst: float) -> Model:
    """A token bucket: what was sent when it was full passed at once."""

    def build(values: Values) -> Document:
        path: Document = {
            "rtt": f"{facts.rtt_s.value * 1e6:.0f}us",  # type: ignore[operator]
            "bottleneck": {
                "qdisc": f"tbf rate {rate:.0f}bit burst {values['burst']:.0f}b limit {values['buffer']:.0f}"
            },
        }
        return {"path": path}

    knobs = (seen, Knob("burst", burst, 0.6 * burst, 1.5 * burst, "B"))
    return Model("shaper", "a shaper that lets a burst pass", build, knobs)


def _cake(facts: Facts, rate: float) -> Callable[[Values], Document]:
    """CAKE shapes by itself."""
    path: Document = {
        "rtt": f"{facts.rtt_s.value * 1e6:.0f}us",  # type: ignore[operator]
        "bottleneck": {"qdisc": f"cake bandwidth {rate:.0f}bit"},
    }
    return lambda _values: {"path": path}


def _queue(facts: Facts, rate: float, kind: str) -> Callable[[Values], Document]:
    return lambda _values: {"path": _path(facts, rate, kind)}


def _steps(facts: Facts) -> Callable[[Values], Document]:
    first, *later = facts.levels

    def build(values: Values) -> Document:
        return {
            "path": _path(facts, first.rate_bps, f"bfifo limit {values['buffer']:.0f}"),
            "changes": [{"at": f"{each.start_s * 1e3:.0f}ms", "rate": f"{each.rate_bps:.0f}bit"} for each in later],
        }

    return build


def _shared(facts: Facts, rate: float, seen: Knob) -> Iterator[Model]:
    fifo = _fifo(facts, rate)

    def beside(**other: Any) -> Callable[[Values], Document]:
        def build(values: Values) -> Document:
            own = dict(other)
            if "other" in values:
                own["rate"] = f"{values['other']:.0f}bit"
            return fifo({"buffer": values["buffer"]}) | {"flows": [{"name": OTHER, **own}]}

        return build

    starts = [0.0] if facts.others_start_s is None else [0.0, facts.others_start_s]
    for start in starts:
        at = {"start": f"{start * 1e3:.0f}ms"} if start else {}
        since = f" from {start:.3g} s" if start else ""
        taken = max(1 - facts.share, 0.02) * rate
        yield Model(
            f"unresponsive traffic{since}", f"a drop-tail queue with traffic that does not respond{since}",
            beside(kind="udp", **at), (seen, Knob("other", taken, 0.5 * taken, min(2 * taken, 0.95 * rate), "bit/s")),
        )  # fmt: skip
        for cc in ("cubic", "bbr"):
            yield Model(
                f"a {cc} flow{since}", f"a drop-tail queue with a {cc} flow{since}", beside(cc=cc, **at), (seen,)
            )
            if facts.share < FEW:
                yield Model(
                    f"{SEVERAL} {cc} flows{since}", f"a drop-tail queue with {SEVERAL} {cc} flows{since}",
                    beside(cc=cc, count=SEVERAL, **at), (seen,),
                )  # fmt: skip


def _policer(facts: Facts, rate: float) -> Model:
    line = facts.rate_bps.value

    def build(values: Values) -> Document:
        path: Document = {
            "rtt": f"{facts.rtt_s.value * 1e6:.0f}us",  # type: ignore[operator]
            "bottleneck": {"qdisc": f"police rate {values['rate']:.0f}bit burst {values['burst']:.0f}b"},
        }
        if line is not None:
            # Its own queue never overflows: the policer keeps it short.
            path["links"] = [
                {"name": "line", "where": "before", "rate": f"{line:.0f}bit", "qdisc": "pfifo limit 10000"}
            ]
        return {"path": path}

    knobs = (
        Knob("rate", rate, 0.95 * rate, 1.25 * rate, "bit/s"),
        Knob("burst", rate * 0.05 / 8, *BURSTS, "B"),
    )
    return Model("policer", "a policer", build, knobs, profile="rate")


def _path(facts: Facts, rate: float, qdisc: str) -> Document:
    return {
        "rtt": f"{facts.rtt_s.value * 1e6:.0f}us",  # type: ignore[operator]
        "bottleneck": {"rate": f"{rate:.0f}bit", "qdisc": qdisc},
    }
