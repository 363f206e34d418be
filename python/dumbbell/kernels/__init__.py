"""Build and store User-Mode Linux kernels for the kernel engine.

```text
build          builds a kernel from source to store; locked, resumable
├── source         source package, release, tarball, folder or git repository
│   ├── versions       finds a version: package lists, newer suites, kernel.org
│   ├── kernel_org     releases with their PGP signatures
│   └── tree           extracts the needed files, or makes a tree of links to a folder
├── edits          changes to arch/um that virtual time needs
└── configure      tinyconfig plus our fragment (linux.config) and the user's, verified
added          adds the user's congestion control to a copy of a kernel's tree
├── features       congestion controls and qdiscs of a kernel, controls in a C file
└── boot           a guest's needs, a boot's report, functions of a stack trace
bisection      finds the commit that changed a metric, in a private checkout
process        runs the build's programs, and checks that they are installed
store          stored kernels, and the choice of one for a run
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
