"""What one recording shows of its path: numbers with an interval and their evidence, without a model of the path.

`dumbbell identify` runs candidates on them (`path`), `dumbbell fit` makes models of them and replays those
(`twin.hypotheses`). Rates contain the headers of Ethernet, IPv4 and TCP.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.special import gammaincinv

from dumbbell.identification.clocks import queueing
from dumbbell.identification.connection import Connection, Floats
from dumbbell.identification.round_trips import Ends, ends_of, loss_events, round_trips

__all__ = ["UNSEEN", "Estimate", "Facts", "Level", "facts_of", "loss_run", "poisson_interval", "queues_at_losses"]

BIN = 0.005
"""Width of a bin of the rates' histogram, as a ratio: that of a time stamp of 1 µs at 50 Mbit/s."""
LEAST_SHARE = 0.05
"""A mode of the rates has this share of the samples at least: fewer are ACKs that some other queue compressed."""
LEAST_SHARE_BESIDE = 0.008
"""The same of a mode that is taken for the link's only together with other traffic."""
LEAST_SAMPLES = 20
FAR = 0.9999
"""Quantile of the round trip times that shows a full queue; the largest of all may be a retransmission's."""
FASTEST_BPS = 1e11
"""A faster mode is the resolution of time stamps: no link spaced these acknowledgements."""
ALONE = 3.0
"""A spacing that is so many times closer than both of its neighbours is alone."""
JITTER = 0.5
"""Share of a mode's spacings that make up for a neighbour's, from which the mode is no rate."""
WINDOW_S = 0.5
"""Windows in which the rate is looked for when it changes."""
SETTLED_S = 1.0
"""After a change, when packets that waited at the old rate have left any queue of less."""
LEVEL_SHARE = 0.3
"""Share of a window's samples that show its rate."""
SAME = 0.03
"""Rates that differ by less are one."""
MOST_LEVELS = 12
DIRECTION = 0.999
"""Quantile of the delays of one direction that is its longest queue; a single late packet is none."""
FULL = 0.5
"""A loss while the queue was below this share of its longest is no overflow."""
LEAST_APART = 4
"""Round trips between losses in which a rate can be measured."""
LEAST_APARTS = 3
STEADY = 0.2
"""Coefficient of variation of the rates between losses: at most 0.12 behind seven policers, at least 0.29 for CUBIC on
five links with random loss."""
CONFIDENCE = 0.95
STARTED = 10
"""Round trips after which slow start has found the window."""
REACHED_SEGMENTS = 3
"""Data this near to the window's end have reached it: a sender waits for room for a packet, delayed ACKs for two."""
BEHIND_WINDOW = 2.0
"""Rate of a link that the window never filled, in units of what was delivered: the replay refines it."""
LIMITING = 0.5
"""Share of the acknowledgements from which the receiver's window limits the flow."""


@dataclass(frozen=True)
class Estimate:
    """A number of the path."""

    value: float | None
    """None: the recording does not show it."""
    low: float | None
    high: float | None
    """None: unlimited in this direction."""
    evidence: str


UNSEEN = Estimate(None, None, None, "not shown")


@dataclass(frozen=True)
class Level:
    """A rate and when it begins."""

    start_s: float
    rate_bps: float


