"""Write `scenarios/cellular.trace`: a cellular link in Mahimahi's format, made by a model, not recorded.

    make page NAME=cellular-trace

Packets leave as a Poisson process whose rate is itself random, a Cox process: a Brownian motion of SIGMA packets a
second per √s between 0 and MOST, and at 0 an outage that ends with OUTAGE_ENDS a second (K. Winstein, A. Sivaraman,
H. Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks", NSDI 2013,
section 3.1, whose SIGMA, MOST and OUTAGE_ENDS these are). Unlike the paper, the rate begins at RESTART after
an outage, because a motion that begins at 0 returns there at once. The seed is fixed, so the file is always the same.
"""

import math
import random

from studies.study import ROOT

SIGMA = 200.0
OUTAGE_ENDS = 1.0
FIRST, RESTART, MOST = 400.0, 100.0, 1000.0
STEP_S = 0.001
SECONDS = 60
SEED = 2013


def opportunities() -> list[int]:
    """Milliseconds in which a packet may leave, one for each packet."""
    rng = random.Random(SEED)  # noqa: S311 — a model, no secret
    rate, times = FIRST, []
    for millisecond in range(1, SECONDS * 1000 + 1):
        if rate > 0:
            rate = min(max(rate + rng.gauss(0, SIGMA * math.sqrt(STEP_S)), 0.0), MOST)
        elif rng.random() < OUTAGE_ENDS * STEP_S:
            rate = RESTART
        times += [millisecond] * poisson(rng, rate * STEP_S)
    return times


def poisson(rng: random.Random, mean: float) -> int:
    """A Poisson number by Knuth's product of uniform ones (The Art of Computer Programming, 3.4.1)."""
    limit, product, count = math.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        count += 1
    return count


def main(_arguments: list[str]) -> None:
    """Write the file."""
    file = ROOT / "scenarios" / "cellular.trace"
    head = "# Made by studies/cellular_trace: a Cox process after Winstein et al. (NSDI 2013), not a recording.\n"
    times = opportunities()
    last = [SECONDS * 1000] if times[-1] < SECONDS * 1000 else []
    file.write_text(head + "".join(f"{time}\n" for time in [*times, *last]), encoding="ascii")
