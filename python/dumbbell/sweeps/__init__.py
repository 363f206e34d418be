"""Sweeps: run one experiment at many points; the result is a table with one row per run.

```text
runner            runs a sweep on this host, up to its table
├── plan_check        errors found before the first run
├── metric_names      checks the metric names in the sweep file
├── workdir           the work directory: created, locked, resumed
├── journal           its rows, stored as runs complete
└── manifest          sweep.json
scheduler         runs rounds of tasks
├── pending           which tasks are pending
├── repeats           how many runs a point needs
├── refinement        where to add points
└── sample            a metric over the runs of a point
task              one run of a sweep, and its row; picklable values
task_runner       runs one task
pool              executor of local processes; worker is one of them
cluster           executor of workers on other hosts
├── registry          the workers: their state, calls to one of them
├── build_info        hashes that identify a build
├── worker_payload    the data that workers need
├── cluster_worker    functions that run on workers
├── cache_lookup      rows that need no run
└── slurm             workers started by Slurm
cache             rows of earlier sweeps; identity hashes what a row depends on
referenced_files  files that the experiment references
iproute2          versions of ip and tc
pilot             estimates a sweep's duration
run_command       the command that reproduces one run
folder            reads and writes a finished sweep
table             rows as a table
query             SQL over the table
ranges            summary of axes and metrics
```

`dumbbell.spec.sweep` parses sweep files, `dumbbell.analysis` evaluates the table.
"""
