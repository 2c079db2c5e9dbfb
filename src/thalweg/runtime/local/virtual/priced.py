"""An operator at declared costs: arrivals and results move its clock, and results appear when they are paid.

What happens within an operator, probes and predicates, is priced where it happens (`multiway.py`, `selection.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.runtime.local.operator import Coming, Operator, Passed
from thalweg.runtime.local.virtual.clock import Clock
from thalweg.runtime.local.virtual.costs import Cost, Price, price


class Priced(Operator):
    """`arrival`: costs of each row that comes in; `result`: of each that comes out. Rows that a mark releases cost
    nothing."""

    def __init__(self, operator: Operator, arrival: Sequence[Cost], result: Cost) -> None:
        self.operator, self.name, self.reads = operator, operator.name, operator.reads
        self._arrival, self._result = [price(cost) for cost in arrival], price(result)

    def __repr__(self) -> str:
        read = ", ".join(port if port == name else f"{port}={name}" for port, name in self.reads.items())
        return f"{type(self.operator).__name__}({self.name!r}, reads {read})"

    def set_up(self, schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator) -> pa.Schema:
        """Begin anew."""
        assert clock is not None, "costs move a clock"
        self.clock = clock
        return self.operator.set_up(schemas, clock, rng)

    def serve(self, port: str, rows: Any) -> Iterator[Any]:
        """Results, each at the clock's time. The clock then says when the operator is free again."""
        for cost in self._arrival:
            self.clock.advance(rows.num_rows * cost(self.clock()))
        for out in self.operator.serve(port, rows):
            yield from one_by_one(out, self._result, self.clock)

    def mark(self, port: str, mark: int) -> Passed:
        """At no cost."""
        return self.operator.mark(port, mark)

    def entering(self, port: str, rows: Any, mark: int | None) -> Iterable[Coming]:
        """At no cost."""
        return self.operator.entering(port, rows, mark)

    def windows(self) -> tuple[int, int]:
        """Of the operator."""
        return self.operator.windows()

    def late(self) -> int:
        """Of the operator."""
        return self.operator.late()

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """Of the operator."""
        return self.operator.orders()


def size(rows: Any) -> int:
    """Of a batch, or of what a tree of joins hands on."""
    return int(rows.num_rows)


def one_by_one(rows: Any, price: Price, clock: Clock) -> Iterator[Any]:
    """Results as they appear: each when it is paid; all at once where they cost nothing."""
    if not price(clock()):
        if size(rows):
            yield rows
        return
    for row in range(size(rows)):
        clock.advance(price(clock()))
        yield rows.slice(row, 1)
