"""Further conditions over joined rows, evaluated on Arrow arrays in three-valued logic: null is not true.

>>> check = Check(Residual("a.x < b.y + 1", (("a", "x"), ("b", "y"))))
>>> check({("a", "x"): pa.array([1, 5, None]), ("b", "y"): pa.array([1, 1, 1])}).tolist()
[True, False, False]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.errors import PlanError
from thalweg.kernels.expressions import Evaluation
from thalweg.plan.expression import Bound, Ref
from thalweg.plan.join_condition import Residual, expression
from thalweg.plan.window_length import length_of

Columns = Mapping[tuple[str, str], Any]


class Check:
    """One condition, ready to run."""

    def __init__(self, residual: Residual) -> None:
        self.residual = residual
        self._evaluation = None if residual.expression is None else Evaluation(residual.expression, {})
        self._tree = expression(residual.text) if self._evaluation is None else None

    def __call__(self, columns: Columns) -> NDArray[np.bool_]:
        """Where it is true."""
        if self._evaluation is not None:
            rows = len(next(iter(columns.values())))
            known = self._evaluation(lambda ref: _of(ref, columns), rows).fill_null(False)
            found: NDArray[np.bool_] = known.to_numpy(zero_copy_only=False)
            return found
        try:
            answer = _evaluate(self._tree, columns)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            types = ", ".join(f"{a}.{c} is {columns[a, c].type}" for a, c in self.residual.columns)
            raise PlanError(f"on=: {self.residual.text} cannot be evaluated: {types}; {error}") from None
        if not (pa.types.is_boolean(answer.type) or pa.types.is_null(answer.type)):
            raise PlanError(f"on=: {self.residual.text} is {answer.type}, not true or false: compare it with something")
        if isinstance(answer, pa.Scalar):
            rows = len(next(iter(columns.values())))
            return np.full(rows, answer.as_py() is True)
        bits: NDArray[np.bool_] = answer.fill_null(False).to_numpy(zero_copy_only=False)
        return bits


def _of(ref: Ref | Bound, columns: Columns) -> pa.Array:
    assert isinstance(ref, Ref), ref
    return columns[ref.alias, ref.column]


def _evaluate(node: Any, columns: Columns) -> Any:
    from sqlglot import exp

    if isinstance(node, exp.Column):
        return columns[node.table, node.name]
    if isinstance(node, exp.Paren):
        return _evaluate(node.this, columns)
    if isinstance(node, exp.Literal):
        return pa.scalar(node.this if node.is_string else _number(node.this))
    if isinstance(node, exp.Boolean):
        return pa.scalar(bool(node.this))
    if isinstance(node, exp.Interval):
        text = node.this.this if node.unit is None else f"{node.this.this} {node.unit.name}"
        return pa.scalar(length_of(text, "us", "INTERVAL"), pa.duration("us"))
    if isinstance(node, exp.Null):
        return pa.scalar(None)
    if isinstance(node, exp.Neg):
        return pc.negate_checked(_evaluate(node.this, columns))
    if isinstance(node, exp.Not):
        return pc.invert(_evaluate(node.this, columns))
    if isinstance(node, exp.Is):
        value, wanted = _evaluate(node.this, columns), _evaluate(node.expression, columns)
        if not wanted.is_valid:
            return pc.is_null(value)
        return pc.fill_null(pc.equal(value, wanted), False)  # IS TRUE: never unknown
    if isinstance(node, exp.Between):
        value = _evaluate(node.this, columns)
        low, high = (_alike(value, _evaluate(node.args[end], columns))[1] for end in ("low", "high"))
        return pc.and_kleene(pc.greater_equal(value, low), pc.less_equal(value, high))
    if isinstance(node, exp.In):
        value = _evaluate(node.this, columns)
        found: Any = pa.scalar(False)
        for option in node.expressions:
            found = pc.or_kleene(found, pc.equal(*_alike(value, _evaluate(option, columns))))
        return found
    one, other = _alike(_evaluate(node.this, columns), _evaluate(node.expression, columns))
    return _BINARY[type(node).__name__](one, other)


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "And": pc.and_kleene, "Or": pc.or_kleene, "EQ": pc.equal, "NEQ": pc.not_equal, "LT": pc.less,
    "LTE": pc.less_equal, "GT": pc.greater, "GTE": pc.greater_equal, "Add": pc.add_checked, "Sub": pc.subtract_checked,
    "Mul": pc.multiply_checked,
}  # fmt: skip


def _alike(one: Any, other: Any) -> tuple[Any, Any]:
    """Of types Arrow computes with: text that is compared with a time is that time, as in SQL; whole numbers of all
    widths, signed or not, meet without overflow; beside a floating number a whole one is floating too."""
    for a, b in ((one, other), (other, one)):
        if isinstance(a, pa.Scalar) and pa.types.is_string(a.type) and pa.types.is_temporal(b.type):
            cast = a.cast(b.type)
            return (cast, other) if a is one else (one, cast)
    is_ = pa.types
    if is_.is_integer(one.type) and is_.is_integer(other.type):
        wide = pa.decimal128(20, 0) if pa.uint64() in (one.type, other.type) else pa.int64()
        return one.cast(wide), other.cast(wide)
    for a, b in ((one, other), (other, one)):
        if is_.is_integer(a.type) and is_.is_floating(b.type):
            cast = pc.cast(a, pa.float64(), safe=False)
            return (cast, other) if a is one else (one, cast)
    return one, other


def _number(text: str) -> int | float | Decimal:
    """As Spark reads them: 0.2 is a decimal, 2e-1 is a double."""
    return int(text) if text.isdigit() else float(text) if "e" in text.lower() else Decimal(text)
