"""Which stored kernel runs an experiment.

A kernel that the user names is used as it is. Without one it is the default kernel, or, if that lacks a congestion
control or queue discipline of the experiment, the one stored kernel that has all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dumbbell.errors import ExperimentError
from dumbbell.kernels import Kernel, find, kernels
from dumbbell.kernels.features import controllers, disciplines, features, holders
from dumbbell.plan import Plan
from dumbbell.spec import Case
from dumbbell.spec.units import GRAMMAR

__all__ = [
    "Choice",
    "check_disciplines",
    "choose",
    "kernel_for",
]


@dataclass(frozen=True)
class Choice:
    """A kernel, and why it isn't the default one."""

    kernel: Kernel
    reason: str = ""


def choose(planned: Sequence[tuple[Case, Plan]], default: Kernel) -> Choice:
    """The default kernel if it has what the cases of an experiment need, else the only stored kernel that has it.

    If no kernel has everything it is the default one, and the engine's checks say what that lacks.
    Raises `ExperimentError` if several have it, KernelError for a damaged kernel.
    """
    needed = frozenset().union(*(_needed(case, plan) for case, plan in planned))
    missing = needed - features(default)
    # Of a kernel without its configuration nothing is known but what was added to it.
    if not missing or controllers(default) is None:
        return Choice(default)
    having = holders(needed)
    if not having:
        return Choice(default)
    words = ", ".join(f"'{name}'" for name in sorted(missing))
    if len(having) > 1:
        raise ExperimentError(
            f"the default kernel '{default.name}' has no {words}, and several kernels have it",
            file=str(planned[0][0].file), key="--kernel",
            right=f"name one of them: {', '.join(kernel.name for kernel in having)}",
        )  # fmt: skip
    chosen = find(having[0].name)
    return Choice(chosen, f"kernel '{chosen.name}': the default kernel '{default.name}' has no {words}")


def kernel_for(case: Case, plan: Plan) -> str | None:
    """The name of the kernel to use where none is named, if it isn't the default one. Raises as `choose` does."""
    default = find(None)
    chosen = choose([(case, plan)], default).kernel
    return None if chosen.name == default.name else chosen.name


def check_disciplines(case: Case, plan: Plan, kernel: Kernel) -> None:
    """Raises `ExperimentError` for a queue discipline that this kernel lacks and Dumbbell or another kernel knows."""
    present = disciplines(kernel)
    absent = sorted(_disciplines(plan) - set(present)) if present is not None else []
    if not absent:
        return
    having = [each.name for each in holders({absent[0]})]
    raise ExperimentError(
        f"kernel '{kernel.name}' has no queue discipline with this name",
        file=str(case.file), key=next((q.key for q in plan.queues if q.kind == absent[0]), ""),
        value=absent[0],
        right=f"add --kernel with one that has it: {', '.join(having)}" if having else
        "dumbbell kernel list --available shows versions of Linux; dumbbell kernel build VERSION builds one",
    )  # fmt: skip


def _needed(case: Case, plan: Plan) -> frozenset[str]:
    return _disciplines(plan) | {group.cc for group in case.experiment.flows if group.kind == "tcp" and group.cc}


def _disciplines(plan: Plan) -> frozenset[str]:
    """The plan's kinds of queues; one that neither Dumbbell's grammar nor a stored kernel lists is left to tc."""
    known = {*GRAMMAR, *(name for kernel in kernels() for name in disciplines(kernel) or ())}
    return frozenset(plan.kinds_of_qdiscs & known)
