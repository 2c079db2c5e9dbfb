"""What a native predicate costs a row, by the kind of its expression.

Answers: the cost of an expression relative to a comparison, and the kind that dominates it.
Guarantee: none; rough weights, good for telling a null check from a regular expression. The JVM cannot be asked what
one conjunct of a compiled filter took.

>>> native_cost(">(size, 1024)"), native_cost("rlike(lower(line), 'x')")
(1.0, 55.0)
>>> dominant_kind("=(get_json_object(payload, '$.user'), 'x')")
'JSON'
"""

from __future__ import annotations

from thalweg.plan.expression_kind import UNKNOWN, kinds_of

WEIGHTS: dict[str, float] = {
    "comparison": 1.0, "text search": 5.0, "arithmetic": 1.0, "cast": 5.0, "text": 5.0, "date": 5.0, "pattern": 20.0,
    "hash": 20.0, "collection": 20.0, "regular expression": 50.0, "JSON": 100.0, UNKNOWN: 20.0,
}  # fmt: skip


def native_cost(text: str) -> float:
    """The sum over its parts; comparisons count only where there is nothing else."""
    parts = [WEIGHTS[kind] for kind in kinds_of(text) if kind != "comparison"]
    return sum(parts) or WEIGHTS["comparison"]


def dominant_kind(text: str) -> str:
    """The dearest kind in it."""
    return max(kinds_of(text), key=WEIGHTS.__getitem__, default="comparison")
