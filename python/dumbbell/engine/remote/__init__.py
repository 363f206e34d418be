"""Real hosts: a part of an experiment on each of several machines, reached by ssh, left as they were.

```text
engine   a run from the plan to the result folder
ssh      the command that is started, and the words with which it fails
line     one machine: an ssh with an agent at its other end
frames   what is said over it
party    all machines: who is listened to, and that everybody hears a beat each second
clock    how far each machine's clock is ahead, and how well that is known
check    what a machine must be and have, before anything on it is changed
join     the records of all machines as those of one run
```

Which machine does what is `dumbbell.plan.remote`'s. What happens on a machine, and that everything on it is put back
whatever becomes of ssh or of us, is the agent's (`crates/agent/src/remote`).
"""

from dumbbell.engine.remote.engine import RemoteEngine

__all__ = ["RemoteEngine"]
