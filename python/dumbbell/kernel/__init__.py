"""Kernels for the kernel engine: get, configure, build, keep.

```text
build      the verb: one kernel from source to store, locked, resumable
├── source     where the source comes from: package, tarball, folder
│   └── tree       how it is laid out: extracted without its bulk, or a shadow
├── edits      the lines of arch/um that virtual time needs otherwise
├── configure  tinyconfig, our fragment (linux.config), and what came of it
│   └── fragment   a person's own fragment, laid over ours
├── lock       one process at a time in a folder
└── tools      what must be on the machine, and the package that has it
added      a person's own congestion control in a kernel of its own
├── csource    what a C file says of the controllers in it
├── twin       a kernel's tree once more, to add files to
└── boot       what a kernel says of itself when it boots
bisect     which commit changed a figure
└── checkout   a checkout that leaves a person's repository alone
needs      what a guest needs of the machine: room for its memory, limits, ptrace
symbols    which function an address lies in
process    the only place that starts programs of a build
store      where kernels live, and which one a run gets
```

`seeded_getrandom.c` is compiled beside each kernel; the engine preloads it.
Nothing here prints or knows what an experiment is: the command line shows
progress through a callback, `dumbbell.engine.kernel` runs guests.
"""

from dumbbell.kernel.added import Addition, add
from dumbbell.kernel.build import build
from dumbbell.kernel.process import Progress
from dumbbell.kernel.store import Kernel, check_binary, find, kernels, mark_default

__all__ = [
    "Addition",
    "Kernel",
    "Progress",
    "add",
    "build",
    "check_binary",
    "find",
    "kernels",
    "mark_default",
]
