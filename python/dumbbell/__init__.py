"""Dumbbell: a laboratory for TCP congestion control.

```python
import dumbbell as db

run = db.run(db.scenario("cyclic"))
run.summary["groups"], run.flows, run.plot("cwnd")
```

These names are defined in `dumbbell.api`, which is imported on first use so that the command starts quickly.
"""

import sys
from importlib import import_module
from types import ModuleType
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


def _of_api(name: str) -> property:
    """A function that has a package's name: importing the package must not replace it here."""
    return property(lambda _: getattr(import_module("dumbbell.api"), name), lambda _module, _package: None)


class _Dumbbell(ModuleType):
    plan = _of_api("plan")
    search = _of_api("search")


sys.modules[__name__].__class__ = _Dumbbell
