"""Compare the simulator with theory: Mathis, RFC 9438's response function, BBR's phases, shapers and netem.

    python validation/theory.py [-o validation/theory.md]

Each check is an experiment whose result is known in closed form. Losses are one packet in every 1/p, as the formulas
assume, not random. `test_theory.py` asserts the same checks; `-o` also writes `results/theory.json`.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Any

import figures
import polars as pl

from dumbbell.engines import Request, Simulator
from dumbbell.results import result
from dumbbell.spec import parse

HERE = Path(__file__).parent
MSS, PACKET = 1448, 1514
"""Payload of a full segment, and its size as a queue counts it, in bytes."""


@dataclass(frozen=True)
class Check:
    """One number that theory predicts."""

    name: str
    source: str
    expected: float
    tolerance: float
    """Relative to the expected value."""
    unit: str
    measure: Callable[[], float]
    judged: bool = True


def checks() -> list[Check]:
    """All checks."""
    return [*reno(), *cubic(), *bbr(), *shapers(), *delays()]


def reno() -> list[Check]:
    """Mathis et al. 1997: W = sqrt(3/2) / sqrt(p) packets, with an acknowledgement for each packet."""
    return [
        response("reno", every, rtt_ms, "Mathis et al. 1997", sqrt(1.5 * every), judged=every > 1_000)
        for every, rtt_ms in ((1_000, 100), (10_000, 100), (10_000, 10), (100_000, 100))
    ]


def cubic() -> list[Check]:
    """RFC 9438 section 5.1: the larger of 1.054 RTT^0.75 / p^0.75 and the Reno-friendly window sqrt(1.5 / p)."""
    paths = ((1_000, 100), (10_000, 10), (10_000, 100), (100_000, 10), (100_000, 100), (1_000_000, 100))
    return [
        response("cubic", every, rtt_ms, "RFC 9438 section 5.1", cubic_window(every, rtt_ms), judged=window_moves)
        for (every, rtt_ms), window_moves in zip(paths, (False, True, False, True, True, True), strict=True)
    ]


def response(cc: str, every: int, rtt_ms: int, source: str, expected: float, *, judged: bool) -> Check:
    """A controller's mean window under one loss in `every`."""
    name = f"{cc}, 1 loss in {every:,}, RTT {rtt_ms} ms: mean window"
    return Check(name, source, expected, 0.05, "packets", partial(mean_window, cc, every, rtt_ms), judged)


def cubic_window(every: int, rtt_ms: int) -> float:
    """CUBIC's mean window by RFC 9438, in packets."""
    return max(1.054 * float((rtt_ms / 1e3 * every) ** 0.75), sqrt(1.5 * every))


def mean_window(cc: str, every: int, rtt_ms: int) -> float:
    """Delivered packets a round trip under one loss in `every`, over many loss cycles after twenty."""
    cycle_s, cycles = cycle_seconds(every, rtt_ms), 40 if every <= 100_000 else 10
    warm_up_s, duration_s = round(20 * cycle_s + 1), round((20 + cycles) * cycle_s + 2)
    run = simulate(
        f"""
        duration = "{duration_s}s"
        sample = "{max(rtt_ms, 20)}ms"
        [path]
        rtt = "{rtt_ms}ms"
        loss = "every {every}"
        [path.bottleneck]
        rate = "10gbit"
        qdisc = "pfifo limit 100000"
        [[flows]]
        cc = "{cc}"
        delayed_ack = false
        """
    )
    samples = run.flows.filter(pl.col("time_ns") >= warm_up_s * 10**9)
    first, last = samples.row(0, named=True), samples.row(-1, named=True)
    rounds = (last["time_ns"] - first["time_ns"]) / (rtt_ms * 10**6)
    delivered = float(last["delivered_packets"] - first["delivered_packets"])
    return delivered / float(rounds)


def cycle_seconds(every: int, rtt_ms: int) -> float:
    """The approximate time in which a flow sends `every` packets."""
    return every / cubic_window(every, rtt_ms) * rtt_ms / 1e3


