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
tolerance   a tolerance as people write it
comparison  two sides of an experiment, and what weakens what they say
```

Reads no file, prints nothing, draws nothing: pictures are `dumbbell.plot`, sentences `dumbbell.report`.
"""

from dumbbell.analysis.comparison import Comparison, Measured, Side, confront, unlike
from dumbbell.analysis.cycles import Cycle, cycle
from dumbbell.analysis.difference import TOLERANCES, Method, Row, Sample, Tolerance, Verdict, compare, one_sided
from dumbbell.analysis.expect import Expectation, Outcome, check, metric, parse_expectation
from dumbbell.analysis.fairness import convergence_s, jain, jain_index
from dumbbell.analysis.measures import measure_names, measures
from dumbbell.analysis.queueing import one_way_delay_p95_ms, utilisation
from dumbbell.analysis.rates import group_throughput, loss, retransmit_rate, throughput
from dumbbell.analysis.spread import SPREAD, spread
from dumbbell.analysis.summary import summary, warnings
from dumbbell.analysis.tolerance import check_patterns, parse_tolerance, stated
from dumbbell.analysis.window import Window

__all__ = [
    "SPREAD",
    "TOLERANCES",
    "Comparison",
    "Cycle",
    "Expectation",
    "Measured",
    "Method",
    "Outcome",
    "Row",
    "Sample",
    "Side",
    "Tolerance",
    "Verdict",
    "Window",
    "check",
    "check_patterns",
    "compare",
    "confront",
    "convergence_s",
    "cycle",
    "group_throughput",
    "jain",
    "jain_index",
    "loss",
    "measure_names",
    "measures",
    "metric",
    "one_sided",
    "one_way_delay_p95_ms",
    "parse_expectation",
    "parse_tolerance",
    "retransmit_rate",
    "spread",
    "stated",
    "summary",
    "throughput",
    "unlike",
    "utilisation",
    "warnings",
]
