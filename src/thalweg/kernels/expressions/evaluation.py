"""Evaluate expressions over Arrow arrays, exactly as Spark's ANSI mode does.

An expression is compiled into steps once: a tree of closures that call their kernels.

>>> from thalweg.plan.expressions.expression import Ref, call
>>> x = Ref("s", "x", pa.int64())
>>> evaluate(call("gt", (x, Value(1, pa.int64())), pa.bool_()), lambda ref: pa.array([1, 2, None]), 3, {}).to_pylist()
[False, True, None]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from thalweg.errors import FunctionError
from thalweg.kernels.expressions.arithmetic import ARITHMETIC
from thalweg.kernels.expressions.branches import BRANCHES, strict
from thalweg.kernels.expressions.casts import CASTS
from thalweg.kernels.expressions.comparison import COMPARISONS, EXTREMES
from thalweg.kernels.expressions.rounding import ROUNDING
from thalweg.kernels.expressions.rows import ColumnOf, Datum, LazyRows, Maker, Step, called, full
from thalweg.kernels.expressions.text import TEXT
from thalweg.kernels.expressions.times import TIMES
from thalweg.kernels.expressions.user_calls import call_user
from thalweg.plan.expressions.expression import Bound, Call, Expression, Ref, UserCall, Value, user_functions
from thalweg.plan.query.relation import UserFunction

KERNELS: dict[str, Maker] = {
    **COMPARISONS, **EXTREMES, **ARITHMETIC, **ROUNDING, **TEXT, **TIMES, **CASTS,
}  # fmt: skip
"""Kernels by function name. Functions that evaluate their arguments themselves are in `BRANCHES`."""
_EVALUATE_ALL = frozenset({*EXTREMES, "same", "is_null", "concat"})
"""Functions that evaluate all arguments, even after a null."""
_BACKWARDS = frozenset({"divide", "int_divide", "mod"})
"""Functions whose divisor is evaluated first, as in Spark."""


class Evaluation:
    """An expression that is compiled on the first call. It pickles, with the functions it calls."""

    def __init__(self, expression: Expression, functions: Mapping[str, UserFunction]) -> None:
        self.expression = expression
        self.functions = {name: _function(name, functions) for name in user_functions(expression)}
        self._step: Step | None = None

    def __call__(self, column_of: ColumnOf, rows: int, *, tries_all: bool = False) -> pa.Array:
        """Return one value per row, of the expression's type. `tries_all`: see `LazyRows`."""
        if not rows:
            return pa.array([], self.expression.type)
        if self._step is None:
            self._step = _step(self.expression, self.functions)
        made = full(self._step(LazyRows(column_of, rows, tries_all=tries_all)), rows)
        assert made.type == self.expression.type, (made.type, self.expression)
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_step": None}


def evaluate(expression: Expression, column_of: ColumnOf, rows: int, functions: Mapping[str, UserFunction]) -> pa.Array:
    """Return one value per row, of the expression's type. For many batches, keep an `Evaluation`."""
    return Evaluation(expression, functions)(column_of, rows)


def _function(name: str, functions: Mapping[str, UserFunction]) -> UserFunction:
    found = functions.get(name) or functions.get(name.lower())
    assert found is not None, name
    return found


def _step(expression: Expression, functions: Mapping[str, UserFunction]) -> Step:
    if isinstance(expression, Ref | Bound):
        ref = expression
        return lambda rows: rows.column(ref)
    if isinstance(expression, Value):
        scalar = pa.scalar(expression.value, expression.type)
        return lambda rows: scalar
    assert isinstance(expression, Call | UserCall), expression
    steps = [_step(argument, functions) for argument in expression.arguments]
    if isinstance(expression, UserCall):
        return _user_step(functions[expression.function], steps)
    name = expression.function
    if name in BRANCHES:
        return BRANCHES[name](expression, steps)
    kernel = KERNELS[name](expression)
    if name in _EVALUATE_ALL or len(steps) < 2:

        def plain(rows: LazyRows) -> Datum:
            values = [step(rows) for step in steps]
            if values and all(isinstance(value, pa.Scalar) for value in values):
                values[0] = full(values[0], rows.count)
            return called(kernel, values, rows)

        return plain
    return strict(expression.arguments, steps, kernel, name in _BACKWARDS)


def _user_step(function: UserFunction, steps: list[Step]) -> Step:
    def step_of(rows: LazyRows) -> Datum:
        values = [full(step(rows), rows.count) for step in steps]
        return called(lambda arrays, count: call_user(function, arrays, count, tries_all=rows.tries_all), values, rows)

    return step_of


class VectorizedCondition:
    """An expression as a vectorized predicate: Arrow arrays in, one truth value per row out.

    It is called with the arrays of its columns, in their order. It pickles, and is compiled on the first call.

    >>> from thalweg.plan.expressions.expression import Ref, Value, call
    >>> x = Ref("s", "x", pa.int64())
    >>> positive = VectorizedCondition(call("gt", (x, Value(0, pa.int64())), pa.bool_()), {}, (x,))
    >>> positive(pa.array([1, None, -1])).to_pylist()
    [True, None, False]
    """

    def __init__(
        self, expression: Expression, functions: Mapping[str, UserFunction], columns: Sequence[Ref | Bound]
    ) -> None:
        assert columns, expression
        self._evaluation = Evaluation(expression, functions)
        self._place = {column: n for n, column in enumerate(columns)}

    def __call__(self, *arrays: pa.Array) -> pa.BooleanArray:
        """Return whether the condition is true for each row; null if unknown."""
        place = self._place
        try:
            return self._evaluation(lambda ref: arrays[place[ref]], len(arrays[0]), tries_all=True)
        except FunctionError as error:  # the caller of conditions finds out which row it was
            if error.rows is not None:
                raise
            raise error.__cause__ or error from None
