"""What an experiment sets of controllers, as Linux has it: parameters of a module, for all its sockets at once.

The simulator's controllers take theirs one flow at a time (`plan.world`).
"""

from collections.abc import Iterable

from dumbbell.errors import ExperimentError
from dumbbell.plan.layout import Command

__all__ = ["module_writes"]

Parameters = tuple[tuple[str, int | str], ...]


def module_writes(controllers: Iterable[tuple[str | None, Parameters]]) -> list[Command]:
    """A command for each parameter that is set, in the order written.

    `controllers`: each flow's controller and what is set of it. Raises `ExperimentError` where two flows want the
    same module set differently.
    """
    asked: dict[str, Parameters] = {}
    for cc, parameters in controllers:
        if cc is not None and asked.setdefault(cc, parameters) != parameters:
            raise ExperimentError(
                f"two groups set {cc} differently, but Linux has one setting for all sockets",
                key="flows.cc_parameters",
                value=dict(parameters),
                right=f"the same as {dict(asked[cc])}, or run it with --engine sim",
            )
    return [
        Command("", ("write", f"/sys/module/tcp_{cc.replace('-', '_')}/parameters/{name}", str(value)))
        for cc, parameters in asked.items()
        for name, value in parameters
    ]
