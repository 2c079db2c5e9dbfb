"""The rows of one slice on which predicates are unknown: they raised, or one of their guards is unknown.

Created only if a predicate raises. An unknown predicate drops nothing; a row that no other predicate drops has failed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg.kernels.answer import Bits, Raised
from thalweg.kernels.columns import RowNumbers


class Unknown:
    """Which predicates are unknown on which rows, and what they raised."""

    __slots__ = ("_bits", "_raised")

    def __init__(self, rows: int, predicates: int) -> None:
        self._bits: NDArray[np.bool_] = np.zeros((rows, predicates), dtype=bool)
        self._raised: dict[int, dict[int, Exception]] = {}

    def add(self, k: int, rows: RowNumbers | None, raised: Raised) -> None:
        """Record that predicate k, called on these rows (None: all), raised on some."""
        for asked, error in raised.items():
            row = asked if rows is None else int(rows[asked])
            self._bits[row, k] = True
            self._raised.setdefault(row, {})[k] = error
        raised.clear()

    def mark_guarded(self, k: int, guards: Sequence[int], alive: RowNumbers | None) -> Bits | None:
        """Mark k as unknown on the alive rows on which one of its guards is.

        Return a bit per alive row; None if there are no such rows."""
        guard_unknown = self.any_of(np.arange(len(self._bits)) if alive is None else alive, guards)
        if not guard_unknown.any():
            return None
        self._bits[guard_unknown.nonzero()[0] if alive is None else alive[guard_unknown], k] = True
        return guard_unknown

    def any_of(self, rows: RowNumbers, predicates: Sequence[int] | None = None) -> Bits:
        """Return on which of these rows any predicate, or any of `predicates`, is unknown."""
        among = self._bits[rows] if predicates is None else self._bits[rows][:, list(predicates)]
        return np.asarray(among.any(axis=1))

    def raised_on(self, row: int) -> list[tuple[int, Exception]]:
        """Return the exceptions on a row, sorted by predicate, independent of the order of evaluation."""
        return sorted(self._raised[row].items())

    def clear(self) -> None:
        """Release the exceptions, and the rows that their frames keep alive."""
        self._raised.clear()
