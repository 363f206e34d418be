"""Plans of experiments: topology, commands, flows, probes, changes. `crates/experiment/src/plan` makes them.

```text
planning         an experiment to a plan; a plan for the simulator and as a script
remote           the same on real hosts
model            the values of a plan
inside           what is recorded in addition to every result's tables
native_json      files and limits as `crates/experiment` reads them
```
"""

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
