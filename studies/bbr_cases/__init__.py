"""BBR 3 in the 22 example test cases of its draft, judged by phases and samples: docs/results/bbr-cases.md.

The experiments are docs/results/bbr-cases.toml, run on the simulator with seed 1. Each case has checks below; a case
passes if all of them hold. What a check can't see from outside (counters and saved values of the controller) is left
to crates/net/src/cc/bbr3/tests. `seen` reads a run.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

import dumbbell as db
from studies.bbr_cases.seen import CRUISE, DOWN, NS, PAYLOAD, REFILL, UP, Check, Seen, bdp, least, most, near, short
from studies.study import DOCS, rendered, write

EXPERIMENT = DOCS / "results" / "bbr-cases.toml"
SHOWN_PHASES = 12


def main(_arguments: list[str]) -> None:
    """Run, judge, write."""
    cases = [
        {"number": number, "title": title, "note": NOTES.get(number), **shown(number)}
        for number, (title, _) in enumerate(CASES, 1)
    ]
    write(EXPERIMENT.with_suffix(".md"), rendered(Path(__file__).with_name("page.md"), cases=cases))


def shown(number: int) -> dict[str, object]:
    """What the page says of a case."""
    seen, checks = judged(number)
    phases = ", ".join(f"{short(name)} {start:.3f}" for name, start, _ in seen.phases[:SHOWN_PHASES])
    more = ", …" if len(seen.phases) > SHOWN_PHASES else ""
    rows = [(what, value, "yes" if holds else "**no**") for what, value, holds in checks]
    return {"passes": all(holds for _, _, holds in checks), "checks": rows, "phases": phases + more}


def judged(number: int) -> tuple[Seen, list[Check]]:
    """A case's run and checks."""
    seen = Seen(db.run(db.experiment(EXPERIMENT).case(str(number)), seed=1))
    return seen, CASES[number - 1][1](seen)


def _startup_plateau(seen: Seen) -> list[Check]:
    _, _, stop = seen.phases[0]
    reached = seen.flows.filter(pl.col("bbr_bw_bps") >= 0.8 * PAYLOAD * 1e7)["time_ns"][0] / NS
    rounds = (stop - reached) / (seen.of("mean", reached, stop, "rtt_ns") / NS)
    return [
        seen.follows(0, "drain"),
        near("bandwidth estimate at its end", seen.at(stop, "bbr_bw_bps") / 1e6, PAYLOAD * 10, 2, "Mbit/s"),
        least("round trips after 80 % of the bandwidth was seen", rounds, 2.5, ""),
        most("retransmissions", seen.at(stop, "retrans_packets"), 0, ""),
    ]


def _startup_loss(seen: Seen) -> list[Check]:
    _, _, stop = seen.phases[0]
    # In flight is less than a BDP, so Drain is over with the acknowledgement that began it.
    return [
        seen.follows(0, "drain", CRUISE, DOWN),
        least("end of STARTUP after the losses from", stop, 0.5, "s"),
        most("end of STARTUP", stop, 1.0, "s"),
        least("samples before that the application limits", seen.of("mean", 0.1, 0.5, "app_limited"), 0.8, ""),
    ]


def _drain_inflight(seen: Seen) -> list[Check]:
    number, start, stop = seen.phase("drain")
    return [
        near("pacing gain in DRAIN", seen.at((start + stop) / 2, "bbr_pacing_gain"), 0.5, 1, ""),
        least("packets in flight at its start", seen.at(start, "inflight_packets"), 1.2 * bdp(seen, start), ""),
        most("packets in flight at its end", seen.at(stop, "inflight_packets"), bdp(seen, stop) + 1, ""),
        seen.follows(number, CRUISE, DOWN),
    ]


def _drain_time(seen: Seen) -> list[Check]:
    number, start, stop = seen.phase("drain")
    # A tenth less bandwidth, as the draft proposes, lets the queue drain in time; 60 % less does not.
    return [
        least("packets in flight at the end of DRAIN", seen.at(stop, "inflight_packets"), bdp(seen, stop) + 1, ""),
        near("rounds in DRAIN", seen.rounds(start, stop), 3, 35, ""),
        seen.follows(number, DOWN),
    ]


