"""Sweeps: one experiment at many points, as a table with a row a run.

```text
task       one run of a sweep, and the row that it gives; values that travel between processes
work       carries one task out
table      rows to the table that everybody reads
due        which tasks are due next
sample     a metric over the runs of a point, and whether two points differ
repeats    how many runs a point needs
finer      where new points go
names      are there metrics of the names that a sweep file has
pilot      how long it will take, from a few runs
cluster    a crew of workers on other machines
├── fleet      who they are, who may work, calls to one of them
│   └── build      what decides a row, as hashes of two machines
├── outfit     what they need: files, kernels
├── hand       a worker's side
└── slurm      workers that Slurm starts
conduct    who carries them out, what becomes of the rows
whole      a sweep on this machine, from the question to the table
check      slips that are found before the first run
pool       processes that carry tasks out; worker is one of them
place      the folder of a sweep that is not done, and who may work there
journal    its rows, kept from the moment that they are done
cache      what earlier sweeps measured; identity says what a row depends on
named      files that the experiment names
birth      the certificate of a sweep
again      the command that repeats one run
folder     a finished sweep, read and written
query      SQL over its table
ranges     its axes and metrics, counted
```

What a sweep asks for is `dumbbell.spec.sweep`; what its table means, `dumbbell.analysis`.
"""
