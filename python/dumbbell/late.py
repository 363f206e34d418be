"""Modules that take long to import, or that only an extra installs: each is imported when a name of it is first used.

One table a package, after scientific Python's SPEC 1: `from dumbbell.late import pl`. Annotations are evaluated at
once: write those as text.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Late", "interpolate", "np", "optuna", "pl", "spatial", "special", "stats", "vl_convert"]


class Late:
    """A module that is imported when a name of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


if TYPE_CHECKING:
    import numpy as np
    import optuna
    import polars as pl
    import vl_convert
    from scipy import interpolate, spatial, special, stats
else:
    np, optuna, pl, vl_convert = map(Late, ("numpy", "optuna", "polars", "vl_convert"))
    interpolate, spatial, special, stats = (
        Late(f"scipy.{name}") for name in ("interpolate", "spatial", "special", "stats")
    )