def _up_plateau(seen: Seen) -> list[Check]:
    number, start, stop = seen.phase(UP)
    trip = seen.of("mean", start, stop, "rtt_ns") / NS
    return [
        least("round trips in UP", (stop - start) / trip, 2.5, ""),
        most("retransmissions", seen.at(stop, "retrans_packets"), 0, ""),
        seen.follows(number, DOWN),
    ]


def _up_loss(seen: Seen) -> list[Check]:
    number, start, stop = seen.phase(UP, 2.0)
    _, other_start, other_stop = seen.phases[seen.first(UP, stop)]
    return [
        least("retransmissions in UP", seen.at(stop, "retrans_packets") - seen.at(start, "retrans_packets"), 1, ""),
        most("time in UP, of a later UP without loss", (stop - start) / (other_stop - other_start), 0.5, ""),
        seen.follows(number, DOWN),
    ]


def _stays_in_startup(seen: Seen) -> list[Check]:
    name, start, stop = seen.phases[-1]
    return [
        (
            "the only phase is STARTUP",
            f"{short(name)}, {stop - start:.3f} s",
            name == "startup" and len(seen.phases) == 1,
        ),
        least("samples that the application limits", seen.of("mean", 0.1, 8, "app_limited"), 0.9, ""),
        most("retransmissions", seen.at(8, "retrans_packets"), 0, ""),
    ]


def _down_inflight(seen: Seen) -> list[Check]:
    number, start, stop = seen.phase(DOWN)
    return [
        near("pacing gain in DOWN", seen.at((start + stop) / 2, "bbr_pacing_gain"), 0.9, 1, ""),
        most("packets in flight at its end", seen.at(stop, "inflight_packets"), bdp(seen, stop) + 1, ""),
        seen.follows(number, CRUISE),
    ]


def _down_time(seen: Seen) -> list[Check]:
    number, start, stop = seen.phase(DOWN, 2.3)
    return [
        least("packets in flight at the end of DOWN", seen.at(stop, "inflight_packets"), bdp(seen, stop), ""),
        least("time in DOWN", stop - start, 1.9, "s"),
        most("time in DOWN", stop - start, 3.1, "s"),
        seen.follows(number, REFILL),
    ]


def _probe_rtt(seen: Seen) -> list[Check]:
    number, start, stop = seen.phase("probe_rtt")
    middle = (start + stop) / 2
    return [
        near("start of PROBE_RTT", start, 5, 2, "s"),
        near("cwnd gain", seen.at(middle, "bbr_cwnd_gain"), 0.5, 1, ""),
        near("duration", stop - start, 0.22, 15, "s"),
        most("packets in flight at its end", seen.at(stop, "inflight_packets"), 0.5 * bdp(seen, stop) + 1, ""),
        seen.follows(number, CRUISE, DOWN, REFILL, UP),
        near("throughput afterwards", seen.mbps(6, 8), PAYLOAD * 10, 5, "Mbit/s"),
    ]


def _skips_probe_rtt(seen: Seen) -> list[Check]:
    found = sum(name == "probe_rtt" for name, _, _ in seen.phases)
    return [
        most("packets in flight while idle", seen.at(8.5, "inflight_packets"), 0, ""),
        most("number of PROBE_RTT in 12 s", found, 0, ""),
        near("throughput after the pause", seen.mbps(9.5, 11.5), PAYLOAD * 10, 10, "Mbit/s"),
    ]


def _aggregation_startup(seen: Seen) -> list[Check]:
    _, _, stop = seen.phases[0]
    return [
        least("largest window in STARTUP, in BDP", seen.of("max", 0, stop, "cwnd_packets") / bdp(seen, stop), 2, ""),
        least("bandwidth estimate at its end", seen.at(stop, "bbr_bw_bps") / 1e6, 0.98 * PAYLOAD * 10, "Mbit/s"),
        seen.follows(0, "drain"),
    ]


def _aggregation_cruise(seen: Seen) -> list[Check]:
    _, start, stop = seen.phases[seen.first(CRUISE)]
    return [
        least(
            "smallest window in CRUISE, in BDP",
            seen.of("min", start + 0.2, stop, "cwnd_packets") / bdp(seen, stop),
            2,
            "",
        ),
        near("throughput in CRUISE", seen.mbps(start, stop), PAYLOAD * 10, 3, "Mbit/s"),
    ]


