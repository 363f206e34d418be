"""Results to numbers: pure functions from a `Run` to numbers and small tables.

Each number has one definition:

```text
native             the metrics of `crates/metrics`, computed once per run; time windows, spreads, cycles
sample_arrays      columns by flow and by queue, as arrays; cached answers per run; base RTT
time_series        counters, throughput, retransmit rate and loss over time; bytes per flow and interval
flows              numbers of flows and groups: throughput, RTT, power, completion, fairness, harm
queueing           the bottleneck's queue, utilization, ping
bottleneck         how full its queue is, standing queue; distributions of delay; losses
states             controller states over time, PROBE_RTT dips, sawteeth
summary            the run as JSON (the contract), and flat; mean, min, max over several
findings           the summary plus the other numbers of a report
expect             metrics by name, expectations, figures of an experiment's source
rounded_sizes      segment and super-packet sizes from the rounded numbers of logs
conditions         the conditions inferred from a log, with evidence
proposed_settings  settings that reproduce a log's conditions
parameter          runs by the one number in which their experiments differ
difference         differences between two samples of runs, and tolerances
comparison         both arms of a comparison, and its caveats
sequential         sequential test of download times
map_cells          a sweep's table as cells of a map
formula            values and filters of a sweep's table
filter             filters of connections, as ss(8) has
live_sockets       samples of live connections, their history, what limits each sender
kernel_stats       kernel counters and sockets in a window
```

These modules read no files, print and draw nothing: `dumbbell.plots` draws, `dumbbell.reports` writes sentences.
"""
