"""What a run of one BBR flow showed, and checks of numbers, for the test cases of its draft."""

import polars as pl

import dumbbell as db
from dumbbell.analysis.states import phases
from dumbbell.results.result import load

__all__ = ["CRUISE", "DOWN", "NS", "PAYLOAD", "REFILL", "UP", "Check", "Seen", "bdp", "least", "most", "near", "short"]

PAYLOAD = 1448 / 1514
"""Of a full frame."""
NS = 1e9
UP, DOWN, CRUISE, REFILL = "probe_bw_up", "probe_bw_down", "probe_bw_cruise", "probe_bw_refill"
SHORT = {UP: "UP", DOWN: "DOWN", CRUISE: "CRUISE", REFILL: "REFILL", "probe_rtt": "PROBE_RTT"}

Check = tuple[str, str, bool]
"""What is expected, what was seen, and whether it holds."""


class Seen:
    """A finished run of one flow."""

    def __init__(self, run: db.Run) -> None:
        table = phases(load(run.folder))
        self.phases = [(name, start / NS, stop / NS) for _, name, start, stop, _ in table.iter_rows()]
        self.flows = run.flows
        self.summary = run.summary

    def at(self, seconds: float, column: str) -> float:
        """The last sample until then."""
        value = self.flows.filter(pl.col("time_ns") <= seconds * NS)[column].drop_nulls()[-1]
        return float(value)

    def of(self, kind: str, start: float, stop: float, column: str) -> float:
        """The `max`, `min`, `mean` or `median` of a time's samples; 0 without any."""
        samples = self.flows.filter(pl.col("time_ns").is_between(start * NS, stop * NS))[column].cast(pl.Float64)
        return float(getattr(samples, kind)() or 0)

    def phase(self, name: str, after: float = 0.0) -> tuple[int, float, float]:
        """The first such phase from a time on: its number, start and stop."""
        number = self.first(name, after)
        return number, *self.phases[number][1:]

    def first(self, phase: str, after: float = 0.0) -> int:
        """The number of the first such phase from a time on."""
        return next(at for at, (name, start, _) in enumerate(self.phases) if name == phase and start >= after)

    def follows(self, number: int, *expected: str) -> Check:
        """Is a phase followed by one of these?"""
        name, _, stop = self.phases[number]
        seen = self.phases[number + 1][0] if number + 1 < len(self.phases) else "the end"
        wanted = " or ".join(short(each) for each in expected)
        return f"{short(name)} is followed by {wanted}", f"{short(seen)} at {stop:.3f} s", seen in expected

    def rounds(self, start: float, stop: float) -> int:
        """How often all that was sent when the last round ended was acknowledged."""
        table = self.flows.select("time_ns", "bytes_sent", "bytes_acked").drop_nulls()
        count, now = 0, start
        while True:
            wanted = table.filter(pl.col("time_ns") <= now * NS)["bytes_sent"][-1]
            later = table.filter((pl.col("bytes_acked") >= wanted) & (pl.col("time_ns") > now * NS))["time_ns"]
            if not len(later) or later[0] / NS > stop:
                return count
            count, now = count + 1, later[0] / NS

    def mbps(self, start: float, stop: float) -> float:
        """Goodput of a part, in Mbit/s."""
        acked = self.at(stop, "bytes_acked") - self.at(start, "bytes_acked")
        return acked * 8 / (stop - start) / 1e6


def short(phase: str) -> str:
    """Its name in the draft."""
    return SHORT.get(phase, phase.upper())


def near(what: str, value: float, wanted: float, percent: float, unit: str) -> Check:
    """Is the value close to another?"""
    holds = abs(value - wanted) <= wanted * percent / 100
    return f"{what} within {percent:g} % of {wanted:.4g} {unit}", f"{value:.4g} {unit}", holds


def most(what: str, value: float, limit: float, unit: str) -> Check:
    """Is the value at most the limit?"""
    return f"{what} at most {limit:.4g} {unit}".strip(), f"{value:.4g} {unit}".strip(), value <= limit


def least(what: str, value: float, limit: float, unit: str) -> Check:
    """Is the value at least the limit?"""
    return f"{what} at least {limit:.4g} {unit}".strip(), f"{value:.4g} {unit}".strip(), value >= limit


def bdp(seen: Seen, seconds: float) -> float:
    """Packets of the estimated BDP."""
    bits = seen.at(seconds, "bbr_bw_bps") * seen.at(seconds, "bbr_min_rtt_ns") / NS
    return bits / 8 / seen.at(seconds, "mss_bytes")
