"""What a machine is, how it is asked, and how its default controller is switched.

```text
agent        where the agent is
stream       the agent's looks at every TCP connection of a network namespace, as records
connections  the same as tables
sources      files below a root, and commands; what can't be read says why
rows         what ip -j and tc -j print
modules      whether a kernel has a controller
versions     which BBR it is
probe        what a socket that is opened now gets
inuse        controllers of the connections that are open, counted
finding      one thing found: what was read, what it means, what to type
doctor       all findings, in a fixed order; made by kernels, controllers, devices, buffers, knobs
sysctld      who sets a kernel's settings at boot
dropin       the files of enable, as text
steps        what can be done to a machine, one step at a time
switch       enable and disable: which steps, and back
```

Readings are functions of texts where they can be; `sources.Machine(root=DIR)` reads a folder instead of this machine.
Numbers and answers; what connections' numbers mean is `dumbbell.analysis`'s, how all of it looks `dumbbell.cli`'s.
"""