@dataclass(frozen=True)
class Facts:
    """One recording's path."""

    rtt_s: Estimate
    """Smallest round trip time of a full segment."""
    rate_bps: Estimate
    queue_s: Estimate
    """Longest time in the queue."""
    buffer_bytes: Estimate
    """Its value is None where the queue never overflowed."""
    loss: Estimate
    """Share of packets lost while the queue was short."""
    window_bytes: Estimate
    """Receive window, if it limits the flow; its value is None if it does not."""
    loss_run: float
    """Packets retransmitted in a row, on average; 1 if each was alone or there was none."""
    levels: tuple[Level, ...]
    """Rates in order of time; one if it never changes, none if it always does."""
    levels_buffer_bytes: float
    """Longest queue at these rates."""
    policed_bps: float | None
    """Delivered rate between losses, if the queue was short then and the rate always the same."""
    others_start_s: float | None
    """When the flow's share of the link fell, if it did."""
    share: float
    """Share of the link that the flow got while packets were queued."""
    at_sender: bool
    position: float = 1.0
    """Share of the round trip that lies ahead of the capture point."""
    short_losses: int = 0
    """Groups of losses while the queue was short."""
    full_losses: int = 0
    """Groups of losses while it was long."""
    faster_bps: float | None = None
    """A higher, rarer mode of the rate: the link's, if something regular takes turns with the flow's packets."""
    fastest_bps: float = 0.0
    """The most that was delivered in half a second."""
    burst_bytes: float | None = None
    """What passed beyond the rate before the first loss: a shaper's bucket; None without the start or the rate."""
    acks: Estimate = UNSEEN
    """Segments that an acknowledgement covers; more than two are thinned or merged."""
    forward_queue_s: Estimate = UNSEEN
    """Longest delay beyond the smallest in the direction of the data, by the other end's time stamps."""
    reverse_queue_s: Estimate = UNSEEN
    """The same of acknowledgements: a path whose return is slow."""
    sampled: bool = False
    """From a log of samples, where round trip times are smoothed and the rate is a lower bound?"""


def facts_of(flow: Connection, file: str) -> Facts:
    """The facts of a captured connection. Raises `ImportProblem` where it is too short or shows no round trip time.

    The rate is unknown where no rate is common among the acknowledgements.
    """
    ends = ends_of(flow, file)
    base = ends.rtt_s
    known, trips = round_trips(flow, ends.at_sender)
    window = _window(flow, base, at_sender=ends.at_sender)
    rate = _rate(flow) if window.value is None else _rate_behind_window(flow)
    longest = float(np.quantile(trips, FAR))
    queue = max(longest - base, 0.0)
    events = loss_events(flow, base)
    before = _before(events, known, trips, base, queue)
    full = [each for each in before if each >= FULL * queue]
    low = len(before) - len(full)
    levels = _levels(flow)
    busy = _busy(flow, known, trips, base, queue, rate.value) if rate.value else []
    policed = _policed(flow, base, events, low, len(full))
    forward, reverse = _directions(flow, ends, known, trips)
    return Facts(
        rtt_s=Estimate(base, base, base, f"smallest of {trips.size} round trips"),
        rate_bps=rate,
        queue_s=Estimate(queue, queue, queue, f"{100 * FAR:g} % quantile of {trips.size} round trips"),
        buffer_bytes=_buffer(rate, queue, full),
        levels_buffer_bytes=_buffer_of_levels(levels, known, trips, base),
        loss=_loss(low, flow.time.size),
        window_bytes=window,
        loss_run=loss_run(flow),
        levels=levels,
        policed_bps=policed,
        others_start_s=_change(busy),
        share=float(np.mean([share for _, share in busy])) if busy else 1.0,
        at_sender=ends.at_sender, position=ends.position, short_losses=low, full_losses=len(full),
        faster_bps=_faster(flow, rate, longest), fastest_bps=_fastest(flow), acks=_acks(flow),
        burst_bytes=_burst(flow, rate), forward_queue_s=forward, reverse_queue_s=reverse,
    )  # fmt: skip


