"""Identify the controller of one connection: estimate, simulate, compare."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File

from dumbbell.errors import ImportProblem
from dumbbell.identification.candidates import (
    CONTROLLERS,
    EXACT,
    VARIED,
    Candidate,
    Runs,
    controllers_for,
    documents,
    simulate,
)
from dumbbell.identification.connection import Connection, read_connection
from dumbbell.identification.facts import facts_of
from dumbbell.identification.features import features
from dumbbell.identification.nearest import Ranked, Scales, Verdict, judged, ranking, scales_for
from dumbbell.identification.path import Path, path_of
from dumbbell.identification.round_trips import least_s

__all__ = ["Identification", "candidate_runs", "identify", "of_connection", "prepared"]

MOST_S = 60.0
MOST_PACKETS = 400_000
"""Of one run; the capture's first part of this size counts."""
MOST_MISSED = 0.01
"""Share of the data that a capture may lack: its losses would look like the path's."""
OTHERS = ("udp", "cubic", "bbr")
"""What other traffic may be: one that takes its rate, one that fills the queue, one that does not."""
AGAIN = 6
"""Candidates that run again on changed paths: the nearest of the first pass."""

Advance = Callable[[int, int], None]
"""Called with the number of finished runs and of all."""


@dataclass(frozen=True)
class Identification:
    """The answer."""

    flow: Connection
    path: Path
    ranking: Sequence[Ranked]
    judged: Verdict
    runs: int
    warnings: Sequence[str]

    @property
    def verdict(self) -> str:
        """The nearest candidate, or `unknown` if none is near or another one is nearly as near."""
        return self.judged.name

    @property
    def confidence(self) -> float:
        """Of the verdict."""
        if not self.judged.known:
            return 1 - sum(each.confidence for each in self.ranking)
        return self.ranking[0].confidence


def identify(
    file: File, flow: str | None = None, *, controllers: Sequence[str] = CONTROLLERS, jobs: int | None = None,
    advance: Advance = lambda _done, _all: None,
) -> Identification:  # fmt: skip
    """Name the controller that sent a connection of a capture.

    Raises `ImportProblem` for what is no capture, has no such connection, or is too short.
    """
    connection, warnings = read_connection(file, flow)
    found = of_connection(connection, str(file), controllers=controllers, jobs=jobs, advance=advance)
    return Identification(
        found.flow, found.path, found.ranking, found.judged, found.runs, [*warnings, *found.warnings]
    )  # fmt: skip


def of_connection(
    flow: Connection, file: str, *, controllers: Sequence[str] = CONTROLLERS, jobs: int | None = None,
    advance: Advance = lambda _done, _all: None,
) -> Identification:  # fmt: skip
    """Name the controller of a connection. Raises `ImportProblem`."""
    flow, path, warnings = prepared(flow, file)
    scales = scales_for(path)
    seen = features(flow, path)
    runs, total = candidate_runs(flow, path, seen, scales, controllers, jobs=jobs, advance=advance)
    ranked = ranking(seen, runs, scales)
    return Identification(flow, path, ranked, judged(ranked, scales), total, warnings)


def candidate_runs(
    flow: Connection, path: Path, seen: Mapping[str, float], scales: Scales, controllers: Sequence[str], *,
    jobs: int | None = None, advance: Advance = lambda _done, _all: None, also: Sequence[str] = (),
) -> tuple[dict[str | None, Runs], int]:  # fmt: skip
    """All candidates once, the nearest and `also` again; by what the other traffic was, and the number of runs."""
    names, kinds = controllers_for(flow, controllers), OTHERS if path.other_share > 0 else (None,)
    first = {
        others: [each for name in names for each in documents(name, path, others, flow, EXACT)] for others in kinds
    }
    again = min(AGAIN + len(also), len(names))
    total, done = sum(map(len, first.values())) + len(VARIED) * again, 0

    def one() -> None:
        nonlocal done
        done += 1
        advance(done, total)

    runs: dict[str | None, Runs] = {others: simulate(each, path, jobs, one) for others, each in first.items()}
    ranked = ranking(seen, runs, scales)
    near = [each for place, each in enumerate(ranked) if place < AGAIN or each.controller in also]
    second: dict[str | None, list[Candidate]] = {}
    for each in near:
        second.setdefault(each.others, []).extend(documents(each.controller, path, each.others, flow, VARIED))
    for others, wanted in second.items():
        more = simulate(wanted, path, jobs, one)
        runs[others] = {name: [*several, *more.get(name, ())] for name, several in runs[others].items()}
    return runs, done


def prepared(flow: Connection, file: str) -> tuple[Connection, Path, list[str]]:
    """The counted part of a connection, its path as the candidates get it, and warnings. Raises `ImportProblem`."""
    if flow.missed > MOST_MISSED:
        raise ImportProblem(
            f"the capture lacks {100 * flow.missed:.2g} % of the data that was acknowledged", file=file,
            value=flow.label, right="one without drops, such as tcpdump -B 65536 -s 128 writes",
        )  # fmt: skip
    lasted = flow.duration_s
    if lasted > MOST_S:
        # Before anything is computed by time: one wrong time stamp makes a connection of decades.
        flow = flow.until(MOST_S)
    path = path_of(facts_of(flow, file), flow)
    counted = min(MOST_S, MOST_PACKETS * 1514 * 8 / path.rate_bps)
    warnings = []
    if flow.missed > 0:
        warnings.append(f"the capture lacks {100 * flow.missed:.2g} % of the data that was acknowledged")
    if counted < lasted:
        needed = least_s(path.rtt_s)
        if counted < needed:
            raise ImportProblem(
                f"{path.rate_bps / 1e6:.3g} Mbit/s are too fast to simulate the {needed:.3g} s that it takes to say",
                file=file, value=flow.label, right=f"at most {path.rate_bps * counted / needed / 1e6:.3g} Mbit/s",
            )  # fmt: skip
        warnings.append(f"only the first {counted:.3g} of {lasted:.3g} s count")
        flow = flow.until(counted)
        path = path_of(facts_of(flow, file), flow)
    if 0.15 < path.position < 0.85:
        nearer = "sender" if path.at_sender else "receiver"
        warnings.append(f"captured in the middle of the path; candidates are captured at the {nearer}")
    if not flow.handshake:
        warnings.append("the connection's start is missing, so its start tells nothing")
    if path.loss > 0:
        warnings.append(f"{100 * path.loss:.2g} % of packets seem to be lost at random")
    return flow, path, warnings
