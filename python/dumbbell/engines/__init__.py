"""Engines run an experiment and write a result folder.

```text
base                 the interface of an engine, requests, progress
sim/                 the packet simulator, in this process
kernel/              the Linux kernel as User-Mode Linux in virtual time
host/                this host's own kernel in network namespaces, in real time
remote/              real hosts, reached by ssh
agent_engine         shared by the engines that run the agent
decode               the agent's raw records to tables
recordings           optional recordings: packets, counters, trace events
program_connections  connections of programs as flows
program_results      output, files and exit status of programs
shell_session        an interactive shell in a guest
output_tail          a program's output while it runs
validity             did the run measure what the experiment asks for?
run_manifest         the manifest, `run.json`
permissions          what the user allows a run to start
requests             engine, seeds, folder name and command of a run
cores                a CPU core for each guest
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.engines.base import Engine, Progress, Request
    from dumbbell.engines.host.host_engine import HostEngine
    from dumbbell.engines.kernel.kernel_engine import KernelEngine
    from dumbbell.engines.sim.sim_engine import Simulator

__all__ = ["Engine", "HostEngine", "KernelEngine", "Progress", "Request", "Simulator"]

_MODULES = {"HostEngine": "host.host_engine", "KernelEngine": "kernel.kernel_engine", "Simulator": "sim.sim_engine"}
"""Modules of the names that `base` lacks. They are imported on first use: users of one engine need not wait for the
others."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'dumbbell.engines' has no attribute '{name}'")
    return getattr(import_module(f"dumbbell.engines.{_MODULES.get(name, 'base')}"), name)
