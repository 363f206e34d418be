"""Engines run an experiment and write a result folder.

```text
base              the interface of an engine, requests, progress, the user's permission
sim               the packet simulator, in this process; traces of every packet
kernel            the Linux kernel as User-Mode Linux in virtual time
├── kernel_choice     which stored kernel runs an experiment
├── guest             a guest as a process of the host
├── guest_failures    why a guest failed
└── shell_session     an interactive shell in a guest
host              this host's own kernel in network namespaces, in real time
├── capability_probe  what this host's kernel lacks for a plan
└── host_load         was the host the limit?
remote            real hosts, reached by ssh
├── agent_connection  one host: ssh and messages
├── host_group        all hosts of a run
└── remote_records    clocks, joined records, validity
agent_engine      shared by the engines that run the agent; optional recordings
├── decode            the agent's raw records to tables
├── program_qlogs     what programs' qlogs say of their flows
└── programs          output, files, exit status and connections of programs
run_manifest      the manifest, `run.json`; did the run measure what the experiment asks for?
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.engines.base import Engine, Progress, Request
    from dumbbell.engines.host import HostEngine
    from dumbbell.engines.kernel import KernelEngine
    from dumbbell.engines.sim import Simulator

__all__ = ["Engine", "HostEngine", "KernelEngine", "Progress", "Request", "Simulator"]

_MODULES = {"HostEngine": "host", "KernelEngine": "kernel", "Simulator": "sim"}
"""Modules of the names that `base` lacks. They are imported on first use: users of one engine need not wait for the
others."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'dumbbell.engines' has no attribute '{name}'")
    return getattr(import_module(f"dumbbell.engines.{_MODULES.get(name, 'base')}"), name)
