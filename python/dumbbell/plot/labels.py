"""What to call a run among others: whatever tells them apart, and nothing that they have in common."""

from collections.abc import Sequence
from typing import Any

from dumbbell.result import Run

__all__ = ["configurations", "labels"]


def labels(runs: Sequence[Run]) -> list[str]:
    """A name for each run, no two alike: experiment, case, engine, kernel and seed as far as they differ."""
    names = _told_apart([[*_setup(run), "" if (seed := run.birth["seed"]) is None else f"seed {seed}"] for run in runs])
    if len(set(names)) == len(runs):
        return names
    # The same experiment twice: only their folders differ.
    folders = _told_apart([list(run.folder.resolve().parts) for run in runs])
    return folders if len(set(folders)) == len(runs) else [f"run {place + 1}" for place in range(len(runs))]


def configurations(runs: Sequence[Run]) -> list[str]:
    """A name for each run's set-up: runs that differ in their seed only share it."""
    names = _told_apart([_setup(run) for run in runs])
    return [name or str(run.birth.get("name") or "runs") for name, run in zip(names, runs, strict=True)]


def _setup(run: Run) -> list[str]:
    birth: dict[str, Any] = run.birth
    kernel = (birth.get("kernel") or {}).get("release")
    return [
        str(birth.get("name") or ""),
        str(birth.get("case") or _controllers(run)),
        str(birth["engine"]),
        f"Linux {kernel}" if kernel else "",
        next((str(queue["qdisc"]) for queue in birth["queues"] if queue["name"] == birth.get("bottleneck")), "")
        if not birth.get("case")
        else "",
    ]


def _controllers(run: Run) -> str:
    return "+".join(dict.fromkeys(str(flow["cc"] or flow["kind"]) for flow in run.birth["flows"]))


def _told_apart(parts: list[list[str]]) -> list[str]:
    """Each row's words joined, but for the places at which all rows say the same."""
    places = range(max((len(row) for row in parts), default=0))
    rows = [[row[place] if place < len(row) else "" for place in places] for row in parts]
    differ = [place for place in places if len({row[place] for row in rows}) > 1]
    return [", ".join(row[place] for place in differ if row[place]) for row in rows]
