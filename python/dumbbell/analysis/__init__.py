"""Results to numbers: pure functions from a `Run` to numbers and small tables.

Each number has one definition, in the module named after it:

```text
window           time windows, flow lifetimes, long-lived flows
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
lags             autocorrelation and cross-correlation
cycles           the period of two groups' rates
alternation      whether they alternate, or what else repeats
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

from dumbbell.analysis.aggregate import over_runs
from dumbbell.analysis.comparison import Arm, Comparison, Measured, compare_runs, unlike
from dumbbell.analysis.completion import answer_times, completion_times
from dumbbell.analysis.conditions import Condition
from dumbbell.analysis.cycles import Cycle, cycle
from dumbbell.analysis.delays import one_way_delays, queue_delay_cdf, rtt_cdf
from dumbbell.analysis.difference import TOLERANCES, Method, Row, Sample, Tolerance, Verdict, compare, one_sided
from dumbbell.analysis.dips import probe_rtt_dips
from dumbbell.analysis.expect import Expectation, Metric, Outcome, Reader, check, metric, parse_expectation
from dumbbell.analysis.fairness import convergence_s, jain, jain_index, jain_over_time
from dumbbell.analysis.findings import findings
from dumbbell.analysis.flow_intervals import intervals
from dumbbell.analysis.losses import flow_loss, group_loss, over_cycle
from dumbbell.analysis.measures import measure_names, measures
from dumbbell.analysis.occupancy import occupancy
from dumbbell.analysis.power import throughput_and_delay_p95
from dumbbell.analysis.proposed_settings import Setting, facts
from dumbbell.analysis.queueing import of_bottleneck, one_way_delay_p95_ms, utilization
from dumbbell.analysis.sawtooth import Sawtooth
from dumbbell.analysis.source_figures import FigureComparison, compare_source_figures
from dumbbell.analysis.spread import SPREAD, spread
from dumbbell.analysis.states import durations, phases
from dumbbell.analysis.summary import summary, warnings
from dumbbell.analysis.time_series import group_throughput, loss, retransmit_rate, throughput
from dumbbell.analysis.tolerance import check_patterns, parse_tolerance, stated
from dumbbell.analysis.window import Window

__all__ = [
    "SPREAD",
    "TOLERANCES",
    "Arm",
    "Comparison",
    "Condition",
    "Cycle",
    "Expectation",
    "FigureComparison",
    "Measured",
    "Method",
    "Metric",
    "Outcome",
    "Reader",
    "Row",
    "Sample",
    "Sawtooth",
    "Setting",
    "Tolerance",
    "Verdict",
    "Window",
    "answer_times",
    "check",
    "check_patterns",
    "compare",
    "compare_runs",
    "compare_source_figures",
    "completion_times",
    "convergence_s",
    "cycle",
    "durations",
    "facts",
    "findings",
    "flow_loss",
    "group_loss",
    "group_throughput",
    "intervals",
    "jain",
    "jain_index",
    "jain_over_time",
    "loss",
    "measure_names",
    "measures",
    "metric",
    "occupancy",
    "of_bottleneck",
    "one_sided",
    "one_way_delay_p95_ms",
    "one_way_delays",
    "over_cycle",
    "over_runs",
    "parse_expectation",
    "parse_tolerance",
    "phases",
    "probe_rtt_dips",
    "queue_delay_cdf",
    "retransmit_rate",
    "rtt_cdf",
    "spread",
    "stated",
    "summary",
    "throughput",
    "throughput_and_delay_p95",
    "unlike",
    "utilization",
    "warnings",
]
