"""One predicate of the benchmark, in the form of each variant: for Thalweg, a pandas UDF or hand-written code."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import truth
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import thalweg as tw

if TYPE_CHECKING:
    import pandas as pd

    from thalweg.plan import Predicate

Bits = NDArray[np.bool_]
UNIT_NS = 250.0
"""The approximate time of one unit of cost per row: a hash probe of a-greedy's table 1 with today's overheads."""
TIMED_ROWS = 20_000
SLICE_ROWS = 1_000


@dataclass(frozen=True)
class Check:
    """A predicate. `func` gets Arrow arrays if vectorized, else one row's values; `units` is its cost per row."""

    name: str
    columns: tuple[str, ...]
    func: Callable[..., Any]
    units: float
    vectorized: bool = True
    sql: str | None = None
    """The same predicate in DuckDB's SQL; None if DuckDB cannot express it."""

    def predicate(self) -> Predicate:
        """Return the predicate for `tw.filters`."""
        return tw.predicate(self.func, *self.columns, name=self.name, vectorized=self.vectorized)

    def over_arrow(self, *arrays: pa.Array) -> Bits:
        """Return one boolean per row; null is false."""
        from thalweg.kernels.answer import as_mask  # earlier checkouts, which do not call this, may not have them here
        from thalweg.kernels.columns import python_values

        if self.vectorized:
            return as_mask(self.func(*arrays), len(arrays[0]), self.name)
        values = (python_values(array) for array in arrays)
        return np.fromiter(map(truth, map(self.func, *values)), dtype=bool, count=len(arrays[0]))

    def over_pandas(self, *series: pd.Series[Any]) -> pd.Series[Any]:
        """Return the same as `over_arrow` for pandas Series, as a pandas UDF does."""
        import pandas as pd

        if self.vectorized:
            arrays = (pa.Array.from_pandas(s) for s in series)
            return pd.Series(self.over_arrow(*arrays))
        return pd.Series(np.fromiter(map(truth, map(self.func, *series)), dtype=bool, count=len(series[0])))


def measured_units(check: Check, table: pa.Table, tries: int = 3) -> float:
    """Return the measured cost per row, in units: the best of a few tries, in slices like those of the chain."""
    columns = [table.column(name).slice(0, TIMED_ROWS).combine_chunks() for name in check.columns]
    rows = len(columns[0])
    slices = [[c.slice(start, SLICE_ROWS) for c in columns] for start in range(0, rows, SLICE_ROWS)]
    best = float("inf")
    for _ in range(tries):
        begun = time.process_time_ns()
        for arrays in slices:
            check.over_arrow(*arrays)
        best = min(best, float(time.process_time_ns() - begun))
    return best / rows / UNIT_NS