def _small_path(seen: Seen) -> list[Check]:
    after = seen.phases[seen.first(CRUISE)][1]
    pace = seen.of("median", 10, 20, "pacing_rate_bps") / 1e6
    smallest = seen.of("min", after, 20, "cwnd_packets")
    return [
        least("smallest window", smallest, 4, "packets"),
        near("median pacing rate", pace, PAYLOAD * 0.2, 10, "Mbit/s"),
        near("throughput", seen.mbps(5, 20), PAYLOAD * 0.2, 5, "Mbit/s"),
    ]


def _more_bandwidth(seen: Seen) -> list[Check]:
    reached = seen.flows.filter(pl.col("bbr_bw_bps") >= 0.9 * PAYLOAD * 1e8)["time_ns"]
    when = reached[0] / NS if len(reached) else float("inf")
    first = seen.first(UP, 4.0)
    _, start, _ = seen.phases[first]
    return [
        most("round trips from UP until 90 % of the new bandwidth is known", (when - start) / 0.04, 30, ""),
        near("throughput at last", seen.mbps(11, 14), PAYLOAD * 100, 12, "Mbit/s"),
    ]


def _less_bandwidth(seen: Seen) -> list[Check]:
    cycles = [start for name, start, _ in seen.phases if name == DOWN and start > 8]
    slower = seen.at(10.2, "pacing_rate_bps") / seen.at(7.9, "pacing_rate_bps")
    # The full buffer makes a round trip 440 ms long.
    return [
        most("pacing rate after 5 round trips, of that before", slower, 0.5, ""),
        near(
            "bandwidth estimate after two cycles",
            seen.at(cycles[2] + 0.2, "bbr_bw_bps") / 1e6,
            PAYLOAD * 10,
            10,
            "Mbit/s",
        ),
        near("throughput from 22 s", seen.mbps(22, 26), PAYLOAD * 10, 10, "Mbit/s"),
    ]


def _policer(seen: Seen) -> list[Check]:
    sent = seen.at(20, "data_segs_out") - seen.at(5, "data_segs_out")
    lost = seen.at(20, "retrans_packets") - seen.at(5, "retrans_packets")
    return [
        least("throughput from 5 s", seen.mbps(5, 20), 0.75 * PAYLOAD * 10, "Mbit/s"),
        most("retransmitted from 5 s", 100 * lost / sent, 5, "%"),
    ]


def _spurious_recovery(seen: Seen) -> list[Check]:
    return [
        *_spurious(seen, "recovery", 0.0, 8.0),
        near("throughput from 1 s", seen.mbps(1, 8), PAYLOAD * 10, 6, "Mbit/s"),
    ]


def _spurious_timeout(seen: Seen) -> list[Check]:
    return [
        *_spurious(seen, "loss", 2.2, 2.8),
        near("bandwidth estimate afterwards", seen.at(2.8, "bbr_bw_bps") / 1e6, PAYLOAD * 10, 5, "Mbit/s"),
        near("throughput from 3 s", seen.mbps(3, 5), PAYLOAD * 10, 10, "Mbit/s"),
    ]


def _spurious(seen: Seen, state: str, start: float, stop: float) -> list[Check]:
    rows = seen.flows.filter(pl.col("time_ns").is_between(start * NS, stop * NS) & (pl.col("ca_state") == state))
    begin, end = (rows["time_ns"][0] / NS, rows["time_ns"][-1] / NS) if len(rows) else (start, start)
    before, after = _phase_at(seen, begin - 0.001), _phase_at(seen, end + 0.03)
    return [
        least(f"samples in {state}", len(rows), 1, ""),
        least("retransmissions that the receiver reports as needless", seen.at(stop, "dsack_dups"), 1, ""),
        # A probe that loss has ended begins again with REFILL.
        (
            f"the phase afterwards is that before, {short(before)}, or leads to it",
            short(after),
            after == before or (before, after) == (UP, REFILL),
        ),
    ]


