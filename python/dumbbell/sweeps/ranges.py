"""Summary of a finished sweep: counts, axes, the range of every metric. `dumbbell stats SWEEP` prints it."""

from typing import Any

import polars as pl

from dumbbell.sweeps.folder import Sweep, entry_of

__all__ = ["reasons", "summary"]


def summary(sweep: Sweep) -> dict[str, Any]:
    """Counts, axes, reasons of invalid and failed runs, and each metric's count, minimum, mean and maximum.

    Metrics cover valid runs only.
    """
    valid = sweep.runs.filter(pl.col("status") == "ok")
    points = sweep.runs["point"].n_unique()
    return {
        "sweep": str(sweep.folder),
        "name": sweep.manifest.get("name"),
        "title": sweep.title,
        "counts": dict(sweep.manifest["counts"]),
        "points": points,
        "seeds": sorted(sweep.runs["seed"].unique()),
        "engines": sorted(sweep.runs["engine"].drop_nulls().unique()),
        "axes": [entry_of(axis) | {"values": _values(sweep, axis.key)} for axis in sweep.axes.values()],
        "reasons": reasons(sweep),
        "metrics": {name: _range(valid[name].drop_nulls()) for name in sweep.metrics},
    }


def reasons(sweep: Sweep) -> list[dict[str, Any]]:
    """Every reason of invalid and failed runs, most frequent first: `status`, `reason`, `runs`, a `point`."""
    bad = sweep.runs.filter(pl.col("status") != "ok")
    counted = bad.group_by("status", "reason", maintain_order=True).agg(runs=pl.len(), point=pl.col("point").first())
    return counted.sort("runs", descending=True, maintain_order=True).to_dicts()


def _values(sweep: Sweep, key: str) -> list[Any]:
    """The axis values that ran, in the order of the sweep file; a refined grid has more."""
    order = {str(value): number for number, value in enumerate(sweep.axes[key].values)}
    shape = sweep.axes[key]
    found = [value for value in sweep.runs[key].unique(maintain_order=True) if value is not None]
    if shape.numbers is not None:
        return sorted(found, key=shape.number)
    return sorted(found, key=lambda value: order.get(str(value), len(order)))


def _range(values: pl.Series) -> dict[str, Any]:
    return {"n": len(values), "min": values.min(), "mean": values.mean(), "max": values.max()}
