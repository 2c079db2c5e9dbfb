"""A salted hash per row that is equal for equal groups, as an additional column to group by.

Arrow groups rows by a hash that is publicly known: whole numbers can be chosen that all have the same hash, and
grouping them takes quadratic time. With this additional column, Arrow's hashes cannot be chosen without the salt.

>>> from thalweg.kernels.salt import NO_SALT
>>> one, other, again, null, null_again = group_words([pa.array([1, 2, 1, None, None])], NO_SALT).tolist()
>>> one == again, one == other, null == null_again
(True, False, True)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import PlanError
from thalweg.kernels.key_words import KeyKind
from thalweg.kernels.salt import Salt

Words = NDArray[np.int64]


def group_words(columns: Sequence[pa.Array], salt: Salt) -> Words:
    """Return one word per row for rows grouped by these columns. NaN and zero must each be one value in them."""
    from thalweg.kernels.keyed_hash import combine  # numba takes long to import

    hashes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        words = _words(column, salt)
        if words is not None:
            combine(hashes, words, salt.one, salt.other)
    return hashes


def _words(column: pa.Array, salt: Salt) -> Words | None:
    """Return the words of a column; None if its type has none. Other columns of the row may have some."""
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64()).view(pa.int64())
    elif pa.types.is_time32(column.type):
        column = column.view(pa.int32())
    elif pa.types.is_time64(column.type) or pa.types.is_duration(column.type) or pa.types.is_date64(column.type):
        column = column.view(pa.int64())
    try:
        kind = KeyKind.of([("", column.type)])
    except PlanError:
        return None
    words, _ = kind.words(column, salt)
    if column.null_count:
        words = np.where(column.is_valid().to_numpy(zero_copy_only=False), words, 0)
    return words
