"""The built-in experiments as a page offers them: each is one text, and a case of several is one of its own."""

from functools import cache
from pathlib import Path
from typing import Any

from dumbbell.engines.sim.sim_engine import Simulator
from dumbbell.spec import load, published, scenarios
from dumbbell.spec.document import Case, text_of, toml, without_cases
from dumbbell.spec.tomlout import as_toml

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
"""Where nothing was chosen."""


@cache
def catalogue() -> list[dict[str, Any]]:
    """`name`, `title`, `case`, `published` and `toml` of each that the simulator can play, a dumbbell first."""
    blank = {"name": "dumbbell", "title": "A dumbbell", "case": "", "published": False, "toml": BLANK}
    known, late = scenarios(), published()
    return [blank, *(entry for name, file in known.items() for entry in _entries(name, file, published=name in late))]


def _entries(name: str, file: Path, *, published: bool) -> list[dict[str, Any]]:
    return [
        {"name": name, "title": case.experiment.title, "case": case.name, "published": published, "toml": text}
        for case, text in texts_of(file)
        if _playable(case)
    ]


def texts_of(file: Path) -> list[tuple[Case, str]]:
    """Every case of a file with a text of its own. Raises `ExperimentError`."""
    text, cases = text_of(file), load(file)
    return [(case, as_toml(without_cases(toml(text, file), file, case.name)) if case.name else text) for case in cases]


def _playable(case: Case) -> bool:
    """Has the simulator what it takes?"""
    known = set(Simulator.controllers())
    experiment = case.experiment
    return not experiment.programs and all(group.cc is None or group.cc in known for group in experiment.flows)