def poisson_interval(count: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact interval of a Poisson variable's mean (Garwood, Biometrika 1936)."""
    tail = (1 - confidence) / 2
    low = gammaincinv(count, tail) if count else 0.0
    return float(low), float(gammaincinv(count + 1, 1 - tail))


def _samples(flow: Connection) -> tuple[Floats, Floats]:
    """When, and the rate at which the segments of one acknowledgement arrived after those of the one before."""
    gain, gap = np.diff(flow.acked), np.diff(flow.ack_time)
    real = gap > flow.mss * 8 / FASTEST_BPS
    usual = (gain >= 0.9 * flow.mss) & (gain <= 2.5 * flow.mss) & real
    if usual.sum() < LEAST_SAMPLES:  # Offloads or a middlebox merge acknowledgements: their spacing still has the rate.
        usual = (gain > 0) & real
    times, rates = flow.ack_time[1:][usual], gain[usual] * 8 * flow.frame_ratio / gap[usual]
    # Two acknowledgements sent at once are no spacing of a link: packets behind each other come in longer trains.
    beside = np.maximum(np.append(rates[1:], 0.0), np.insert(rates[:-1], 0, 0.0))
    train = rates <= ALONE * beside
    return times[train], rates[train]


def _mode(rates: Floats, least: float) -> Floats:
    """The samples of the highest mode that has this share; empty if none has."""
    if rates.size < LEAST_SAMPLES:
        return rates[:0]
    order = np.sort(rates)
    # Samples within a bin above each sample: the highest sample with enough of them starts the mode.
    count = np.searchsorted(order, order * (1 + BIN), side="right") - np.arange(order.size)
    enough = np.flatnonzero(count >= least * order.size)
    if not enough.size:
        return rates[:0]
    # From there down to the densest place: the edge of a mode has enough samples too.
    last = enough[-1]
    near = np.flatnonzero(order >= order[last] * (1 - 4 * BIN))
    near = near[near <= last]
    top = near[np.argmax(count[near])]
    return order[top : top + count[top]]


def _rate(flow: Connection) -> Estimate:
    _, rates = _samples(flow)
    mode = _mode(rates, LEAST_SHARE)
    if not mode.size:
        return Estimate(None, None, None, f"no rate is common among {rates.size} spacings of acknowledgements")
    value = float(np.median(mode))
    if _is_jitter(flow, value):
        # The rate itself is the highest mode below.
        mode = _mode(rates[rates < (1 - SAME) * value], LEAST_SHARE)
        value = float(np.median(mode)) if mode.size else value / 2
        mode = mode if mode.size else np.array([value])
    return Estimate(
        value, float(mode[0]), float(mode[-1]),
        f"highest mode of the spacing of acknowledgements: {mode.size} of {rates.size}",
    )  # fmt: skip


def _is_jitter(flow: Connection, rate: float) -> bool:
    """Do spacings of this rate make up for their neighbours, so that both together have half of it?

    A receiver that acknowledges one packet late and then in time gives such pairs, and so no link's rate.
    """
    gain, gap = np.diff(flow.acked), np.diff(flow.ack_time)
    single = np.divide(gain * 8 * flow.frame_ratio, gap, out=np.zeros_like(gap), where=gap > 0)
    both = gap[1:] + gap[:-1]
    pairs = np.divide((gain[1:] + gain[:-1]) * 8 * flow.frame_ratio, both, out=np.zeros_like(both), where=both > 0)
    half = np.abs(pairs / (rate / 2) - 1) < 2 * BIN
    near = np.abs(single / rate - 1) < 2 * BIN
    made_up = np.append(half, False) | np.insert(half, 0, False)
    return bool(near.any()) and float(made_up[near].mean()) > JITTER


def _rate_behind_window(flow: Connection) -> Estimate:
    """A small window's acknowledgements come as the reader makes room: their spacing is not that of the link."""
    delivered = float(flow.acked[-1]) * 8 * flow.frame_ratio / flow.duration_s
    return Estimate(BEHIND_WINDOW * delivered, delivered, None, "assumed: twice of what the window let through")


def queues_at_losses(flow: Connection, at_sender: bool) -> Floats:
    """The longest queueing delay just before each group of losses, as a share of the longest of all.

    A drop-tail queue is full at each of its losses; RED and losses on a link come at any length.
    """
    known, trips = round_trips(flow, at_sender)
    if not trips.size:
        return np.empty(0)
    base = float(trips.min())
    queue = float(np.quantile(trips, FAR)) - base
    before = _before(loss_events(flow, base), known, trips, base, queue)
    return np.array(before) / queue if queue > 0 else np.empty(0)


def _before(events: Floats, known: Floats, trips: Floats, base: float, queue: float) -> list[float]:
    """The longest queueing delays of the last round trips before events; none where there was no round trip."""
    spans = (np.searchsorted(known, [event - 2.5 * base - queue, event]) for event in events)
    return [float(trips[first:last].max()) - base for first, last in spans if last > first]


def _buffer(rate: Estimate, queue: float, full: Sequence[float]) -> Estimate:
    if rate.value is None or rate.low is None:
        return Estimate(None, None, None, "unknown without the rate")
    if rate.high is None and not full:
        return Estimate(None, rate.low * queue / 8, None, "the longest queue at the least rate; it never overflowed")
    seen = rate.value * queue / 8
    if full:
        # The queue was full whenever it overflowed; the longest round trip of all may have waited for a delayed ACK.
        sizes = rate.value * np.array(full) / 8
        evidence = f"median of the longest queues before {len(full)} overflows"
        return Estimate(float(np.median(sizes)), float(sizes.min()), float(sizes.max()), evidence)
    return Estimate(None, seen, None, "the longest queue; it never overflowed")


def _buffer_of_levels(levels: tuple[Level, ...], known: Floats, trips: Floats, base: float) -> float:
    """The most bytes that waited at any of the rates, once packets that waited for another rate were gone."""
    most = 0.0  # Of no level, where the rate always changes.
    for number, (level, end) in enumerate(zip(levels, [*(each.start_s for each in levels[1:]), np.inf], strict=False)):
        settled = trips[(known >= level.start_s + (SETTLED_S if number else 0.0)) & (known < end)]
        if settled.size:
            most = max(most, level.rate_bps * (float(np.quantile(settled, FAR)) - base) / 8)
    return most


def _loss(low: int, packets: int) -> Estimate:
    if not low:
        return Estimate(0.0, 0.0, poisson_interval(0)[1] / packets, "no loss while the queue was short")
    least, most = poisson_interval(low)
    return Estimate(low / packets, least / packets, most / packets, f"{low} losses while the queue was short")


def _window(flow: Connection, base: float, *, at_sender: bool) -> Estimate:
    """The window that the receiver allows, if data reach its end most of the time.

    A receiver's acknowledgement allows data that pass it a round trip later.
    """
    allowed = flow.acked + flow.window
    delay = 0.0 if at_sender else base
    before = np.searchsorted(flow.ack_time, flow.ack_time - delay, side="left") - 1
    sent = np.maximum.accumulate(flow.start + flow.payload)
    at = np.searchsorted(flow.time, flow.ack_time, side="right") - 1
    known = (before >= 0) & (at >= 0) & (flow.ack_time > STARTED * base)
    known &= np.isfinite(flow.window)
    if known.sum() < LEAST_SAMPLES:
        return Estimate(None, None, None, "the handshake with the window's scale is missing")
    room = allowed[before[known]] - sent[at[known]]
    windows = flow.window[known]
    reached = float(np.mean(room < np.minimum(REACHED_SEGMENTS * flow.mss, windows / 4)))
    share = f"data reach its end at {100 * reached:.0f} % of {int(known.sum())} acknowledgements"
    if reached < LIMITING:
        return Estimate(None, float(np.median(windows)), None, share)
    low, value, high = (float(each) for each in np.quantile(windows, [0.1, 0.5, 0.9]))
    return Estimate(value, low, high, share)


def _acks(flow: Connection) -> Estimate:
    """Outside of recoveries an acknowledgement covers one or two segments (RFC 5681 section 4.2)."""
    gain = np.diff(flow.acked)
    gain = gain[gain > 0] / flow.mss
    if gain.size < LEAST_SAMPLES:
        return UNSEEN
    low, value, high = (float(each) for each in np.quantile(gain, [0.1, 0.5, 0.9]))
    return Estimate(value, low, high, f"median of {gain.size} acknowledgements of new data")


def _directions(flow: Connection, ends: Ends, known: Floats, trips: Floats) -> tuple[Estimate, Estimate]:
    """The queues of both directions: time stamps show what came here, the round trips both."""
    come = queueing(flow.ack_stamps if ends.at_sender else flow.data_stamps)
    if come is None:
        return UNSEEN, UNSEEN
    there = trips - ends.rtt_s - np.interp(known, come.time, come.delay_s)
    evidence = f"time stamps of {come.delay_s.size} packets, to {1e3 * come.tick_s:.3g} ms"

    def longest(delays: Floats) -> Estimate:
        value = max(float(np.quantile(delays, DIRECTION)), 0.0)
        return Estimate(value, max(value - come.tick_s, 0.0), value + come.tick_s, evidence)

    if ends.at_sender:
        return longest(there), longest(come.delay_s)
    # Seen from the receiver, the way back contains the sender's waits.
    back = longest(there)
    return longest(come.delay_s), Estimate(back.value, 0.0, back.high, f"{evidence}, with the sender's waits")


def _faster(flow: Connection, rate: Estimate, longest_s: float) -> float | None:
    """The highest rare mode outside of recoveries, in which an acknowledgement covers what arrived before."""
    if rate.value is None or rate.high is None:
        return None
    times, rates = _samples(flow)
    again = np.concatenate([[-np.inf], flow.time[flow.retransmitted]])
    usual = times > again[np.searchsorted(again, times) - 1] + 1.5 * longest_s
    mode = _mode(rates[usual], LEAST_SHARE_BESIDE)
    # An acknowledgement of two segments right after one of the first of them seems twice as fast.
    twice = mode.size > 0 and _is_same(float(np.median(mode)), 2 * rate.value)
    return float(np.median(mode)) if mode.size and not twice else None


def _burst(flow: Connection, rate: Estimate) -> float | None:
    """The smallest token bucket of this rate that lets the start pass; one that is empty later shows nothing.

    Until the first loss, because an acknowledgement after one covers what arrived before.
    """
    if rate.value is None or rate.high is None or not flow.handshake:
        return None
    again = flow.time[flow.retransmitted]
    first = flow.ack_time < (again[0] if again.size else np.inf)
    ahead = flow.acked[first] * flow.frame_ratio - rate.value / 8 * flow.ack_time[first]
    return float((ahead - np.minimum.accumulate(ahead)).max(initial=0.0))


def _fastest(flow: Connection) -> float:
    """The most that was delivered in a window, with headers."""
    edges = np.arange(0, flow.duration_s + WINDOW_S, WINDOW_S)
    delivered = flow.acked[np.clip(np.searchsorted(flow.ack_time, edges, side="right") - 1, 0, None)]
    return float(np.diff(delivered).max(initial=0.0)) * 8 * flow.frame_ratio / WINDOW_S


def loss_run(flow: Connection) -> float:
    """Packets in a row of retransmissions, on average: their data follow each other."""
    again = flow.retransmitted
    start, length = flow.start[again], flow.payload[again]
    if not start.size:
        return 1.0
    runs = 1 + np.count_nonzero(start[1:] != start[:-1] + length[:-1])
    return max(float(length.sum() / flow.mss / runs), 1.0)


def _levels(flow: Connection) -> tuple[Level, ...]:
    """The rate of each window, joined where it stays."""
    times, rates = _samples(flow)
    found: list[tuple[float, float]] = []
    for start in np.arange(0, flow.duration_s, WINDOW_S):
        mode = _mode(rates[(times >= start) & (times < start + WINDOW_S)], LEVEL_SHARE)
        if mode.size:
            found.append((float(start), float(np.median(mode))))
    joined: list[tuple[float, list[float]]] = []
    for (start, value), (_, after) in pairwise([*found, (0.0, 0.0)]):
        if joined and _is_same(value, float(np.median(joined[-1][1]))):
            joined[-1][1].append(value)
        elif _is_same(after, value):  # A level lasts two windows: one that mixes two rates is none.
            joined.append((start, [value]))
    levels = [Level(start, float(np.median(values))) for start, values in joined]
    exact = [replace(levels[0], start_s=0.0)] if levels else []
    for before, level in pairwise(levels):
        exact.append(replace(level, start_s=_moment(times, rates, before.rate_bps, level)))
    while len(exact) > 1 and exact[1].start_s < WINDOW_S:  # The start of other traffic rather than a level.
        exact[:2] = [replace(exact[1], start_s=0.0)]
    return tuple(exact) if len(exact) <= MOST_LEVELS else ()


def _is_same(rate: float, other: float) -> bool:
    return abs(rate / other - 1) < SAME


def _moment(times: Floats, rates: Floats, before: float, level: Level) -> float:
    """When a level begins: the middle between the last sample of the rate before and the next one of its own."""
    near = (times > level.start_s - 2 * WINDOW_S) & (times < level.start_s + 2 * WINDOW_S)
    times, rates = times[near], rates[near]
    new = times[np.abs(rates / level.rate_bps - 1) < SAME]
    old = times[np.abs(rates / before - 1) < SAME]
    if not new.size or not old.size:
        return level.start_s
    first = new[0]
    earlier = old[old <= first]
    return float((first + earlier[-1]) / 2) if earlier.size else float(first)


def _busy(
    flow: Connection, known: Floats, trips: Floats, base: float, queue: float, rate: float
) -> list[tuple[float, float]]:
    """Windows in which packets were queued throughout: start, and the flow's share of the rate."""
    step = max(2 * base, WINDOW_S)
    edges = np.arange(0, flow.duration_s, step)
    found = []
    for start, end in pairwise(edges):
        first, last = np.searchsorted(known, [start, end])
        if last > first and trips[first:last].min() > base + 0.1 * queue:
            before, after = np.searchsorted(flow.ack_time, [start, end], side="right") - 1
            gained = flow.acked[after] - flow.acked[max(before, 0)]
            found.append((float(start), float(gained * 8 * flow.frame_ratio / step / rate)))
    return found


def _change(busy: list[tuple[float, float]]) -> float | None:
    """When the share falls for good: the split into two means that explains most, if it explains most of it."""
    if len(busy) < 6:
        return None
    shares = np.array([share for _, share in busy])
    total = float(((shares - shares.mean()) ** 2).sum())
    best, at = 0.0, None
    for split in range(2, len(shares) - 1):
        before, after = shares[:split], shares[split:]
        left = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
        explained = 1 - left / total if total > 0 else 0.0
        if explained > best and after.mean() < before.mean() - 0.1:
            best, at = explained, split
    return busy[at][0] if at is not None and best > 0.5 else None


def _policed(flow: Connection, base: float, events: Floats, low: int, full: int) -> float | None:
    """The delivered rate between losses, if it is about the same between any two of them.

    A policer drops what exceeds its tokens, so the same rate passes each time; random losses leave rates of all kinds.
    Flach et al. (SIGCOMM 2016) tell policers by the rate between the first loss and the last.
    """
    if low <= full:
        return None
    at = np.clip(np.searchsorted(flow.ack_time, events, side="right") - 1, 0, None)
    gained, seconds = np.diff(flow.acked[at]), np.diff(flow.ack_time[at])
    apart = seconds > LEAST_APART * base
    if apart.sum() < LEAST_APARTS:
        return None
    rates = gained[apart] * 8 * flow.frame_ratio / seconds[apart]
    if rates.std() > STEADY * rates.mean():
        return None
    return float(gained[apart].sum() * 8 * flow.frame_ratio / seconds[apart].sum())
