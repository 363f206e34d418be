"""A sweep's table as cells: the mean of a value over a point's runs, its interval, and the missing runs.

A cell is a position on the axes that a map or a line family shows. Its value is the mean over the seeds of its valid
runs, with Student's 95 % interval; invalid and failed runs are counted, never averaged. `dumbbell.plots.heatmap` draws
cells; `formula` parses values.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.analysis import formula
from dumbbell.analysis.difference import CONFIDENCE, Sample, interval
from dumbbell.errors import ResultError
from dumbbell.late import special

__all__ = ["cells", "chosen", "differences", "half_widths"]

REASONS_MAX = 3
"""Reasons listed per cell; the table has all."""
NAMED_MAX = 6


def chosen(runs: pl.DataFrame, where: str | None) -> pl.DataFrame:
    """The runs that a condition selects; all without one. Raises `ResultError`, also if no run is left."""
    if where is None:
        return runs
    kept = runs.filter(formula.condition(where, runs))
    if kept.is_empty():
        raise ResultError(f"none of {runs.height} runs meets the condition '{where}'")
    return kept


def cells(runs: pl.DataFrame, value: str, keys: Sequence[str], axes: Sequence[str]) -> pl.DataFrame:
    """A row for each combination of the columns `keys`, in the order of the points.

    `point`; `mean`, `low`, `high`: mean and 95 % interval x̄ ± t(n−1) · s / √n (Student 1908): the mean is null without
    runs, the interval with fewer than two; `n` valid runs with a known value; `unknown`, `invalid`, `failed` counts of
    the others; `reasons`. `axes` are the columns of all axes: an axis that is not in `keys` must have one value per
    cell.

    Raises `ResultError` for an invalid value, and for cells that contain several points.
    """
    table = _valued(runs, value)
    _refuse_mixed(table, keys, axes)
    known = pl.col("it").drop_nulls()
    found = table.group_by(keys, maintain_order=True).agg(
        pl.col("point").first(),
        mean=known.mean(),
        sd=pl.when(known.len() > 1).then(known.std()),
        n=known.len().cast(pl.Int64),
        unknown=(_status("ok") & pl.col("it").is_null()).sum().cast(pl.Int64),
        invalid=_status("invalid").sum().cast(pl.Int64),
        failed=_status("failed").sum().cast(pl.Int64),
        reasons=pl.col("reason").drop_nulls().unique(maintain_order=True).head(REASONS_MAX).str.join("; "),
    )
    half = pl.Series("half", half_widths(found["n"].to_numpy(), found["sd"].to_numpy()), nan_to_null=True)
    return found.with_columns(low=pl.col("mean") - half, high=pl.col("mean") + half).drop("sd")


def half_widths(counts: npt.NDArray[np.int64], sds: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Half the width of Student's 95 % interval of a mean: t(n−1) · s / √n; NaN for fewer than two runs."""
    several = np.maximum(counts, 2)
    half = special.stdtrit(several - 1, (1 + CONFIDENCE) / 2) * sds / np.sqrt(several)
    return np.where(counts > 1, half, np.nan)


def differences(
    runs: pl.DataFrame, value: str, keys: Sequence[str], axes: Sequence[str], arms: tuple[str, object, object]
) -> pl.DataFrame:
    """The same cells with the difference second − first mean, by `(column, first, second)`.

    `mean`, `low`, `high` are the difference and its Welch interval; `first`, `second` both means; `apart`: are the two
    arms' own 95 % intervals disjoint? Null if an arm has no interval.
    """
    column, *ends = arms
    both = [cells(runs.filter(pl.col(column) == end), value, keys, axes) for end in ends]
    samples = [_samples(_valued(runs.filter(pl.col(column) == end), value), keys) for end in ends]
    first, second = (
        arm_cells.rename({name: f"{name}_{index}" for name in arm_cells.columns if name not in keys})
        for index, arm_cells in enumerate(both)
    )
    # A cell of only one arm has no difference; a failed cell exists in both.
    joined = first.join(second, on=keys, how="inner", nulls_equal=True, maintain_order="left")
    rows = [_difference(*(arm_cells.get(index) for arm_cells in samples)) for index in joined.select(keys).iter_rows()]
    between = pl.DataFrame(rows, schema=["mean", "low", "high"], orient="row", schema_overrides=_FLOATS)
    counts = {name: pl.sum_horizontal(f"{name}_0", f"{name}_1") for name in ("unknown", "invalid", "failed")}
    return joined.select(
        *keys,
        pl.col("point_0").alias("point"),
        pl.col("mean_0").alias("first"),
        pl.col("mean_1").alias("second"),
        ((pl.col("low_0") > pl.col("high_1")) | (pl.col("low_1") > pl.col("high_0"))).alias("apart"),
        pl.min_horizontal("n_0", "n_1").alias("n"),
        *(expression.alias(name) for name, expression in counts.items()),
        pl.concat_str(_filled("reasons_0"), _filled("reasons_1"), separator="; ", ignore_nulls=True)
        .fill_null("")
        .alias("reasons"),
    ).hstack(between)


_FLOATS: Mapping[str, type[pl.DataType]] = {"mean": pl.Float64, "low": pl.Float64, "high": pl.Float64}


def _filled(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != "").then(pl.col(name))


def _difference(
    first: tuple[float, ...] | None, second: tuple[float, ...] | None
) -> tuple[float | None, float | None, float | None]:
    if not first or not second:
        return None, None, None
    left, right = Sample(first), Sample(second)
    low, high = interval(left, right) or (None, None)
    return right.mean - left.mean, low, high


def _samples(table: pl.DataFrame, keys: Sequence[str]) -> dict[tuple[object, ...], tuple[float, ...]]:
    found = table.drop_nulls("it").group_by(keys, maintain_order=True).agg("it")
    return {tuple(row[:-1]): tuple(row[-1]) for row in found.iter_rows()}


def _valued(runs: pl.DataFrame, value: str) -> pl.DataFrame:
    """The value as `it`, for valid runs only."""
    return runs.with_columns(it=pl.when(_status("ok")).then(formula.value(value, runs)))


def _status(name: str) -> pl.Expr:
    return pl.col("status") == name


def _refuse_mixed(table: pl.DataFrame, keys: Sequence[str], axes: Sequence[str]) -> None:
    """Raise `ResultError` if a cell would average different points."""
    others = [axis for axis in axes if axis not in keys]
    # Axes determined by the keys vary with them, which is allowed.
    mixed = table.group_by(keys).agg(pl.col(name).n_unique() for name in others) if others else None
    varying = [name for name in others if mixed is not None and (mixed[name].max() or 0) > 1]  # type: ignore[operator]
    if not varying:
        return
    values = {name: list(dict.fromkeys(table[name].cast(pl.String).fill_null("none"))) for name in varying}
    varying_text = "; ".join(
        f"{name} ({', '.join(found[:NAMED_MAX])}{', …' if len(found) > NAMED_MAX else ''})"
        for name, found in values.items()
    )
    name, found = next(iter(values.items()))
    raise ResultError(
        f"a cell would mix different points: {varying_text} varies too; add --panels {name}, "
        f"or select one value with --where \"{name} = '{found[0]}'\""
    )
