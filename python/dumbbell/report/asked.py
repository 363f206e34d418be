"""What was asked: the experiment as the file that one would write, drawn, and as a script for any Linux box.

The certificate holds the experiment with every default filled in; it is read back as an experiment, so that what is
shown here is what ran. The picture is `drawing`.
"""

import json
from pathlib import Path

from pydantic import ValidationError

from dumbbell.errors import DumbbellError
from dumbbell.plan import as_script, plan_case
from dumbbell.report.drawing import dumbbell
from dumbbell.report.markup import Markup, details, element, join
from dumbbell.result import Run
from dumbbell.spec import Case, Experiment
from dumbbell.spec.tomlout import as_toml
from dumbbell.spec.units import Wrong

__all__ = ["asked", "by_hand", "experiment_of", "text_of"]


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
    text = text_of(experiment)
    seed = element("p", f"Seed {run.birth['seed']}, on the engine {run.birth['engine']}.", css="quiet")
    return join([element("h3", "What was asked"), dumbbell(experiment), element("pre", text), seed])


def text_of(experiment: Experiment) -> str:
    """The experiment as the file that one would write: what isn't said is as always."""
    return as_toml(experiment.model_dump(mode="json", exclude_defaults=True, exclude={"source"}))


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
