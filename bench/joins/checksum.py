"""A number that says which rows were joined with which, however the results are ordered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_ODD = 0x9E3779B97F4A7C15
_MOST = 2**64 - 1


class Checksum:
    """A checksum of results, added as they come. The ids of a result are mixed before they are summed, so that the same
    rows joined with others give another number.

    >>> right, wrong = Checksum(["a", "b"]), Checksum(["a", "b"])
    >>> right.add(pa.table({"a_id": [1, 2], "b_id": [1, 2]}))
    >>> wrong.add(pa.table({"a_id": [1, 2], "b_id": [2, 1]}))
    >>> right.rows == wrong.rows, right.value == wrong.value
    (True, False)
    """

    def __init__(self, aliases: Sequence[str]) -> None:
        self.columns = [f"{alias}_id" for alias in aliases]
        self.rows = 0
        self.value = 0

    def add(self, results: pa.RecordBatch | pa.Table) -> None:
        """Add further results to the checksum."""
        total: NDArray[np.uint64] = np.zeros(results.num_rows, np.uint64)
        for n, name in enumerate(self.columns):
            ids = results.column(name).to_numpy().astype(np.uint64)
            total = total * np.uint64(2 * n + 3) + ids * np.uint64(_ODD)
        total ^= total >> np.uint64(29)
        total *= np.uint64(_ODD)
        total ^= total >> np.uint64(32)
        self.rows += results.num_rows
        self.value = (self.value + int(total.sum(dtype=np.uint64))) & _MOST

    @property
    def result(self) -> tuple[int, int]:
        """The number of results and their checksum."""
        return self.rows, self.value
