"""Engines: one verb, `run`, from an experiment to a result folder.

```text
base         what every engine offers, and the progress that it tells
sim          the packet simulator: no kernel, no root, no other process
journeys     where every packet was, for a window of time, by the simulator
sim_tables   its tables with every column that a result has
kernel       the real Linux kernel as User-Mode Linux in virtual time
host         this machine's own kernel, in namespaces of its own, in real time
host_worker  one worker of the agent as a process of this machine
host_trial   has this machine what a plan needs?
host_watch   was the machine, not the path, the limit?
host_machine the machine, for the certificate
agent        what engines share that run the agent
guest        one guest as a process of the host: command line, limits, last words
decode       the agent's raw records to tables
rates        the rate behind a queue at each sample, and the delay there
validity     did the run measure what was asked?
certificate  run.json, but for what an engine knows of itself
permissions  what the user, and no file, lets a run start
requests     which engine, which seeds, what a run's folder is called, how to repeat it
output       a result folder that appears whole or not at all
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.engine.base import Engine, Progress, Request
    from dumbbell.engine.host import HostEngine
    from dumbbell.engine.kernel import KernelEngine
    from dumbbell.engine.sim import Simulator

__all__ = ["Engine", "HostEngine", "KernelEngine", "Progress", "Request", "Simulator"]

_MODULES = {"HostEngine": "host", "KernelEngine": "kernel", "Simulator": "sim"}
"""Where each is that `base` doesn't have. Imported when first asked for: who needs one engine, or only the records'
layout, doesn't wait for all of them."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'dumbbell.engine' has no attribute '{name}'")
    return getattr(import_module(f"dumbbell.engine.{_MODULES.get(name, 'base')}"), name)
