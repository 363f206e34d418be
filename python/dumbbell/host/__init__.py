"""Inspect the local host's TCP settings and connections, and change its default congestion control.

```text
checks              all findings of `dumbbell doctor`, in a fixed order
├── kernel_findings     kernel version, namespace, clock, virtualization
├── controllers         congestion controls: available, allowed, default, per route
├── devices             qdiscs, pacing and offloads of egress devices
├── buffers             socket buffers against a path
├── tcp_settings        ECN, loss recovery and other TCP sysctls
└── finding             one finding: value, meaning, command that changes it
switch              `dumbbell enable` and `disable`: the steps and their reversal
├── steps               one change to the host
├── dropin              the files that enable writes
└── sysctld             which files set sysctls at boot
stream              the agent's samples of every TCP socket in a network namespace
tcp_connections     these samples as tables
sources             files below a root, and commands
iproute2_json       output of ip -j and tc -j
kernel_modules      whether a kernel has a congestion control
versions            which BBR version a kernel has
probe               what a new socket gets
controllers_in_use  congestion controls of open connections, counted
agent_binary        path of the agent
```

Most functions work on text; `sources.LocalHost(root=DIR)` reads a folder instead of this host. `dumbbell.analysis`
evaluates connections, `dumbbell.cli` formats the output.
"""