BBR_PATH = """
    duration = "40s"
    sample = "2ms"
    [path]
    rtt = "40ms"
    [path.bottleneck]
    rate = "10mbit"
    qdisc = "bfifo limit 1000000"
    [[flows]]
    cc = "bbr"
    """


def bbr() -> list[Check]:
    """Cardwell et al. 2016, figures 3 and 4, on their path: 10 Mbit/s, 40 ms."""

    def between(low: int, high: int) -> pl.Expr:
        return pl.col("time_ns").is_between(low, high)

    second = 10**9

    def startup_peak() -> float:
        return largest(simulate(BBR_PATH).flows.filter(between(0, 2 * second)), "rtt_ns") / 1e6

    def probing_peak() -> float:
        return largest(simulate(BBR_PATH).flows.filter(between(5 * second, 10 * second)), "rtt_ns") / 1e6

    def probe_rtt_dips() -> float:
        low = simulate(BBR_PATH).flows.filter((pl.col("time_ns") > 3 * second) & (pl.col("cwnd_packets") <= 4))
        return float((low["time_ns"].diff() > second).sum() + 1)

    def probe_rtt_length() -> float:
        low = simulate(BBR_PATH).flows.filter((pl.col("time_ns") > 3 * second) & (pl.col("cwnd_packets") <= 4))
        return low.height * 2.0 / probe_rtt_dips()

    return [
        Check("BBR's start-up: peak RTT", "BBR 2016, figure 4: 3 × RTprop", 120, 0.1, "ms", startup_peak),
        Check("BBR's 1.25 phase: peak RTT", "BBR 2016, figure 3: RTprop + 10 ms", 50, 0.1, "ms", probing_peak),
        Check("BBR's PROBE_RTT: times in 40 s", "BBR 2016: every 10 s", 3, 0.0, "dips", probe_rtt_dips),
        Check("BBR's PROBE_RTT: length", "BBR 2016: 200 ms and a round", 240, 0.1, "ms", probe_rtt_length),
    ]


def shapers() -> list[Check]:
    """tc-htb(8), tc-tbf(8): after the bucket is empty, bytes leave at the rate."""

    def carried(bottleneck: str) -> float:
        run = simulate(
            f"""
            duration = "10s"
            [path]
            rtt = "0ms"
            [path.bottleneck]
            {bottleneck}
            [[flows]]
            kind = "udp"
            rate = "20mbit"
            """
        )
        sent = run.queues.filter((pl.col("queue") == "bottleneck") & (pl.col("time_ns") >= 2 * 10**9))
        first, last = sent.row(0, named=True), sent.row(-1, named=True)
        sent_bytes, nanos = float(last["sent_bytes"] - first["sent_bytes"]), float(last["time_ns"] - first["time_ns"])
        return sent_bytes * 8e3 / nanos

    return [
        Check(
            "HTB at 8 Mbit/s: rate",
            "tc-htb(8)",
            8,
            0.001,
            "Mbit/s",
            partial(carried, 'rate = "8mbit"\nqdisc = "pfifo limit 100"'),
        ),
        Check(
            "TBF at 8 Mbit/s: rate",
            "tc-tbf(8)",
            8,
            0.001,
            "Mbit/s",
            partial(carried, 'qdisc = "tbf rate 8mbit burst 20kb limit 100kb"'),
        ),
    ]


