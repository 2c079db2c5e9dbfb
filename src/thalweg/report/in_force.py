"""What the order in force did: the counters since a worker last changed its order.

Rates of a predicate depend on its place in the order, so sums over several orders are the rates of none of them.

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
    """Of one worker. Lists go with the names of the record."""

    order: tuple[str, ...]
    rows: int
    """Without those of trials."""
    evaluated: tuple[int, ...]
    passed: tuple[int, ...]
    switched: bool
    """A switch was made in the time of which this is; the counters begin with the last one."""

    @classmethod
    def of(cls, record: Observed | JoinObserved) -> InForce:
        """Records of older versions do not tell: all they count is taken to be of the order at their end."""
        rows = record.rows if record.rows_in_force is None else record.rows_in_force
        evaluated, passed = record.evaluated_in_force, record.passed_in_force
        if not evaluated or not passed:
            evaluated, passed = record.evaluated, record.passed
        return cls(record.order, rows, evaluated, passed, record.switched)

    def then(self, later: InForce) -> InForce:
        """With what the same worker counted later."""
        if later.order != self.order or later.switched:
            return replace(later, switched=True)
        both = total([self, later], self.order, len(self.evaluated))
        return replace(both, switched=self.switched)


def total(workers: Iterable[InForce], order: tuple[str, ...], n: int) -> InForce:
    """Summed over the workers that have this order; `n` counters each."""
    rows, evaluated, passed = 0, [0] * n, [0] * n
    for worker in workers:
        if worker.order == order:
            rows += worker.rows
            evaluated = [a + b for a, b in zip(evaluated, worker.evaluated, strict=True)]
            passed = [a + b for a, b in zip(passed, worker.passed, strict=True)]
    return InForce(order, rows, tuple(evaluated), tuple(passed), False)
