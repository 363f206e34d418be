"""How Linux is told: a pure function from an experiment to commands, flows, probes and changes.

```text
layout    hosts, wires, addresses: who is connected to whom
shaping   disciplines for a stretch of path: shaper, queue, netem
build     the whole plan, in order
building  what is filled in on the way
traffic   groups of flows to single flows, Poisson arrivals drawn
verbatim  tc scripts as they were run; scripttree what their disciplines and classes let through
changes   scheduled changes and traces to commands at their times
remote    the same on real hosts: which machine does what; remote_shell as a script
shell     a plan as a script that a person can read and run
world     a plan as the simulator reads it
tc/       tc commands as the numbers that they mean, for `world`
```

Emulation is right by default. The queue under test sits on a router of its own, never on the
sender, where TCP would feel a full queue as back-pressure instead of loss. Delay and loss sit on
devices of their own, never in front of the queue under test. netem's limits hold rate × delay
and more, so that the emulation drops nothing by itself. Offloads are off unless asked for: with
them a queue counts super-packets of up to 64 KB as one (fidelity of every netem loss depends on it).
"""

from dumbbell.plan.build import make, plan_case
from dumbbell.plan.layout import Command
from dumbbell.plan.model import FlowPlan, Plan, TimedCommand
from dumbbell.plan.queues import QueuePlan
from dumbbell.plan.shell import as_script
from dumbbell.plan.world import as_world

__all__ = ["Command", "FlowPlan", "Plan", "QueuePlan", "TimedCommand", "as_script", "as_world", "make", "plan_case"]
