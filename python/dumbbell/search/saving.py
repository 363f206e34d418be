"""Saves what a search found: `worst.toml`, which `dumbbell run` runs and checks, and `search.json`."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dumbbell import _sim, publish
from dumbbell.search.outcome import Checked, Found
from dumbbell.spec import document as documents
from dumbbell.spec.document import Experiment, as_toml
from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.trials import Candidate

__all__ = ["REPORT", "WORST", "as_json", "experiment_of", "save"]

WORST = "worst.toml"
REPORT = "search.json"
OF_GROUPS = ("throughput_mbps", "share")
"""What `dumbbell run --json` has by group."""
WIDER = 1.25
"""Ranges of a formula's metrics are so much wider than what the runs had."""


def save(sweep: Sweep, found: Found, folder: Path, command: str) -> Path | None:
    """Write both files; returns the experiment's, if there is one. Raises `OutputError`."""
    texts = {REPORT: json.dumps(as_json(found), indent=1, ensure_ascii=False) + "\n"}
    if found.document:
        texts[WORST] = as_toml(experiment_of(sweep, found, command))
    try:
        for name, text in texts.items():
            publish.write(folder / name, text.encode())
    except OSError as error:
        raise publish.explained(error, folder) from error
    return folder / WORST if found.document else None


def experiment_of(sweep: Sweep, found: Found, command: str) -> dict[str, Any]:
    """The smallest experiment, with what is expected of it and where it comes from."""
    note = [f"Found by: {command}.", f"Unchanged, the experiment has {_shown(found.baseline)}."]
    note += [_sentence(each) for each in (found.simulated, found.on_kernel) if each is not None]
    document = {key: value for key, value in found.document.items() if key not in ("title", "flows", "path")}
    rest = {key: found.document[key] for key in ("path", "flows")}
    of_metric = f"{found.formula} is {'small' if found.minimize else 'large'}: " if _is_metric(found.formula) else ""
    made = {"title": of_metric + sweep.title, **document}
    if sweep.seeds != (1,):
        made["seeds"] = list(sweep.seeds)
    if expected := _expectations(sweep, found):
        made["expect"] = expected
    return made | rest | {"source": {"title": "dumbbell search", "note": " ".join(note)}}


def as_json(found: Found) -> dict[str, Any]:
    """The object that `--json` prints."""
    return {
        "objective": found.formula,
        "direction": "minimize" if found.minimize else "maximize",
        "threshold": found.threshold,
        "unchanged": found.baseline.json,
        "first": found.first,
        "best": [_candidate(each) for each in found.best],
        "chosen": found.chosen and found.chosen.point,
        "smallest": {
            "experiment": found.document or None,
            "steps": list(found.steps),
            "simulated": found.simulated and found.simulated.json,
            "kernel": found.on_kernel and found.on_kernel.json,
            "confirmed": None if found.on_kernel is None else found.fails(found.on_kernel),
        },
    }


def _candidate(trial: Candidate) -> dict[str, Any]:
    return {"point": trial.point, "values": dict(trial.values), "found": list(trial.found), "mean": trial.mean}


def _expectations(sweep: Sweep, found: Found) -> list[str]:
    """The threshold of a metric; of a formula, which can't be expected, ranges of its metrics."""
    window = ""
    if sweep.window is not None:
        start, end = sweep.window
        window = f" from {_sim.time_text(start)}" + (f" to {_sim.time_text(end)}" if end else "")
    (case,) = documents.read(dict(found.document), sweep.experiment_file)
    if _is_metric(found.formula):
        name = _in_json(found.formula, case.experiment)
        return [f"{name}{window} {'<=' if found.minimize else '>='} {found.threshold:g}"] if name else []
    runs = [run for each in (found.simulated, found.on_kernel) if each is not None for run in each.metrics]
    names = [name for name in (runs[0] if runs else {}) if _is_in(name, found.formula)]
    ends = {_in_json(name, case.experiment): [run[name] for run in runs if name in run] for name in names}
    return [f"{name}{window} in {min(of) / WIDER:.3g}..{max(of) * WIDER:.3g}" for name, of in ends.items() if name]


def _in_json(name: str, experiment: Experiment) -> str | None:
    """The name of a metric in `dumbbell run --json`; None if only sweeps have it.

    There a group has its throughput and share; the rest is by flow, and a group of one flow is that flow.
    """
    found = re.fullmatch(r"groups\.(.+?)\.(.+)", name)
    if found is None or found[2] in OF_GROUPS:
        return name
    counts = dict(zip(experiment.group_names, (group.count for group in experiment.flows), strict=True))
    return f"flows.{found[1]}.{found[2]}" if counts.get(found[1]) == 1 else None


def _is_in(name: str, formula: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", formula) is not None


def _is_metric(formula: str) -> bool:
    """Is it one name, without arithmetic?"""
    return re.fullmatch(r"[\w.-]+", formula) is not None


def _sentence(checked: Checked) -> str:
    reason = f" ({checked.reason})" if checked.reason else ""
    return f"On the engine {checked.engine}: {_shown(checked)}{reason}."


def _shown(checked: Checked) -> str:
    values: Mapping[float | None, None] = dict.fromkeys(checked.found)
    return ", ".join("unknown" if each is None else f"{each:.4g}" for each in values)
