"""The experiment: what a person asks for, as frozen values.

How Linux is told is `dumbbell.plan`; nothing here knows an engine.
"""

from dumbbell.spec.built_in import find, published, scenarios, with_programs
from dumbbell.spec.document import Case, Experiment, load, parse, read

__all__ = ["Case", "Experiment", "find", "load", "parse", "published", "read", "scenarios", "with_programs"]
