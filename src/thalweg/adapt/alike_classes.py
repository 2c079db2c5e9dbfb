"""Whether workers that share profiled rows see the same data: rows of equal values have the same outcomes.

Rows of siblings are useful for training a mesh only if the values by which rows may be classified mean the same there.
Two workers may read different parts of the input, in which one source has changed places with another, although each
filter drops the same share of all rows.

Answers: for each column, whether the rows of each frequent value, or range of numbers, have similar outcomes in both.
Guarantee: if the data are the same, they are found to be different with a probability of about 6e-5 (`evidence.UNLIKE`
standard errors) per filter and value. Then a worker learns from its own rows alone, as without siblings.
Cost: a few milliseconds per column of 4,096 rows, once per trial.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.adapt.evidence import alike
from thalweg.optimizer.mesh.column_values import as_floats, kind_of, range_codes, text_keys, value_codes

MOST_VALUES = 8
"""The most values of a column that are compared; all others count as one."""
RANGES = 4
"""The number of ranges into which numbers are divided."""
Bits = NDArray[np.bool_]


def alike_by_class(values: Mapping[str, pa.Array], tuples: Bits, own: Bits) -> bool:
    """Return whether own profile tuples and those of siblings may come from the same data. `tuples`: two columns per
    filter (drops the row, is known). `own`: by row, whether it is the worker's own.

    >>> source = pa.array(["web", "app"] * 200)
    >>> drops = np.array([[1, 0], [0, 1]] * 200, bool)
    >>> own = np.arange(400) < 200
    >>> known = np.ones((400, 2), bool)
    >>> alike_by_class({"source": source}, np.concatenate([drops, known], axis=1), own)
    True
    >>> exchanged = np.where(own[:, None], drops, ~drops)
    >>> alike_by_class({}, np.concatenate([exchanged, known], axis=1), own)
    True
    >>> alike_by_class({"source": source}, np.concatenate([exchanged, known], axis=1), own)
    False
    """
    if not alike(tuples[own], tuples[~own]):
        return False
    for column in values.values():
        codes = _codes(column)
        for code in np.unique(codes[own]):
            here = codes == code
            if not alike(tuples[here & own], tuples[here & ~own]):
                return False
    return True


def _codes(column: pa.Array) -> NDArray[np.int64]:
    """Return a class for each value: one of the frequent values, or a range of numbers."""
    if kind_of(column.type) in ("number", "time"):
        floats = as_floats(column)
        known = floats[~np.isnan(floats)]
        shares = np.arange(1, RANGES) / RANGES
        # values themselves, because the middle between two infinite ones is none
        cuts = np.unique(np.quantile(known, shares, method="lower")) if len(known) else known
        return range_codes(column, cuts.tolist())
    if pa.types.is_boolean(column.type):
        return value_codes(column, (False, True))
    found = pc.value_counts(text_keys(column).drop_null())
    most = np.argsort(-found.field("counts").to_numpy(), kind="stable")[:MOST_VALUES]
    return value_codes(column, found.field("values").take(pa.array(most)).to_pylist())
