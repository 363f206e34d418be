"""Results to numbers: pure functions from a `Run` to numbers and small tables.

Each number has one definition, in the module named after it:

```text
native           the metrics of `crates/metrics`, computed once per run
window           time windows, flow lifetimes
sample_arrays    columns by flow and by queue, as arrays; cached answers per run
spread           mean, p50, p95, max of samples
known            sums and means that skip unknown values
counters         a sampled counter as a function of time
bins             even time bins, tables with a row per bin
time_series      throughput, retransmit rate and loss over time
losses           losses of each flow and group, over time and over a cycle
flows            throughput, retransmits, RTT, window per flow and group
flow_intervals   bytes per flow and interval, as iperf3 prints them
power            throughput against delay
completion       completion times of sized flows, response times
queueing         the bottleneck's queue, utilization, ping
occupancy        share of time that the queue is empty, full; standing queue
delays           distributions of RTT, one-way delay, queueing delay
fairness         Jain's index, convergence
states           controller states over time
dips             cost of PROBE_RTT
sawtooth         period and depth of a sawtooth window
cycles           the period of two groups' rates, and whether they alternate
shares           shares as percentages that add up
summary          the run as JSON (the contract)
findings         the summary plus the other numbers of a report
expect           metrics by name, expectations
source_figures   figures of an experiment's source, compared with a run
measures         a run as a flat dictionary of numbers
common_step      the step of which rounded sizes are multiples
super_packets    segments lost per loss
rtts             base round-trip times
conditions       the conditions inferred from a log, with evidence
proposed_settings  settings that reproduce a log's conditions
parameter        runs by the one number in which their experiments differ
aggregate        mean, min, max over several runs
difference       differences between two samples of runs, and tolerances
tolerance        parser of tolerances
comparison       both arms of a comparison, and its caveats
sequential       sequential test of download times
map_cells        a sweep's table as cells of a map
formula          values and filters of a sweep's table
filter           filters of connections, as ss(8) has
live_sockets     samples of live connections
history          the last samples of each connection
sender_limits    what limits a sender
kernel_stats     kernel counters and sockets in a window
```

These modules read no files, print and draw nothing: `dumbbell.plots` draws, `dumbbell.reports` writes sentences.
"""
