"""Plans of experiments: topology, commands, flows, probes, changes. `crates/experiment/src/plan` makes them."""

from dumbbell.plan.model import Command, FlowPlan, Plan, QueuePlan, TimedCommand
from dumbbell.plan.planning import as_script, as_world, make, plan_case, simulator_plan

__all__ = [
    "Command",
    "FlowPlan",
    "Plan",
    "QueuePlan",
    "TimedCommand",
    "as_script",
    "as_world",
    "make",
    "plan_case",
    "simulator_plan",
]
