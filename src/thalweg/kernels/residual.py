"""Further conditions on joined rows, evaluated as in SQL: null is not true, and NaN equals NaN.

>>> from thalweg.plan.joins.condition import Residual, typed
>>> columns = {("a", "x"): pa.array([1, 5, None]), ("b", "y"): pa.array([1, 1, 1])}
>>> schemas = {alias: pa.schema([(column, pa.int64())]) for alias, column in columns}
>>> ResidualCheck(typed(Residual("a.x < b.y + 1", tuple(columns)), schemas))(columns).tolist()
[True, False, False]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import ExpressionError
from thalweg.kernels.expressions import Evaluation
from thalweg.kernels.expressions.rows import true_of
from thalweg.plan.expressions.expression import Bound, Ref
from thalweg.plan.joins.condition import Residual

Columns = Mapping[tuple[str, str], Any]


class ResidualCheck:
    """One condition that is ready to run."""

    def __init__(self, residual: Residual) -> None:
        assert residual.expression is not None, "a condition must be typed before it is checked"
        self.residual = residual
        self._evaluation = Evaluation(residual.expression, {})

    def __call__(self, columns: Columns, among: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Return where the condition is true.

        `among`: the rows that matter (None: all). Errors on other rows are ignored."""
        rows = len(next(iter(columns.values())))
        try:
            return true_of(self._evaluation(lambda ref: _of(ref, columns), rows))
        except ExpressionError as error:
            if among is None or among.all():
                raise error.within(f"on=: {self.residual.text}") from error
        places = pa.array(among.nonzero()[0])
        found = np.zeros(rows, bool)
        found[among] = self({name: column.take(places) for name, column in columns.items()})
        return found


def _of(ref: Ref | Bound, columns: Columns) -> pa.Array:
    assert isinstance(ref, Ref), ref
    return columns[ref.alias, ref.column]
