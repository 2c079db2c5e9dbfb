"""A chain of filters as a simulated operator: one predicate, or several under a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from thalweg.adapt import PolicyLike, chosen
from thalweg.cost.operator_costs import Cost, Costs, Price, check_costs, prices
from thalweg.errors import PlanError
from thalweg.kernels.answer import Bits, Raised
from thalweg.kernels.columns import Columns, RowNumbers
from thalweg.kernels.filter_chain import FilterChain
from thalweg.plan import FilterPlan, Predicate
from thalweg.runtime.clock import Clock
from thalweg.runtime.filters.filter_loop import FilterLoop, LoopOptions, make_filter_loop
from thalweg.runtime.local.filters import Filtering, MakeLoop
from thalweg.runtime.local.operator import PORT
from thalweg.runtime.settings import AUTO
from thalweg.simulation.priced_operator import PricedOperator


class PricedFilterChain(FilterChain):
    """Predicates that take their declared time, in regular processing and in profiling."""

    def __init__(self, plan: FilterPlan, clock: Clock, prices: Sequence[Price]) -> None:
        super().__init__(plan, clock)
        self._advance, self._prices = clock.advance, prices
        self._within = False

    def evaluate(self, k: int, columns: Columns, rows: RowNumbers | None) -> tuple[Bits, Raised]:
        """Evaluate as usual, and advance the clock by the declared cost, once per row. A nested call, which separates
        rows without a value, does not count again."""
        outermost, self._within = not self._within, True
        try:
            return super().evaluate(k, columns, rows)
        finally:
            if outermost:
                self._within = False
                count = columns.length if rows is None else len(rows)
                self._advance(count * self._prices[k](self.clock()))


def priced_loops(plan: FilterPlan, options: LoopOptions, predicate: Cost | Mapping[str, Cost]) -> MakeLoop:
    """Return a function that creates loops with declared costs of predicates: one cost for all, or costs by name."""
    declared = prices(predicate, plan.pipeline.names, "predicate")

    def make(clock: Clock | None, rng: np.random.Generator) -> FilterLoop[pa.RecordBatch]:
        assert clock is not None, "costs move a clock"
        return make_filter_loop(PricedFilterChain(plan, clock, declared), options, rng)

    return make


class Selection(PricedOperator):
    """A simulated operator that returns the rows that pass all predicates.

    Parameters
    ----------
    name
        The name of the operator.
    reads
        The source or operator of its rows.
    predicates
        Predicates made with :func:`thalweg.predicate`.
    costs
        The declared costs. An arriving row costs `move` and `handling`, each predicate evaluated on it `predicate` (by
        name), and each row that passes `result`.
    policy
        The policy and its settings, as for :func:`thalweg.filters`.

    Raises
    ------
    PlanError
        If an argument is invalid.

    Examples
    --------
    >>> import thalweg as tw
    >>> from thalweg.simulation import Costs, Selection
    >>> even = tw.predicate(lambda n: n % 2 == 0, "n", name="even")
    >>> Selection("some", "numbers", even, costs=Costs(predicate={"even": "2 ms"}), policy="sweep(p=0.1)")
    Selection('some', even, reads numbers, policy 'sweep')
    """

    def __init__(
        self,
        name: str,
        reads: str,
        *predicates: Predicate,
        costs: Costs = Costs(),  # noqa: B008 - frozen
        policy: PolicyLike = AUTO,
    ) -> None:
        if not isinstance(reads, str):
            raise PlanError(f"reads={reads!r}: must be the name of a source or of an operator")
        check_costs(costs)
        self.plan = FilterPlan(predicates)
        self._policy = chosen(policy)
        options = LoopOptions(self._policy.kind, self._policy.settings)
        self._filtering = Filtering(
            self.plan, priced_loops(self.plan, options, costs.predicate), name=name, reads=reads
        )
        super().__init__(self._filtering, (costs.move, costs.handling), costs.result)

    def __repr__(self) -> str:
        names = ", ".join(self.plan.pipeline.names)
        return f"Selection({self.name!r}, {names}, reads {self.reads[PORT]}, policy {self._policy.name!r})"

    @property
    def loop(self) -> FilterLoop[pa.RecordBatch]:
        """The loop of the predicates."""
        return self._filtering.loop
