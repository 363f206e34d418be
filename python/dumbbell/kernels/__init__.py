"""Build and store User-Mode Linux kernels for the kernel engine.

```text
build               builds a kernel from source to store; locked, resumable
├── source              source package, release, tarball, folder or git repository
│   ├── versions            finds a version: package lists, newer suites, kernel.org
│   │   ├── suites              a private package list of the distribution's newer suites
│   │   └── kernel_org          releases with their PGP signatures
│   ├── clone               one commit of a git repository
│   └── tree                extracts the needed files, or makes a tree of links to a folder
├── edits               changes to arch/um that virtual time needs
│   ├── polling             lets virtual time pass while a program polls
│   └── syscall_cost        makes system calls and timers cheaper
├── configure           tinyconfig plus our fragment (linux.config), verified
│   └── fragment            the user's configuration fragment
├── lock                one process per folder
└── tools               required programs and their packages
added               adds the user's congestion control to a kernel
├── csource             finds congestion controls in a C file
├── tree_copy           a copy of a kernel's tree, with shared sources
└── boot                boots a kernel and reports its congestion controls
bisect              finds the commit that changed a metric
└── checkout            a private checkout of the user's repository
guest_requirements  what a guest needs from the host: memory, limits, ptrace
features            congestion controls and qdiscs of a kernel
symbols             maps addresses to functions
process             runs the build's programs
store               stored kernels, and the choice of one for a run
```

`seeded_getrandom.c` is compiled for each kernel; the engine preloads it. `dumbbell.engines.kernel` runs guests, the
command line shows progress through callbacks.
"""

from dumbbell.kernels.added import Addition, add
from dumbbell.kernels.build import build
from dumbbell.kernels.process import Progress
from dumbbell.kernels.store import Kernel, check_binary, find, kernels, mark_default

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
