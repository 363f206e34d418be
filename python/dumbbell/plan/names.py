"""No two queues of a result share a name: a link is not called as a queue is that the path has by itself."""

from dumbbell.errors import ExperimentError
from dumbbell.plan.model import Plan

__all__ = ["refuse_twins"]


def refuse_twins(plan: Plan) -> None:
    """Raises `ExperimentError` where two queues have one name."""
    seen = set[str]()
    for queue in plan.queues:
        if queue.name in seen:
            raise ExperimentError(
                "two queues of one name: the path has one that is called so by itself", key="path.links",
                value=queue.name, right="another name for the link",
            )  # fmt: skip
        seen.add(queue.name)
