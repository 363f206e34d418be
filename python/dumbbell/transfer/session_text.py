"""A session as sentences and as a JSON object (docs/fetch.md)."""

import math
import statistics
from typing import Any

from dumbbell.analysis.sequential import Answer, cliffs_delta, pairs_needed
from dumbbell.transfer.ab_session import Comparison, Session, Stopped, compared, margin
from dumbbell.transfer.client import Download

__all__ = ["as_json", "hints", "verdicts"]

FEW = "too few downloads for an interval"


def verdicts(session: Session) -> list[str]:
    """One sentence per comparison."""
    return [_verdict(session, each) for each in compared(session)] if _is_comparable(session) else []


def hints(session: Session) -> list[str]:
    """Notes on the validity of the measurement."""
    found = []
    if session.fault:
        found.append(f"{session.fault}; earlier measurements are kept")
    if session.stopped is Stopped.INTERRUPTED:
        found.append(f"interrupted after {session.blocks} complete {_unit(session, session.blocks)}; partial result")
    downloads = [each for trial in session.trials for each in trial.downloads]
    if downloads and not session.asked.ccs and all(each.cc is None for each in downloads):
        found.append("the server doesn't report its congestion control")
    held = [each for each in downloads if (each.server or {}).get("held_back_s", 0) > 0.01 * each.total_ns / 1e9]
    if held:
        found.append(
            f"the server's limits delayed {len(held)} of {len(downloads)} downloads: their times reflect the limits"
        )
    if len(session.asked.ccs) > 1 and session.about.get("metrics_saved"):
        found.append(
            "the server's kernel starts a connection with metrics of the last one to this address "
            "(net.ipv4.tcp_no_metrics_save=0), whatever its congestion control; the random order spreads this evenly"
        )
    return found


def as_json(session: Session) -> dict[str, Any]:
    """The JSON object documented in docs/fetch.md."""
    asked = session.asked
    return {
        "url": session.wanted.place.url,
        "size_bytes": session.wanted.size_bytes,
        "connections": asked.connections,
        "seed": asked.seed,
        "stopped": session.stopped.value,
        "fault": session.fault or None,
        "kinds": [_kind(session, cc) for cc in (asked.ccs or (None,))],
        "comparisons": [_comparison(session, each) for each in compared(session)] if _is_comparable(session) else [],
        "verdicts": verdicts(session),
        "notes": hints(session),
        "downloads": [
            _download(each, trial.cc, trial.block) for trial in session.trials for each in trial.downloads
        ],
    }  # fmt: skip


def _is_comparable(session: Session) -> bool:
    return all(trial.kept for trial in session.trials)


def _verdict(session: Session, found: Comparison) -> str:
    estimate, count = found.estimate, found.estimate.pairs
    unit = _unit(session, count)
    if found.second is None:
        spread = f" ({_seconds(estimate.low)} to {_seconds(estimate.high)})" if math.isfinite(estimate.high) else ""
        text = f"a download took {_seconds(estimate.median)}{spread}, the median of {count}"
        return text + ("" if math.isfinite(estimate.high) else f"; {FEW}") + _single_more(session, found)
    spread = f" ({estimate.low:.3g} to {estimate.high:.3g})" if math.isfinite(estimate.high) else ""
    took = f"{found.first} took {estimate.median:.3g} of {found.second}'s time{spread}, {count} {unit}"
    alike = 100 * margin(session.asked)
    match found.answer:
        case Answer.FIRST | Answer.SECOND:
            faster = found.first if found.answer is Answer.FIRST else found.second
            return f"{took}: {faster} is faster"
        case Answer.ALIKE:
            return f"{took}: no difference larger than {alike:.3g} %"
        case _ if not math.isfinite(estimate.high):
            return f"{took}: {FEW}{_more(session, found)}"
        case _:
            factor = max(estimate.high, 1 / estimate.low)
            return f"{took}: undecided, they differ by a factor of at most {factor:.3g}{_more(session, found)}"


def _single_more(session: Session, found: Comparison) -> str:
    wanted = margin(session.asked)
    if found.estimate.within <= wanted:
        return ""
    needed = pairs_needed(found.estimate, within=wanted)
    if needed is None:
        return ""
    return f"; about {needed - found.estimate.pairs} more would determine it within {100 * wanted:.3g} %"


def _more(session: Session, found: Comparison) -> str:
    """How many more downloads would decide it."""
    needed = pairs_needed(found.estimate, margin(session.asked))
    if needed is None or needed <= found.estimate.pairs:
        return ""
    more = needed - found.estimate.pairs
    least = f"{100 * margin(session.asked):.3g} %"
    return f"; about {more} more {_unit(session, more)} would decide it, or show a difference below {least}"


def _unit(session: Session, count: int) -> str:
    word = ("pair" if len(session.asked.ccs) == 2 else "block") if len(session.asked.ccs) > 1 else "download"
    return word if count == 1 else f"{word}s"


def _seconds(value: float) -> str:
    return f"{value:.3g} s"


def _kind(session: Session, cc: str | None) -> dict[str, Any]:
    trials = [trial for trial in session.trials if trial.cc == cc]
    times = [trial.time_s for trial in trials]
    downloads = [each for trial in trials for each in trial.downloads]
    again = [each.server["retransmits"] for each in downloads if each.server and "retransmits" in each.server]
    return {
        "cc": cc if cc is not None else (downloads[0].cc if downloads else None),
        "downloads": len(times),
        "time_s": _middle(times),
        "rate_mbps": _middle([trial.bytes * 8 / trial.time_s / 1e6 for trial in trials]),
        "first_byte_s": _middle([(each.first_byte_ns - each.asked_ns) / 1e9 for each in downloads]),
        "connect_s": _middle([each.connect_ns / 1e9 for each in downloads]),
        "retransmits": _middle([float(each) for each in again if isinstance(each, int)]),
    }


def _middle(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def _comparison(session: Session, found: Comparison) -> dict[str, Any]:
    estimate = found.estimate
    known = math.isfinite(estimate.high)
    two = found.second is not None
    first, second = session.times_s(found.first), session.times_s(found.second) if two else []
    needed = (
        pairs_needed(estimate, margin(session.asked)) if two else pairs_needed(estimate, within=margin(session.asked))
    )
    return {
        "first": found.first,
        "second": found.second,
        "ratio" if two else "time_s": estimate.median,
        "interval": [estimate.low, estimate.high] if known else None,
        "confidence": estimate.confidence,
        "method": estimate.method,
        "pairs": estimate.pairs,
        "medians_ratio": statistics.median(first) / statistics.median(second) if two else None,
        "cliffs_delta": cliffs_delta(first, second) if two else None,
        "answer": found.answer.value if two else None,
        "margin": margin(session.asked),
        "pairs_needed": needed,
    }


def _download(each: Download, cc: str | None, block: int) -> dict[str, Any]:
    server = each.server or {}
    return {
        "block": block,
        "cc_asked": cc,
        "cc": each.cc,
        "url": each.url,
        "address": each.address,
        "began_s": each.began_ns / 1e9,
        "dns_s": each.dns_ns / 1e9,
        "connect_s": each.connect_ns / 1e9,
        "tls_s": None if each.tls_ns is None else each.tls_ns / 1e9,
        "first_byte_s": each.first_byte_ns / 1e9,
        "total_s": each.total_ns / 1e9,
        "bytes": each.bytes,
        "status": each.status,
        "redirects": each.redirects,
        "retransmits": server.get("retransmits"),
        "held_back_s": server.get("held_back_s"),
    }
