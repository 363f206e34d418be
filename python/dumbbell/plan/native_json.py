"""The files that an experiment names, and the limits, as JSON for `crates/experiment` (`plan/attachments.rs`)."""

from pydantic_core import to_json

from dumbbell import limits
from dumbbell.spec.attachments import Attachments

__all__ = ["attachments_json", "limits_json"]


def attachments_json(attachments: Attachments) -> str:
    """The files that it names."""
    script = attachments.script
    return to_json(
        {"script": script and {"lines": script.lines, "marks": script.marks}, "trace": attachments.trace}
    ).decode()


def limits_json() -> str:
    """The limits of this process."""
    return to_json({name: limits.most(name) for name in limits.PLAN}).decode()
