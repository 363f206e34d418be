"""Sweeps: one experiment at many points, as a table with a row a run.

```text
task       one run of a sweep, and the row that it gives; values that travel between processes
work       carries one task out
table      rows to the table that everybody reads
due        which tasks are due next
sample     a metric over the runs of a point, and whether two points differ
repeats    how many runs a point needs
finer      where new points go
conduct    who carries them out, what becomes of the rows
folder     a finished sweep's folder: written, read, checked
query      SQL over its table
ranges     counts, axes, the range of every metric
```

What a sweep asks for is `dumbbell.spec.sweep`; what its table means, `dumbbell.analysis`.
"""

from dumbbell.sweep.conduct import conduct
from dumbbell.sweep.folder import load
from dumbbell.sweep.task import Row, Task

__all__ = ["Row", "Task", "conduct", "load"]