def delays() -> list[Check]:
    """tc-netem(8): a delay is a constant, a queue's delay its bytes over its rate, a loss rate as configured."""

    def ping(path: str) -> float:
        run = simulate(f'duration = "20s"\n[path]\nrtt = "40ms"\n{path}\n[[flows]]\nkind = "udp"\nrate = "20mbit"\n')
        return mean(run.probes.filter(pl.col("sent_ns") > 5 * 10**9), "rtt_ns") / 1e6

    def lost(loss: str) -> float:
        run = simulate(
            f'duration = "400s"\nsample = "1s"\n[path]\nrtt = "1ms"\nloss = "{loss}"\n'
            '[path.bottleneck]\nrate = "100mbit"\n[[flows]]\nkind = "udp"\nrate = "10mbit"\n'
        )
        netem = next(queue for queue in run.manifest["queues"] if queue["name"] == "path-netem")
        drops, sent = float(netem["drops"]), float(netem["sent_packets"])
        return 100 * drops / (drops + sent)

    full = 'bottleneck = { rate = "10mbit", qdisc = "pfifo limit 100" }'
    free = 'bottleneck = { rate = "100mbit", qdisc = "pfifo limit 100" }'
    datagram = 1200 + 42
    return [
        Check("netem's delay: ping", "tc-netem(8)", 40, 0.01, "ms", partial(ping, free)),
        Check(
            "a full queue of 100 packets at 10 Mbit/s: ping",
            "packets × size ÷ rate",
            40 + 100 * datagram * 8 / 10**7 * 1e3,
            0.02,
            "ms",
            partial(ping, full),
        ),
        Check("loss random 1%", "tc-netem(8)", 1, 0.05, "%", partial(lost, "1%")),
        Check("loss gemodel 1% 10%", "p ÷ (p + r)", 100 / 11, 0.05, "%", partial(lost, "gemodel 1% 10%")),
        Check("loss state 1% 20%", "p13 ÷ (p13 + p31)", 100 / 21, 0.05, "%", partial(lost, "state 1% 20%")),
    ]


def simulate(text: str) -> result.Run:
    """Run an experiment on the simulator."""
    file = HERE / "theory.toml"
    with tempfile.TemporaryDirectory() as folder:
        request = Request("theory", parse(text, file)[0], 1, Path(folder) / "run")
        run = result.load(Simulator().run(request, lambda _: None))
    if not run.manifest["valid"]:
        raise RuntimeError(f"{run.manifest['invalid']}")
    return run


def mean(table: pl.DataFrame, column: str) -> float:
    """The mean of a column."""
    value = table[column].mean()
    assert isinstance(value, int | float)
    return float(value)


def largest(table: pl.DataFrame, column: str) -> float:
    """The maximum of a column."""
    value = table[column].max()
    assert isinstance(value, int | float)
    return float(value)


def agrees(check: Check, measured: float) -> bool:
    """Within the check's tolerance?"""
    return abs(measured - check.expected) <= check.tolerance * check.expected


def verdict(check: Check, measured: float) -> str:
    """The last column of the table."""
    if not check.judged:
        return "shown"
    return "ok" if agrees(check, measured) else "**outside**"


def main() -> int:
    arguments = figures.parser(__doc__)
    arguments.add_argument("-o", "--output", type=Path)
    options = arguments.parse_args()
    found = []
    for check in checks():
        measured = check.measure()
        found.append(
            {
                "check": f"{check.name} ({check.unit})",
                "source": check.source,
                "theory": check.expected,
                "measured": measured,
                "allowed_percent": 100 * check.tolerance,
                "verdict": verdict(check, measured).strip("*"),
            }
        )
        print(*found[-1].values(), sep=", ", file=sys.stderr)
    text = page(found)
    print(text)
    verdicts = [row["verdict"] for row in found]
    if options.output:
        options.output.write_text(text, encoding="utf-8")
        counts = {"checks": len(found), "judged": len(found) - verdicts.count("shown"), "agree": verdicts.count("ok")}
        figures.write_figures("theory", {**counts, "rows": found})
    return int("outside" in verdicts)


def page(found: list[dict[str, Any]]) -> str:
    """The page as Markdown."""
    rows = [
        (row["check"], row["source"], f"{row['theory']:.5g}", f"{row['measured']:.5g}",
         f"{row['measured'] / row['theory'] - 1:+.1%}", f"{row['allowed_percent']:.1f}%",
         "**outside**" if row["verdict"] == "outside" else row["verdict"])
        for row in found
    ]  # fmt: skip
    head = "check | source | >theory | >measured | >difference | >allowed | "
    return figures.page_of("theory", rows=figures.table(head, rows))


if __name__ == "__main__":
    sys.exit(main())
