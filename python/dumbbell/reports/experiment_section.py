"""The experiment that ran: its file, a diagram of its path, and a shell script for any Linux host.

The manifest holds the experiment with all defaults filled in. This module parses that, so the page shows what ran.
`path_diagram` draws the path.
"""

import json
from pathlib import Path

from dumbbell.errors import DumbbellError
from dumbbell.plan import as_script, plan_case
from dumbbell.reports.markup import Markup, details, element, join
from dumbbell.reports.path_diagram import dumbbell
from dumbbell.results.result import Run
from dumbbell.spec import Case, Experiment, read
from dumbbell.spec.document import as_toml
from dumbbell.spec.experiment import short_document_of
from dumbbell.spec.units import Wrong

__all__ = ["by_hand", "experiment_of", "experiment_section", "text_of"]


def experiment_section(run: Run) -> Markup:
    """The experiment as a diagram and as a file."""
    if run.manifest.get("experiment") is None:
        logs = json.dumps(run.manifest.get("import"), indent=1, ensure_ascii=False)
        log_details = details("Logs: format, rounding, missing fields", element("pre", logs))
        return join([element("h3", "Imported logs"), log_details])
    experiment = experiment_of(run)
    if experiment is None:
        written = json.dumps(run.manifest.get("experiment"), indent=1, ensure_ascii=False)
        return join([element("h3", "Experiment"), element("pre", written)])
    text = text_of(experiment)
    seed = element("p", f"Random seed {run.manifest['seed']}, engine {run.manifest['engine']}.", css="quiet")
    return join([element("h3", "Experiment"), dumbbell(experiment), element("pre", text), seed])


def text_of(experiment: Experiment) -> str:
    """The experiment as TOML, without keys that have their default value."""
    return as_toml({key: value for key, value in short_document_of(experiment).items() if key != "source"})


def experiment_of(run: Run) -> Experiment | None:
    """The experiment that ran; None if the manifest has none that this version can parse."""
    try:
        return read(run.manifest["experiment"], Path(str(run.manifest.get("name"))))[0].experiment
    except (DumbbellError, KeyError, TypeError):
        return None


def by_hand(run: Run) -> str:
    """A shell script that runs the same experiment with iperf3; the recorded commands if no script can be made."""
    experiment = experiment_of(run)
    commands = "\n".join(str(line) for line in run.manifest.get("commands") or [])
    if experiment is None:
        return commands
    case = Case(str(run.manifest.get("case") or ""), experiment, Path(str(run.manifest.get("name"))), {})
    try:
        return as_script(plan_case(case, int(run.manifest["seed"])), experiment.title)
    except (DumbbellError, Wrong, OSError):
        return commands  # The trace or script next to the experiment file is not part of the result.
