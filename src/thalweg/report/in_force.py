"""Counters of the order in force: those since a worker last changed its order.

The share of rows that a predicate passes depends on its place in the order, so sums over several orders give the share
of none of them.

>>> calm = InForce(("a", "b"), rows=100, evaluated=(100, 40), passed=(40, 10), switched=False)
>>> calm.then(calm).rows
200
>>> switched = InForce(("b", "a"), rows=5, evaluated=(2, 5), passed=(1, 2), switched=True)
>>> calm.then(switched).then(replace(switched, switched=False)).rows
10
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from thalweg.events import JoinObserved, Observed


@dataclass(frozen=True, slots=True)
class InForce:
    """The counters of one worker. Tuples are by predicate (in joins, by stream), as in the record."""

    order: tuple[str, ...]
    rows: int
    """Without the rows of trials."""
    evaluated: tuple[int, ...]
    passed: tuple[int, ...]
    switched: bool
    """The order was switched while this was counted; the counters start at the last switch."""

    @classmethod
    def of(cls, record: Observed | JoinObserved) -> InForce:
        """From a record. In records of older versions all counts are taken to be of the order at their end."""
        rows = record.rows if record.rows_in_force is None else record.rows_in_force
        evaluated, passed = record.evaluated_in_force, record.passed_in_force
        if not evaluated or not passed:
            evaluated, passed = record.evaluated, record.passed
        return cls(record.order, rows, evaluated, passed, record.switched)

    def then(self, later: InForce) -> InForce:
        """Add what the same worker counted later."""
        if later.order != self.order or later.switched:
            return replace(later, switched=True)
        both = total([self, later], self.order, len(self.evaluated))
        return replace(both, switched=self.switched)


def total(workers: Iterable[InForce], order: tuple[str, ...], n: int) -> InForce:
    """The sums over the workers that use this order; `n` is the number of predicates."""
    rows, evaluated, passed = 0, [0] * n, [0] * n
    for worker in workers:
        if worker.order == order:
            rows += worker.rows
            evaluated = [a + b for a, b in zip(evaluated, worker.evaluated, strict=True)]
            passed = [a + b for a, b in zip(passed, worker.passed, strict=True)]
    return InForce(order, rows, tuple(evaluated), tuple(passed), False)
