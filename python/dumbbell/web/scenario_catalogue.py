"""The built-in experiments for the page's menu: one text per experiment, or one per case."""

from functools import cache
from pathlib import Path
from typing import Any

from dumbbell.engines.sim.sim_engine import Simulator
from dumbbell.spec import load, published, scenarios
from dumbbell.spec.document import Case, as_toml, text_of, toml, without_cases

__all__ = ["BLANK", "catalogue", "texts_of"]

BLANK = """title = "A dumbbell"
duration = "30s"

[path]
rtt = "40ms"

[path.bottleneck]
rate = "50mbit"
qdisc = "pfifo limit 1bdp"

[[flows]]
cc = "bbr"

[[flows]]
cc = "cubic"
"""
"""The experiment of a new page."""


@cache
def catalogue() -> list[dict[str, Any]]:
    """Return `name`, `title`, `case`, `published` and `toml` of each that the simulator can run, a dumbbell first."""
    blank = {"name": "dumbbell", "title": "A dumbbell", "case": "", "published": False, "toml": BLANK}
    files, published_names = scenarios(), published()
    return [
        blank,
        *(entry for name, file in files.items() for entry in _entries(name, file, published=name in published_names)),
    ]


def _entries(name: str, file: Path, *, published: bool) -> list[dict[str, Any]]:
    return [
        {"name": name, "title": case.experiment.title, "case": case.name, "published": published, "toml": text}
        for case, text in texts_of(file)
        if _playable(case)
    ]


def texts_of(file: Path) -> list[tuple[Case, str]]:
    """Return every case of a file with its text. Raises `ExperimentError`."""
    text, cases = text_of(file), load(file)
    return [(case, as_toml(without_cases(toml(text, file), file, case.name)) if case.name else text) for case in cases]


def _playable(case: Case) -> bool:
    """Return whether the simulator can run the case."""
    known = set(Simulator.controllers())
    experiment = case.experiment
    return not experiment.programs and all(group.cc is None or group.cc in known for group in experiment.flows)
