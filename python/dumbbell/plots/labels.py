"""Names that distinguish runs from each other."""

from collections.abc import Sequence
from typing import Any

from dumbbell.results.result import Run

__all__ = ["configurations", "labels"]


def labels(runs: Sequence[Run]) -> list[str]:
    """A unique name for each run: experiment, case, engine, kernel and seed, as far as they differ."""
    names = _distinguished(
        [[*_setup(run), "" if (seed := run.manifest["seed"]) is None else f"seed {seed}"] for run in runs]
    )
    if len(set(names)) == len(runs):
        return names
    # Identical experiments: use the folders.
    folders = _distinguished([list(run.folder.resolve().parts) for run in runs])
    return folders if len(set(folders)) == len(runs) else [f"run {place + 1}" for place in range(len(runs))]


def configurations(runs: Sequence[Run]) -> list[str]:
    """A name for each run's configuration; runs that differ only in seed share it."""
    names = _distinguished([_setup(run) for run in runs])
    return [name or str(run.manifest.get("name") or "runs") for name, run in zip(names, runs, strict=True)]


def _setup(run: Run) -> list[str]:
    manifest: dict[str, Any] = run.manifest
    kernel = (manifest.get("kernel") or {}).get("release")
    return [
        str(manifest.get("name") or ""),
        str(manifest.get("case") or _controllers(run)),
        str(manifest["engine"]),
        f"Linux {kernel}" if kernel else "",
        next((str(queue["qdisc"]) for queue in manifest["queues"] if queue["name"] == manifest.get("bottleneck")), "")
        if not manifest.get("case")
        else "",
    ]


def _controllers(run: Run) -> str:
    return "+".join(dict.fromkeys(str(flow["cc"] or flow["kind"]) for flow in run.manifest["flows"]))


def _distinguished(parts: list[list[str]]) -> list[str]:
    """Join each row's parts, without those that are equal in all rows."""
    differing = range(max((len(row) for row in parts), default=0))
    rows = [[row[place] if place < len(row) else "" for place in differing] for row in parts]
    differ = [place for place in differing if len({row[place] for row in rows}) > 1]
    return [", ".join(row[place] for place in differ if row[place]) for row in rows]
