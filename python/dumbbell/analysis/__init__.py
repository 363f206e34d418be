"""What a result means: pure functions from a `Run` to numbers and small tables.

Every number has one definition, in the file that is named after it:

```text
window    which part of a run, each flow's life, which flows are long-lived
samples   columns by flow and by queue, as arrays; what was worked out of a run already
spread    mean, p50, p95, max of samples
known     sums and means where some values are not known
counters  a counter that was read now and then, as a function of time
bins      even bins of time, tables with a row a bin
rates     throughput, retransmit rate and loss over time
losses    what each flow and group lost, over time and over a cycle
flows     what each flow and group got
intervals   what each flow transferred in every interval, as iperf3 prints it
power     throughput against delay
completion  how long sized flows and answers took
queueing  the bottleneck's queue, utilisation, ping
occupancy   how full that queue was: empty, full, standing
delays    distributions of RTT, one-way delay, queueing delay
fairness  Jain's index, convergence
states    what each controller was doing, and for how long
dips      what PROBE_RTT costs
sawtooth  whether a window saws: period and depth
lags      a signal against itself some time later
cycles    the period of two groups' rates
alternation  whether they alternate, or what else repeats
shares    shares as per cents that add up
summary   all of it as the JSON contract
findings    the summary, and whatever else a report says
expect    metrics by name, expectations
seen      what an experiment's source saw, compared with a run
measures  a run as one flat list of numbers
common_step  the step of which rounded sizes are multiples
super_packets  how many segments one loss takes
rtts      base round-trip times
conditions  under which conditions a log was written, with the evidence
settings    what would put a run under a log's conditions
parameter  several runs by the one number in which their experiments differ
repeats   these numbers over several runs: mean, least, largest
difference  how far apart two samples of runs are, and whether that is too far
tolerance   a tolerance as people write it
comparison  two sides of an experiment, and what weakens what they say
```

Reads no file, prints nothing, draws nothing: pictures are `dumbbell.plot`, sentences `dumbbell.report`.
"""

from dumbbell.analysis.comparison import Comparison, Measured, Side, confront, unlike
from dumbbell.analysis.completion import answer_times, completion_times
from dumbbell.analysis.conditions import Condition
from dumbbell.analysis.cycles import Cycle, cycle
from dumbbell.analysis.delays import one_way_delays, queue_delay_cdf, rtt_cdf
from dumbbell.analysis.difference import TOLERANCES, Method, Row, Sample, Tolerance, Verdict, compare, one_sided
from dumbbell.analysis.dips import probe_rtt_dips
from dumbbell.analysis.expect import Expectation, Metric, Outcome, Reader, check, metric, parse_expectation
from dumbbell.analysis.fairness import convergence_s, jain, jain_index, jain_over_time
from dumbbell.analysis.findings import findings
from dumbbell.analysis.intervals import intervals
from dumbbell.analysis.losses import flow_loss, group_loss, over_cycle
from dumbbell.analysis.measures import measure_names, measures
from dumbbell.analysis.occupancy import occupancy
from dumbbell.analysis.power import throughput_and_delay_p95
from dumbbell.analysis.queueing import of_bottleneck, one_way_delay_p95_ms, utilisation
from dumbbell.analysis.rates import group_throughput, loss, retransmit_rate, throughput
from dumbbell.analysis.repeats import over_runs
from dumbbell.analysis.sawtooth import Sawtooth
from dumbbell.analysis.seen import Compared, compare_seen
from dumbbell.analysis.settings import Setting, facts
from dumbbell.analysis.spread import SPREAD, spread
from dumbbell.analysis.states import durations, phases
from dumbbell.analysis.summary import summary, warnings
from dumbbell.analysis.tolerance import check_patterns, parse_tolerance, stated
from dumbbell.analysis.window import Window

__all__ = [
    "SPREAD",
    "TOLERANCES",
    "Compared",
    "Comparison",
    "Condition",
    "Cycle",
    "Expectation",
    "Measured",
    "Method",
    "Metric",
    "Outcome",
    "Reader",
    "Row",
    "Sample",
    "Sawtooth",
    "Setting",
    "Side",
    "Tolerance",
    "Verdict",
    "Window",
    "answer_times",
    "check",
    "check_patterns",
    "compare",
    "compare_seen",
    "completion_times",
    "confront",
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
    "utilisation",
    "warnings",
]
