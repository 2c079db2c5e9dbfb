"""A chain of filters as an operator: one predicate, or several under a policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.adapt import Chosen, check_policy, make_policy, policy_name
from thalweg.deprecated import current_arguments
from thalweg.errors import PlanError
from thalweg.kernels.answer import Bits, Raised
from thalweg.kernels.columns import Columns, Rows
from thalweg.kernels.filter_chain import FilterChain
from thalweg.plan import FilterPlan, Predicate, find_column
from thalweg.runtime.filter_loop import FilterLoop
from thalweg.runtime.local.virtual.clock import Clock
from thalweg.runtime.local.virtual.costs import Costs, Price, check_costs, price, prices
from thalweg.runtime.local.virtual.operator import Operator, one_by_one
from thalweg.runtime.settings import DEFAULT_POLICY

PORT = "in"


class PricedFilterChain(FilterChain):
    """Predicates take the time that was declared for them, in ordinary work and in profiling."""

    def __init__(self, plan: FilterPlan, clock: Clock, prices: Sequence[Price]) -> None:
        super().__init__(plan, clock)
        self._advance, self._prices = clock.advance, prices
        self._within = False

    def evaluate(self, k: int, columns: Columns, rows: Rows | None) -> tuple[Bits, Raised]:
        """As ever, and paid: once a row, also where rows without a value are sorted out by a second call."""
        outermost, self._within = not self._within, True
        try:
            return super().evaluate(k, columns, rows)
        finally:
            if outermost:
                self._within = False
                count = columns.length if rows is None else len(rows)
                self._advance(count * self._prices[k](self.clock()))


class Selection(Operator):
    """Rows that pass all predicates.

    `reads`: the source or operator they come from. `costs`: an arriving row costs move and handling, each predicate it
    is tried by `predicate` (by name), each row that passes `result`. `policy` as of `tw.filter`."""

    def __init__(
        self,
        name: str,
        reads: str,
        *predicates: Predicate,
        costs: Costs = Costs(),  # noqa: B008 - frozen
        policy: Chosen = DEFAULT_POLICY,
        **profile: Any,
    ) -> None:
        if not isinstance(reads, str):
            raise PlanError(f"reads={reads!r}: must be the name of a source or of an operator")
        check_costs(costs)
        self.name, self.reads = name, {PORT: reads}
        self.plan = FilterPlan(predicates)
        self._prices = prices(costs.predicate, self.plan.pipeline.names, "predicate")
        self._arrival = [price(cost) for cost in (costs.move, costs.handling)]
        self._result = price(costs.result)
        given = current_arguments({"policy": policy, **profile})
        self._policy, self._profile = given["policy"], check_policy(**given)

    def __repr__(self) -> str:
        names = ", ".join(self.plan.pipeline.names)
        return f"Selection({self.name!r}, {names}, reads {self.reads[PORT]}, policy {policy_name(self._policy)!r})"

    def set_up(self, schemas: Mapping[str, pa.Schema], clock: Clock, rng: np.random.Generator) -> pa.Schema:
        """Begin anew."""
        self.clock = clock
        schema = schemas[PORT]
        self._found = [find_column(column, schema.names) for column in self.plan.columns]
        chain = PricedFilterChain(self.plan, clock, self._prices)
        policy = make_policy(self._policy, chain.pipeline, self._profile, rng)
        self.loop = FilterLoop(chain, policy, rng)
        return schema

    def serve(self, port: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows that pass."""
        for cost in self._arrival:
            self.clock.advance(rows.num_rows * cost(self.clock()))
        keep = self.loop.process(rows.select(self._found).rename_columns(list(self.plan.columns)))
        yield from one_by_one(rows.filter(pa.array(keep)), self._result, self.clock)

    def mark(self, port: str, mark: int) -> int | None:
        """Passed on as it is."""
        return mark

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """Of the predicates."""
        return {PORT: tuple(self.loop.chain.pipeline.names[k] for k in self.loop.order)}
