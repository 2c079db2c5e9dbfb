"""An expression as a vectorised predicate: Arrow arrays in, one truth value a row out.

>>> from thalweg.plan.expression import Ref, Value, call
>>> x = Ref("s", "x", pa.int64())
>>> positive = Condition(call("gt", (x, Value(0, pa.int64())), pa.bool_()), {}, (x,))
>>> positive(pa.array([1, None, -1])).to_pylist()
[True, None, False]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from thalweg.errors import FunctionError
from thalweg.kernels.expressions.evaluation import Evaluation
from thalweg.plan.expression import Bound, Expression, Ref
from thalweg.plan.relation import UserFunction


class Condition:
    """Given the arrays of its columns, in their order. It pickles, and is made ready on the first call."""

    def __init__(
        self, expression: Expression, functions: Mapping[str, UserFunction], columns: Sequence[Ref | Bound]
    ) -> None:
        assert columns, expression
        self._evaluation = Evaluation(expression, functions)
        self._place = {column: n for n, column in enumerate(columns)}

    def __call__(self, *arrays: pa.Array) -> pa.BooleanArray:
        """Null where nobody knows."""
        place = self._place
        try:
            return self._evaluation(lambda ref: arrays[place[ref]], len(arrays[0]))
        except FunctionError as error:  # whoever asks for conditions finds out which row it was
            raise error.__cause__ or error from None
