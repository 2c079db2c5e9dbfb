"""A windowed join of many streams as one operator: probes under a policy, no intermediate results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.adapt import PolicyLike, chosen
from thalweg.cost.operator_costs import Cost, Costs, Price, check_costs, prices
from thalweg.kernels.probe_chain import Bits, ProbeChain, ProbeRows
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.joins.graph import JoinTree
from thalweg.plan.joins.shape import of_text, streams_of
from thalweg.plan.joins.window import Length
from thalweg.runtime.clock import Clock
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.local.joins import Joining
from thalweg.runtime.settings import AUTO
from thalweg.simulation.priced_operator import PricedOperator
from thalweg.simulation.windows import bind, plan_of, read_by


class PricedProbeChain(ProbeChain):
    """Probes that take their declared time, in regular processing and in profiling."""

    def __init__(
        self, tree: JoinTree, stores: Mapping[str, WindowStore], clock: Clock, prices: Sequence[Price]
    ) -> None:
        super().__init__(tree, stores, clock, timed=True)
        self._advance, self._prices = clock.advance, prices

    def probe(self, k: int, rows: ProbeRows, alive: NDArray[np.int64]) -> Bits:
        """Probe as usual, and advance the clock by the declared cost."""
        found = super().probe(k, rows, alive)
        self._advance(len(alive) * self._prices[k](self.clock()))
        return found


def with_priced_probes(
    options: JoinOptions, aliases: tuple[str, ...], probe: Cost | Mapping[str, Cost]
) -> JoinOptions:  # fmt: skip
    """Return the options of a loop with declared costs of probes: one cost for all, or costs by the stream probed. A
    probe of a kept sub-join costs as much as that of its most expensive stream."""
    declared = dict(zip(aliases, prices(probe, aliases, "probe"), strict=True))

    def price_of(name: str) -> Price:
        if name in declared:
            return declared[name]
        each = [declared[alias] for alias in streams_of(of_text(name))]
        return lambda now: max(price(now) for price in each)

    def chain(tree: JoinTree, stores: Mapping[str, WindowStore], clock: Callable[[], int]) -> ProbeChain:
        moved: Any = clock
        return PricedProbeChain(tree, stores, moved, [price_of(name) for name in tree.others])

    def probed(clock: Callable[[], int], name: str, rows: int) -> None:
        moved: Any = clock
        moved.advance(rows * price_of(name)(clock()))

    return replace(options, chain=chain, probed=probed)


class MultiwayJoin(PricedOperator):
    """A windowed join of many streams as a simulated operator. Every entry of the queue is a round.

    Parameters
    ----------
    name
        The name of the operator.
    on, window, time, lateness
        As for :func:`thalweg.join`. Windows and lateness may be numbers of time units, even if times are timestamps.
    costs
        The declared costs. An arriving row costs `move`, `hash` and `handling`, each probe of a window `probe` (by the
        stream probed), and each result `result`.
    reads
        The source or operator of each stream; the default is the one with the same name.
    policy
        The policy and its settings, as for :func:`thalweg.join`.

    Raises
    ------
    PlanError
        If an argument is invalid.

    Examples
    --------
    >>> from thalweg.simulation import Costs, MultiwayJoin
    >>> costs = Costs(move="1 ms", probe="2 ms")
    >>> MultiwayJoin("join", "a.k = b.k", window=1, time="ts", costs=costs, reads={"a": "clicks", "b": "buys"})
    MultiwayJoin('join', 'a.k = b.k', reads a=clicks, b=buys, policy 'auto')
    """

    def __init__(
        self,
        name: str,
        on: str,
        window: Length | Mapping[str, Length],
        time: str | Mapping[str, str],
        lateness: Length | Mapping[str, Length] = "0 seconds",
        *,
        costs: Costs = Costs(),  # noqa: B008 - frozen
        reads: Mapping[str, str] | None = None,
        policy: PolicyLike = AUTO,
    ) -> None:
        self.plan = plan_of(on, window, time, lateness)
        aliases = self.plan.graph.aliases
        read = read_by(aliases, reads)
        check_costs(costs)
        self._policy = chosen(policy)
        self._options = with_priced_probes(JoinOptions(self._policy.kind, self._policy.settings), aliases, costs.probe)
        self._joining = Joining(self._make, name=name, reads=read)
        super().__init__(self._joining, (costs.move, costs.hash, costs.handling), costs.result)

    def __repr__(self) -> str:
        read = ", ".join(alias if alias == name else f"{alias}={name}" for alias, name in self.reads.items())
        return f"MultiwayJoin({self.name!r}, {self.plan.on!r}, reads {read}, policy {self._policy.name!r})"

    @property
    def loop(self) -> WindowedJoin:
        """The loop of the join."""
        return self._joining.loop

    def _make(
        self, schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator
    ) -> WindowedJoin:  # fmt: skip
        return make_join_loop(bind(self.plan, schemas), self._options, rng=rng, clock=clock)
