"""Dumbbell: a laboratory for TCP congestion control.

```python
import dumbbell as db

run = db.run(db.scenario("cyclic"))
run.summary["groups"], run.flows, run.plot("cwnd")
```

These names are defined in `dumbbell.api`, which is imported on first use so that the command starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.api import (
        Comparison,
        DumbbellError,
        Experiment,
        Figure,
        Run,
        Sweep,
        compare,
        evaluate,
        experiment,
        identify,
        import_logs,
        load,
        load_sweep,
        packet_traces,
        plan,
        run,
        run_all,
        scenario,
        search,
        sweep,
    )

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "DumbbellError",
    "Experiment",
    "Figure",
    "Run",
    "Sweep",
    "__version__",
    "compare",
    "evaluate",
    "experiment",
    "identify",
    "import_logs",
    "load",
    "load_sweep",
    "packet_traces",
    "plan",
    "run",
    "run_all",
    "scenario",
    "search",
    "sweep",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'dumbbell' has no attribute '{name}'")
    return getattr(import_module("dumbbell.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
