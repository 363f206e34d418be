"""Saves what a search found: `worst.toml`, which `dumbbell run` runs and checks, and `search.json`."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dumbbell import _sim, publish
from dumbbell.search.outcome import Checked, Found
from dumbbell.spec.document import as_toml
from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.trials import Trial

__all__ = ["REPORT", "WORST", "as_json", "experiment_of", "save"]

WORST = "worst.toml"
REPORT = "search.json"


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
    note += [_said(each) for each in (found.simulated, found.on_kernel) if each is not None]
    document = {key: value for key, value in found.document.items() if key not in ("title", "flows", "path")}
    rest = {key: found.document[key] for key in ("path", "flows")}
    title = f"{found.formula} is {'small' if found.minimize else 'large'}: {sweep.title}"
    made = {"title": title[:200], **document}
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
        "best": [_trial(each) for each in found.best],
        "chosen": found.chosen and found.chosen.point,
        "smallest": {
            "experiment": found.document or None,
            "steps": list(found.steps),
            "simulated": found.simulated and found.simulated.json,
            "kernel": found.on_kernel and found.on_kernel.json,
            "confirmed": None if found.on_kernel is None else found.fails(found.on_kernel),
        },
    }


def _trial(trial: Trial) -> dict[str, Any]:
    return {"point": trial.point, "values": dict(trial.values), "found": list(trial.found), "mean": trial.mean}


def _expectations(sweep: Sweep, found: Found) -> list[str]:
    """The threshold, if the searched value is a metric; a formula can't be expected."""
    if not _is_metric(found.formula):
        return []
    window = ""
    if sweep.window is not None:
        start, end = sweep.window
        window = f" from {_sim.time_text(start)}" + (f" to {_sim.time_text(end)}" if end else "")
    return [f"{found.formula}{window} {'<=' if found.minimize else '>='} {found.threshold:.6g}"]


def _is_metric(formula: str) -> bool:
    """Is it one name, without arithmetic?"""
    return re.fullmatch(r"[\w.-]+", formula) is not None


def _said(checked: Checked) -> str:
    reason = f" ({checked.reason})" if checked.reason else ""
    return f"On the engine {checked.engine}: {_shown(checked)}{reason}."


def _shown(checked: Checked) -> str:
    values: Mapping[float | None, None] = dict.fromkeys(checked.found)
    return ", ".join("unknown" if each is None else f"{each:.4g}" for each in values)