def _phase_at(seen: Seen, seconds: float) -> str:
    return next((name for name, start, stop in seen.phases if start <= seconds < stop), "none")


def _probe_rtt_in_startup(seen: Seen) -> list[Check]:
    number = seen.first("probe_rtt")
    again = number + 1
    grown = seen.at(seen.phases[again][2], "bbr_bw_bps") / seen.at(seen.phases[again][1], "bbr_bw_bps")
    return [
        ("STARTUP comes before PROBE_RTT", short(seen.phases[number - 1][0]), seen.phases[number - 1][0] == "startup"),
        seen.follows(number, "startup"),
        least("growth of the bandwidth estimate in this STARTUP", grown, 1.25, ""),
    ]


def _up_loss_with_bound(seen: Seen) -> list[Check]:
    first = seen.first(UP)
    number, start, stop = seen.phase(UP, seen.phases[first][2])
    return [
        least("retransmissions in the UP before, which set the bound", seen.at(start, "retrans_packets"), 1, ""),
        least("packets taken as lost at the end of this UP", seen.at(stop + 0.001, "lost_packets"), 1, ""),
        most("time in this UP, in round trips", (stop - start) / 0.05, 2, ""),
        seen.follows(number, DOWN),
    ]


def _pause_in_refill(seen: Seen) -> list[Check]:
    number, start, stop = seen.phase(REFILL)
    smallest = seen.of("min", start, stop, "inflight_packets")
    later = seen.first(UP, seen.phases[number + 1][2])
    return [
        most("least in flight in REFILL, in BDP", smallest / bdp(seen, stop), 0.6, ""),
        near(
            "bandwidth estimate, of that before", seen.at(stop, "bbr_bw_bps") / seen.at(start, "bbr_bw_bps"), 1, 0.1, ""
        ),
        seen.follows(number, UP),
        seen.follows(number + 1, DOWN),
        seen.follows(later, DOWN),
    ]


CASES: Sequence[tuple[str, Callable[[Seen], list[Check]]]] = (
    ("STARTUP ends when bandwidth no longer grows", _startup_plateau),
    ("STARTUP ends by loss although the application limits", _startup_loss),
    ("DRAIN ends when a BDP is in flight", _drain_inflight),
    ("DRAIN ends after three rounds", _drain_time),
    ("UP ends when bandwidth no longer grows", _up_plateau),
    ("UP ends by loss although the application limits", _up_loss),
    ("STARTUP goes on while the application limits and nothing is lost", _stays_in_startup),
    ("DOWN ends when little enough is in flight", _down_inflight),
    ("DOWN ends after the time between probes", _down_time),
    ("PROBE_RTT comes and goes", _probe_rtt),
    ("An idle time replaces PROBE_RTT", _skips_probe_rtt),
    ("STARTUP finds the bandwidth of a link that aggregates", _aggregation_startup),
    ("CRUISE uses a link that aggregates", _aggregation_cruise),
    ("A path that holds less than a packet", _small_path),
    ("Ten times the bandwidth", _more_bandwidth),
    ("A tenth of the bandwidth", _less_bandwidth),
    ("A policer", _policer),
    ("A needless fast recovery", _spurious_recovery),
    ("A needless retransmission timeout", _spurious_timeout),
    ("PROBE_RTT in STARTUP returns to it", _probe_rtt_in_startup),
    ("Loss in UP when the long-term bound is set", _up_loss_with_bound),
    ("The application pauses in REFILL", _pause_in_refill),
)

NOTES = {
    2: "So little is in flight that DRAIN is over with the acknowledgement that began it.",
    4: "The draft takes away a tenth of the bandwidth; at a gain of 0.5 the queue empties in time. Here 60 % go.",
    6: "The long-term bound is not visible; the draft lets a flow that the application limits set none.",
    12: "The estimate exceeds the link as acknowledgements come in slots of 20 ms; the draft does not forbid it.",
    14: "The path's BDP is 125 bytes; the estimate contains the flow's own queue of four packets.",
    16: "Short-term bounds are forgotten after PROBE_RTT, so the old bandwidth returns until two cycles are over.",
    21: "The UP before it loses packets too, which sets the bound.",
}
