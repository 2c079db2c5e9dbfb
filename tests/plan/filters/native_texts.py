"""Native predicates of texts, as Spark prints expressions, without a Column."""

from __future__ import annotations

from thalweg.plan import NativePredicate
from thalweg.plan.filters.expression_kind import may_raise
from thalweg.plan.filters.native_uses import uses_in
from thalweg.runtime.spark.read_column import short_name


def native(text: str, name: str | None = None, *after: str) -> NativePredicate:
    uses = tuple(uses_in(text))
    label = short_name(text) if name is None else name
    return NativePredicate(label, text, uses, may_raise(uses), None, after, named=name is not None)
