"""What a result means: pure functions from a `Run` to numbers and small tables.

Every number has one definition, in the file that is named after it:

```text
window    which part of a run, each flow's life, which flows are long-lived
spread    mean, p50, p95, max of samples
counters  a counter that was read now and then, as a function of time
rates     throughput, retransmit rate and loss over time
flows     what each flow and group got
queueing  the bottleneck's queue, utilisation, ping
fairness  Jain's index, convergence
cycles    whether groups take turns
summary   all of it as the JSON contract
expect    metrics by name, expectations
measures  a run as one flat list of numbers
difference  how far apart two samples of runs are, and whether that is too far
```

Reads no file, prints nothing, draws nothing: pictures are `dumbbell.plot`, sentences `dumbbell.report`.
"""

from dumbbell.analysis.cycles import Cycle, cycle
from dumbbell.analysis.difference import TOLERANCES, Row, Sample, Tolerance, Verdict, compare, one_sided
from dumbbell.analysis.expect import Expectation, Metric, Outcome, Reader, check, metric, parse_expectation
from dumbbell.analysis.fairness import convergence_s, jain, jain_index
from dumbbell.analysis.measures import measures
from dumbbell.analysis.queueing import one_way_delay_p95_ms, utilisation
from dumbbell.analysis.rates import group_throughput, loss, retransmit_rate, throughput
from dumbbell.analysis.spread import SPREAD, spread
from dumbbell.analysis.summary import summary, warnings
from dumbbell.analysis.window import Window

__all__ = [
    "SPREAD",
    "TOLERANCES",
    "Cycle",
    "Expectation",
    "Metric",
    "Outcome",
    "Reader",
    "Row",
    "Sample",
    "Tolerance",
    "Verdict",
    "Window",
    "check",
    "compare",
    "convergence_s",
    "cycle",
    "group_throughput",
    "jain",
    "jain_index",
    "loss",
    "measures",
    "metric",
    "one_sided",
    "one_way_delay_p95_ms",
    "parse_expectation",
    "retransmit_rate",
    "spread",
    "summary",
    "throughput",
    "utilisation",
    "warnings",
]
