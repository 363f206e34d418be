"""The experiment: what a person asks for, as frozen values.

```text
units      quantities as tc writes them: rates, times, sizes, shares
qdisc      the grammar of queueing disciplines, as tc has it
netem      the grammar of what netem takes: loss, jitter, reordering
script     tc commands verbatim, made harmless
model      the keys of an experiment and what each may hold
texts      no text holds what a terminal would obey
document   a TOML file to experiments: settings, cases, errors that name the place
trace      Mahimahi's trace files
scenarios  the experiments that come with Dumbbell
```

How Linux is told is `dumbbell.plan`; nothing here knows an engine.
"""

from dumbbell.spec.document import Case, load, parse, read
from dumbbell.spec.experiment import Experiment
from dumbbell.spec.scenarios import find, published, scenarios, with_programs

__all__ = ["Case", "Experiment", "find", "load", "parse", "published", "read", "scenarios", "with_programs"]
