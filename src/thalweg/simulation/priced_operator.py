"""An operator with declared costs: arrivals and results advance its clock, and each result appears after its cost.

Probes and predicates within an operator advance the clock in `multiway.py` and `selection.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.cost.operator_costs import Cost, Price, price
from thalweg.runtime.clock import Clock
from thalweg.runtime.local.operator import AfterMark, Delivery, Operator


class PricedOperator(Operator):
    """An operator with declared costs. `arrival`: the costs of each input row; `result`: the cost of each output row.
    Rows that a mark releases cost nothing."""

    def __init__(self, operator: Operator, arrival: Sequence[Cost], result: Cost) -> None:
        self.operator, self.name, self.reads = operator, operator.name, operator.reads
        self._arrival, self._result = [price(cost) for cost in arrival], price(result)

    def __repr__(self) -> str:
        read = ", ".join(port if port == name else f"{port}={name}" for port, name in self.reads.items())
        return f"{type(self.operator).__name__}({self.name!r}, reads {read})"

    def set_up(self, schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator) -> pa.Schema:
        """Set up the operator with this clock, and return the schema of the output."""
        assert clock is not None, "costs move a clock"
        self.clock = clock
        return self.operator.set_up(schemas, clock, rng)

    def serve(self, port: str, rows: Any) -> Iterator[Any]:
        """Return the results, each at the time of the clock. At the end, the clock has the time at which the operator
        is free again."""
        for cost in self._arrival:
            self.clock.advance(rows.num_rows * cost(self.clock()))
        for out in self.operator.serve(port, rows):
            yield from one_by_one(out, self._result, self.clock)

    def mark(self, port: str, mark: int) -> AfterMark:
        """Pass a mark to the operator, at no cost."""
        return self.operator.mark(port, mark)

    def entering(self, port: str, rows: Any, mark: int | None) -> Iterable[Delivery]:
        """Return what the operator queues for an arrival, at no cost."""
        return self.operator.entering(port, rows, mark)

    def windows(self) -> tuple[int, int]:
        """Return the rows and bytes that the operator holds."""
        return self.operator.windows()

    def late(self) -> int:
        """Return the number of late rows of the operator."""
        return self.operator.late()

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """Return the current orders of the operator."""
        return self.operator.orders()


def size(rows: Any) -> int:
    """Return the number of rows of a batch, or of partial rows in a tree of joins."""
    return int(rows.num_rows)


def one_by_one(rows: Any, price: Price, clock: Clock) -> Iterator[Any]:
    """Return results one by one, each after its cost has passed; all at once if they cost nothing."""
    if not price(clock()):
        if size(rows):
            yield rows
        return
    for row in range(size(rows)):
        clock.advance(price(clock()))
        yield rows.slice(row, 1)
