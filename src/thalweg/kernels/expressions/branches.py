"""Parts that are evaluated only on rows that reach them: AND, OR, CASE, COALESCE, IN, and arguments after a null.

Spark stops at the first part that decides, so `x <> 0 AND 1 / x > 2` does not fail if x is 0. A part that cannot fail
and costs little is evaluated on all rows at once, because gathering some of them would cost more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.kernels.expressions.comparison import equal
from thalweg.kernels.expressions.rows import Datum, Kernel, LazyRows, Step, called, full, nowhere_null, spread, true_of
from thalweg.plan.expressions.expression import Call, Expression, UserCall, Value, walk
from thalweg.plan.expressions.functions import can_raise

is_ = pa.types


def must_wait(expression: Expression) -> bool:
    """Whether to evaluate an expression only on rows that reach it.

    This is so if it can raise, or if it calls a user function, which costs time on every row."""
    return can_raise(expression) or any(isinstance(part, UserCall) for part in walk(expression))


def strict(arguments: Sequence[Expression], steps: Sequence[Step], kernel: Kernel, backwards: bool) -> Step:
    """A call whose arguments are evaluated one after another, and none after a null."""
    order = range(len(steps))[::-1] if backwards else range(len(steps))
    waits = {k: True for k in list(order)[1:] if must_wait(arguments[k])}
    if not waits:

        def at_once(rows: LazyRows) -> Datum:
            values = [step(rows) for step in steps]
            if all(isinstance(value, pa.Scalar) for value in values):
                values[0] = full(values[0], rows.count)
            return called(kernel, values, rows)

        return at_once

    def one_by_one(rows: LazyRows) -> Datum:
        values: dict[int, Datum] = {}
        for k in order:
            reached = nowhere_null(list(values.values()), rows.count) if k in waits else None
            if reached is None:
                values[k] = steps[k](rows)
            else:
                places = reached.nonzero()[0]
                values[k] = spread(full(steps[k](rows.at(places)), len(places)), places, rows.count)
        if all(isinstance(value, pa.Scalar) for value in values.values()):
            values[0] = full(values[0], rows.count)
        return called(kernel, [values[k] for k in range(len(steps))], rows)

    return one_by_one


def _junction(ends: bool, combine: Callable[[Datum, Datum], Datum]) -> Callable[[Call, Sequence[Step]], Step]:
    """AND, which ends at the first false, or OR, which ends at the first true."""

    def make(call: Call, steps: Sequence[Step]) -> Step:
        left, right = steps

        def at_once(rows: LazyRows) -> Datum:
            return combine(full(left(rows), rows.count), right(rows))

        def lazily(rows: LazyRows) -> Datum:
            one = full(left(rows), rows.count)
            places = (~true_of(one if ends else pc.invert(one))).nonzero()[0]
            if not len(places):
                return one
            other = full(right(rows.at(places)), len(places))
            return combine(one, spread(other, places, rows.count))

        return lazily if must_wait(call.arguments[1]) else at_once

    return make


def _case(call: Call, steps: Sequence[Step]) -> Step:
    if is_.is_null(call.type):
        return lambda rows: pa.nulls(rows.count)
    conditions, values, otherwise = steps[:-1:2], steps[1::2], steps[-1]

    def at_once(rows: LazyRows) -> Datum:
        made = otherwise(rows)
        for condition, value in zip(conditions[::-1], values[::-1], strict=True):
            asked = full(condition(rows), rows.count)
            made = pc.if_else(asked.fill_null(False) if asked.null_count else asked, value(rows), made)
        return made

    def lazily(rows: LazyRows) -> Datum:
        left = np.arange(rows.count)
        answers = _Answers(call.type, rows.count)
        for condition, value in zip(conditions, values, strict=True):
            if not len(left):
                break
            hit = true_of(full(condition(rows.at(left)), len(left)))
            if hit.any():
                answers.add(left[hit], full(value(rows.at(left[hit])), int(hit.sum())))
                left = left[~hit]
        if len(left):
            answers.add(left, full(otherwise(rows.at(left)), len(left)))
        return answers.gathered()

    # the first condition is evaluated on all rows anyway
    return lazily if any(map(must_wait, call.arguments[1:])) else at_once


def _coalesce(call: Call, steps: Sequence[Step]) -> Step:
    if is_.is_null(call.type):
        return lambda rows: pa.nulls(rows.count)

    def at_once(rows: LazyRows) -> Datum:
        values = [step(rows) for step in steps]
        return pc.coalesce(full(values[0], rows.count), *values[1:])

    def lazily(rows: LazyRows) -> Datum:
        left = np.arange(rows.count)
        answers = _Answers(call.type, rows.count)
        for step in steps:
            if not len(left):
                break
            value = full(step(rows.at(left)), len(left))
            found = np.asarray(value.is_valid().to_numpy(zero_copy_only=False))
            answers.add(left[found], value.drop_null())
            left = left[~found]
        return answers.gathered()

    return lazily if any(map(must_wait, call.arguments[1:])) else at_once


class _Answers:
    """The values of branches, put back into the order of the rows."""

    def __init__(self, kind: pa.DataType, rows: int) -> None:
        self._parts: list[pa.Array] = [pa.nulls(1, kind)]
        self._index = np.zeros(rows, dtype=np.int64)
        self._count = 1

    def add(self, places: np.ndarray, part: pa.Array) -> None:
        """Add the values of some rows. Each row may be added once."""
        self._parts.append(part)
        self._index[places] = self._count + np.arange(len(part))
        self._count += len(part)

    def gathered(self) -> pa.Array:
        """Return one value per row; null for rows that reached no branch."""
        return pa.concat_arrays(self._parts).take(pa.array(self._index))


def _in(call: Call, steps: Sequence[Step]) -> Step:
    value, options = steps[0], steps[1:]
    given = call.arguments[1:]
    kind = call.arguments[0].type
    if is_.is_null(kind):
        return lambda rows: pa.nulls(rows.count, pa.bool_())
    if all(isinstance(option, Value) for option in given) and not is_.is_floating(kind):
        known = [option.value for option in given if isinstance(option, Value)]
        options_set = pa.array([option for option in known if option is not None], kind)
        has_null = None in known

        def among(rows: LazyRows) -> Datum:
            asked = full(value(rows), rows.count)
            found = pc.is_in(asked, value_set=options_set)
            if not asked.null_count and not has_null:
                return found
            known_false = pa.scalar(None if has_null else False, pa.bool_())
            answer = pc.if_else(found, True, known_false)
            return pc.if_else(asked.is_valid(), answer, pa.scalar(None, pa.bool_()))

        return among

    def one_by_one(rows: LazyRows) -> Datum:
        asked = full(value(rows), rows.count)
        answer = pc.if_else(asked.is_valid(), False, pa.scalar(None, pa.bool_()))
        for option, step in zip(given, options, strict=True):
            if must_wait(option):
                # only rows without a match so far, and with a value to look for
                places = true_of(pc.and_kleene(asked.is_valid(), pc.invert(pc.fill_null(answer, False)))).nonzero()[0]
                other = spread(full(step(rows.at(places)), len(places)), places, rows.count)
            else:
                other = step(rows)
            answer = pc.or_kleene(answer, equal(asked, other))
        return answer

    return one_by_one


BRANCHES: dict[str, Callable[[Call, Sequence[Step]], Step]] = {
    "and": _junction(False, pc.and_kleene),
    "or": _junction(True, pc.or_kleene),
    "case": _case,
    "coalesce": _coalesce,
    "in": _in,
}
