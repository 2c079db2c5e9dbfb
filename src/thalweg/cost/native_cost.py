"""The cost of a native predicate per row, estimated from the kind of its expression.

Answers: the cost of an expression relative to a comparison, and the kind that dominates it.
Guarantee: none. The weights are rough, but enough to distinguish a null check from a regular expression. The JVM does
not report how long one conjunct of a compiled filter took.

>>> from thalweg.plan.filters.native_uses import uses_in
>>> native_cost([*uses_in("size > 1024")]), native_cost([*uses_in("lower(line) RLIKE 'x'")])
(1.0, 55.0)
>>> dominant_kind([*uses_in("get_json_object(payload, '$.user') = 'x'")])
'JSON'
"""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.plan.filters.expression_kind import UNKNOWN, kinds_of
from thalweg.plan.filters.native_uses import Use

WEIGHTS: dict[str, float] = {
    "comparison": 1.0, "text search": 5.0, "arithmetic": 1.0, "cast": 5.0, "text": 5.0, "date": 5.0, "pattern": 20.0,
    "hash": 20.0, "collection": 20.0, "regular expression": 50.0, "JSON": 100.0, UNKNOWN: 20.0,
}  # fmt: skip


def native_cost(uses: Sequence[Use]) -> float:
    """Return the sum of the weights of its parts; comparisons count only if there is nothing else."""
    parts = [WEIGHTS[kind] for kind in kinds_of(uses) if kind != "comparison"]
    return sum(parts) or WEIGHTS["comparison"]


def dominant_kind(uses: Sequence[Use]) -> str:
    """Return the most expensive kind of its parts."""
    return max(kinds_of(uses), key=WEIGHTS.__getitem__, default="comparison")
