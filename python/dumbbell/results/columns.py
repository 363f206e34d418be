"""Table columns as numpy arrays, from a polars frame or from the simulator's memory.

A run has 75 columns, and a figure uses few, so the full frame is built only on request. `tables` has the columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell import _sim
from dumbbell.results.parquet import write_table

__all__ = ["Bools", "Column", "Floats", "Framed", "Names", "Places", "Table", "positions"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Places = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Column:
    """Numbers or booleans, one per row."""

    values: npt.NDArray[Any]
    """Undefined in rows where `known` is False."""
    known: Bools | None = None
    """True in rows that have a value; None: all rows have one."""

    @classmethod
    def of(cls, series: pl.Series) -> "Column":
        """Convert a series."""
        values = series.to_numpy()
        if not series.null_count():
            return cls(values)
        # polars converts nullable integers to floats, null to NaN; testing for NaN is ten times faster than a query.
        return cls(values, ~np.isnan(values) if series.dtype.is_integer() else series.is_not_null().to_numpy())

    @property
    def is_known(self) -> Bools:
        """True in rows that have a value."""
        return np.ones(self.values.size, dtype=np.bool_) if self.known is None else self.known

    def floats(self) -> Floats:
        """The values as floats, NaN for null."""
        values = np.asarray(self.values, dtype=np.float64)
        return values if self.known is None else np.where(self.known, values, np.nan)

    def series(self, name: str) -> pl.Series:
        """Convert to a polars series."""
        series = pl.Series(name, self.values)
        return series if self.known is None else series.zip_with(pl.Series(self.known), series.clear(len(series)))


@dataclass(frozen=True, slots=True)
class Names:
    """Strings, one per row, dictionary-encoded."""

    codes: Places
    """Each row's index in `texts`; undefined in rows without a string."""
    texts: Sequence[str]
    known: Bools | None = None
    """True in rows that have a string; None: all rows have one."""

    @classmethod
    def of(cls, series: pl.Series) -> "Names":
        """Convert a series."""
        texts = series.drop_nulls().unique(maintain_order=True).to_list()
        known = series.is_not_null().to_numpy() if series.null_count() else None
        return cls(positions(series, texts), texts, known)

    @property
    def is_known(self) -> Bools:
        """True in rows that have a string."""
        return np.ones(self.codes.size, dtype=np.bool_) if self.known is None else self.known

    def positions(self, names: Sequence[str]) -> Places:
        """See `positions`."""
        if self.known is None and names == self.texts:
            return self.codes
        known = {name: position for position, name in enumerate(names)}
        places = np.array([*(known.get(text, len(names)) for text in self.texts), len(names)], dtype=np.uint32)
        return np.asarray(places[self.codes_or_end()])

    def series(self, name: str) -> pl.Series:
        """Convert to a polars series."""
        if self.known is None and len(set(self.texts)) == 1:
            return pl.Series(name, self.texts[:1], dtype=pl.String).new_from_index(0, self.codes.size)
        return pl.Series(name, [*self.texts, None], dtype=pl.String).gather(pl.Series(self.codes_or_end()))

    def codes_or_end(self) -> Places:
        """The codes, with `len(texts)` for null."""
        return self.codes if self.known is None else np.where(self.known, self.codes, np.uint32(len(self.texts)))


class Table(Protocol):
    """A table with access to single columns."""

    def column(self, name: str) -> Column:
        """A column of numbers."""
        ...

    def names(self, name: str) -> Names:
        """A column of strings."""
        ...

    def positions(self, name: str, names: Sequence[str]) -> Places:
        """Like the function `positions`, for a column of strings."""
        ...

    def last(self, name: str) -> Mapping[str, int]:
        """The last row of each distinct string in a column."""
        ...

    def cell(self, name: str, row: int) -> Any:
        """One value, None for null."""
        ...

    def frame(self) -> pl.DataFrame:
        """The whole table."""
        ...

    def native(self) -> _sim.Arrow | None:
        """The simulator's memory; None for a table from elsewhere."""
        ...

    def write(self, file: Path) -> None:
        """Write it as Parquet. Raises `OSError`."""
        ...


class Framed:
    """A frame as a `Table`."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def column(self, name: str) -> Column:
        """See `Table`."""
        return Column.of(self._frame.get_column(name))

    def names(self, name: str) -> Names:
        """See `Table`."""
        return Names.of(self._frame.get_column(name))

    def positions(self, name: str, names: Sequence[str]) -> Places:
        """See `Table`."""
        return positions(self._frame.get_column(name), names)

    def last(self, name: str) -> Mapping[str, int]:
        """See `Table`."""
        texts = self._frame.get_column(name)
        names = texts.drop_nulls().unique(maintain_order=True).to_list()
        row = np.empty(len(names) + 1, dtype=np.intp)
        row[positions(texts, names)] = np.arange(len(texts))  # The last row wins.
        return dict(zip(names, row.tolist(), strict=False))

    def cell(self, name: str, row: int) -> Any:
        """See `Table`."""
        return self._frame.get_column(name)[row]

    def frame(self) -> pl.DataFrame:
        """See `Table`."""
        return self._frame

    def native(self) -> None:
        """See `Table`."""

    def write(self, file: Path) -> None:
        """See `Table`."""
        write_table(self._frame, file)


def positions(column: pl.Series, names: Sequence[str]) -> Places:
    """Each row's index in `names` (the last one of duplicates), or `len(names)` for any other name."""
    if len(names) <= FEW and not column.null_count():
        place = np.full(len(column), len(names), dtype=np.uint32)
        for position, name in enumerate(names):
            place[(column == name).to_numpy()] = position
        return place
    known = {name: position for position, name in enumerate(names)}
    coded = column.cast(pl.Enum(list(known)), strict=False).to_physical().cast(pl.UInt32)
    codes = (coded.fill_null(len(known)) if coded.null_count() else coded).to_numpy()
    return np.asarray(np.array([*known.values(), len(names)], dtype=np.uint32)[codes])


FEW = 4
"""Up to this many names, comparing each with every row is faster than a dictionary."""
