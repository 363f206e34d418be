"""The files that an experiment names, and the limits, as JSON for `crates/experiment` (`plan/attachments.rs`)."""

import json

from dumbbell import limits
from dumbbell.spec.attachments import Attachments

__all__ = ["attachments_json", "limits_json"]

LIMITS = ("memory", "packets", "groups", "flows", "changes")


def attachments_json(attachments: Attachments) -> str:
    """The files that it names."""
    script = attachments.script
    return json.dumps({"script": script and {"lines": script.lines, "marks": script.marks}, "trace": attachments.trace})


def limits_json() -> str:
    """The limits of this process."""
    return json.dumps({name: limits.most(name) for name in LIMITS})
