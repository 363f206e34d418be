"""Identify the controller of one connection: estimate, simulate, compare."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path as File

from dumbbell.errors import ImportProblem
from dumbbell.identification.candidates import CONTROLLERS, Runs, controllers_for, documents, rounded, simulate
from dumbbell.identification.connection import Connection, read_connection
from dumbbell.identification.features import features
from dumbbell.identification.nearest import UNKNOWN, Ranked, ranking, scales_for
from dumbbell.identification.path import Path, estimate, least_s

__all__ = ["Identification", "hypotheses", "identify", "prepared"]

MOST_S = 60.0
MOST_PACKETS = 400_000
"""Of one run; the capture's first part of this size counts."""
MOST_MISSED = 0.01
"""Share of the data that a capture may lack: its losses would look like the path's."""
OTHERS = ("udp", "cubic")
"""What other traffic may be: one that takes its rate, or one that adapts."""

Advance = Callable[[int, int], None]
"""Called with the number of finished runs and of all."""


@dataclass(frozen=True)
class Identification:
    """The answer."""

    flow: Connection
    path: Path
    ranking: Sequence[Ranked]
    limit: float
    runs: int
    warnings: Sequence[str]

    @property
    def verdict(self) -> str:
        """The nearest candidate, or `unknown` if none is near."""
        return self.ranking[0].controller if self.ranking[0].distance <= self.limit else UNKNOWN

    @property
    def confidence(self) -> float:
        """Of the verdict."""
        if self.verdict == UNKNOWN:
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
    connection, path, more = prepared(connection, str(file))
    kinds = hypotheses(path)
    names = controllers_for(connection, controllers)
    candidates = {
        others: [each for name in names for each in documents(name, path, others, connection)] for others in kinds
    }
    total, done = sum(map(len, candidates.values())), 0

    def one() -> None:
        nonlocal done
        done += 1
        advance(done, total)

    runs: dict[str | None, Runs] = {others: simulate(each, path, jobs, one) for others, each in candidates.items()}
    scales = scales_for(path)
    ranked = ranking(features(connection, path), runs, scales)
    return Identification(connection, path, ranked, scales.limit, total, [*warnings, *more])


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
    path = estimate(flow, file)
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
        path = estimate(flow, file)
    if 0.15 < path.position < 0.85:
        nearer = "sender" if path.at_sender else "receiver"
        warnings.append(f"captured in the middle of the path; candidates are captured at the {nearer}")
    if not flow.handshake:
        warnings.append("the connection's start is missing, so its start tells nothing")
    if path.loss > 0:
        warnings.append(f"{100 * path.loss:.2g} % of packets seem to be lost at random")
    return flow, rounded(path), warnings


def hypotheses(path: Path) -> Sequence[str | None]:
    """What other traffic may be."""
    return OTHERS if path.other_share > 0 else (None,)
