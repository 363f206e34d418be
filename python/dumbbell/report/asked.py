"""What was asked: the experiment as the file that one would write, drawn, and as a script for any Linux box.

The certificate holds the experiment with every default filled in; it is read back as an experiment, so that what is
shown here is what ran. The picture is `drawing`.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dumbbell.errors import DumbbellError
from dumbbell.plan import as_script, plan_case
from dumbbell.report.drawing import dumbbell
from dumbbell.report.markup import Markup, details, element, join
from dumbbell.result import Run
from dumbbell.spec import Case, Experiment
from dumbbell.spec.units import Wrong

__all__ = ["as_toml", "asked", "by_hand", "experiment_of", "inline"]


def asked(run: Run) -> Markup:
    """The experiment, drawn and written."""
    if run.birth.get("experiment") is None:
        logs = json.dumps(run.birth.get("import"), indent=1, ensure_ascii=False)
        told = details("The logs: what they are, how they round, what they don't say", element("pre", logs))
        return join([element("h3", "What was imported"), told])
    experiment = experiment_of(run)
    if experiment is None:
        written = json.dumps(run.birth.get("experiment"), indent=1, ensure_ascii=False)
        return join([element("h3", "What was asked"), element("pre", written)])
    text = as_toml(experiment.model_dump(mode="json", exclude_defaults=True, exclude={"source"}))
    seed = element("p", f"Seed {run.birth['seed']}, on the engine {run.birth['engine']}.", css="quiet")
    return join([element("h3", "What was asked"), dumbbell(experiment), element("pre", text), seed])


def experiment_of(run: Run) -> Experiment | None:
    """The experiment that ran; None where the certificate holds none that this Dumbbell reads."""
    try:
        return Experiment.model_validate(run.birth.get("experiment"))
    except (ValidationError, Wrong):
        return None


def by_hand(run: Run) -> str:
    """The script that does the same by hand, with iperf3; the bare commands where it can't be made again."""
    experiment = experiment_of(run)
    commands = "\n".join(str(line) for line in run.birth.get("commands") or [])
    if experiment is None:
        return commands
    case = Case(str(run.birth.get("case") or ""), experiment, Path(str(run.birth.get("name"))), {})
    try:
        return as_script(plan_case(case, int(run.birth["seed"])), experiment.title)
    except (DumbbellError, Wrong, OSError):
        return commands  # A trace or a script that lay beside the experiment's file is not here.


def as_toml(document: Mapping[str, Any]) -> str:
    """A document of the kind that an experiment is, as TOML: its values, then its tables, then lists of tables."""
    return "\n".join(_section(document, "")).strip() + "\n"


def _section(table: Mapping[str, Any], path: str) -> list[str]:
    lines, below = [], []
    for key, value in table.items():
        name = f"{path}.{_key(key)}" if path else _key(key)
        if isinstance(value, Mapping):
            below += ["", f"[{name}]", *_section(value, name)]
        elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            for item in value:
                below += ["", f"[[{name}]]", *_section(item, name)]
        elif value is not None:
            lines.append(f"{_key(key)} = {inline(value)}")
    return lines + below


def inline(value: Any) -> str:
    """A value of TOML on one line; a table between braces."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {inline(inner)}' for key, inner in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(inline(item) for item in value)}]"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else inline(key)
