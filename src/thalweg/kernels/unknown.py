"""The rows of one slice on which predicates are unknown: they raised there, or a guard of them is unknown.

Made only when something raises. An unknown predicate drops nothing; a row that no other predicate drops has failed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg.kernels.answer import Bits, Raised
from thalweg.kernels.columns import Rows


class Unknown:
    """Which predicates are unknown on which rows, and what they raised."""

    __slots__ = ("_bits", "_raised")

    def __init__(self, rows: int, predicates: int) -> None:
        self._bits: NDArray[np.bool_] = np.zeros((rows, predicates), dtype=bool)
        self._raised: dict[int, dict[int, Exception]] = {}

    def add(self, k: int, rows: Rows | None, raised: Raised) -> None:
        """Predicate k, asked on these rows (None: all), raised on some."""
        for asked, error in raised.items():
            row = asked if rows is None else int(rows[asked])
            self._bits[row, k] = True
            self._raised.setdefault(row, {})[k] = error
        raised.clear()

    def behind(self, k: int, guards: Sequence[int], alive: Rows | None) -> Bits | None:
        """Of the rows alive those on which a guard of k is unknown, and so k is; None: there are none."""
        waits = self.any_of(np.arange(len(self._bits)) if alive is None else alive, guards)
        if not waits.any():
            return None
        self._bits[waits.nonzero()[0] if alive is None else alive[waits], k] = True
        return waits

    def any_of(self, rows: Rows, predicates: Sequence[int] | None = None) -> Bits:
        """On which of these rows some predicate, or some of these, is unknown."""
        among = self._bits[rows] if predicates is None else self._bits[rows][:, list(predicates)]
        return np.asarray(among.any(axis=1))

    def raised_on(self, row: int) -> list[tuple[int, Exception]]:
        """What the predicates raised there, by predicate; independent of the order they were tried in."""
        return sorted(self._raised[row].items())

    def clear(self) -> None:
        """Let go of the exceptions, and of the rows their frames hold."""
        self._raised.clear()
