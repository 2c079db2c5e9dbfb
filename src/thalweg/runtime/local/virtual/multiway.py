"""A windowed join of many streams as one operator: probes under a policy, no intermediate results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.adapt import Chosen, check_policy, policy_name
from thalweg.deprecated import current_arguments
from thalweg.kernels.probe_chain import Bits, ProbeChain, ProbeRows
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.join_graph import JoinTree
from thalweg.plan.window_length import Length
from thalweg.runtime.join_loop import JoinLoop
from thalweg.runtime.local.virtual.clock import Clock
from thalweg.runtime.local.virtual.costs import Costs, Price, check_costs, price, prices
from thalweg.runtime.local.virtual.operator import Operator, one_by_one, read_by
from thalweg.runtime.local.virtual.windows import bind, plan_of
from thalweg.runtime.settings import DEFAULT_POLICY
from thalweg.runtime.watermark import END


class PricedProbeChain(ProbeChain):
    """Probes take the time that was declared for them, in ordinary work and in profiling."""

    def __init__(
        self, tree: JoinTree, stores: Mapping[str, WindowStore], clock: Clock, prices: Sequence[Price]
    ) -> None:
        super().__init__(tree, stores, clock, timed=True)
        self._advance, self._prices = clock.advance, prices

    def probe(self, k: int, rows: ProbeRows, alive: NDArray[np.int64]) -> Bits:
        """As ever, and paid."""
        found = super().probe(k, rows, alive)
        self._advance(len(alive) * self._prices[k](self.clock()))
        return found


class MultiwayJoin(Operator):
    """Arguments as of `tw.join`; every entry of the queue is a round. Windows and lateness may be numbers of time units
    where times are timestamps, too.

    `costs`: an arriving row costs move, hash and handling, each probe of a window `probe` (by the stream probed),
    each result `result`. `reads`: by stream, which source or operator it comes from; those of the same name where
    nothing is said."""

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
        policy: Chosen = DEFAULT_POLICY,
        **profile: Any,
    ) -> None:
        self.name = name
        self.plan = plan_of(on, window, time, lateness)
        aliases = self.plan.graph.aliases
        self.reads = read_by(aliases, reads)
        check_costs(costs)
        self._probes = dict(zip(aliases, prices(costs.probe, aliases, "probe"), strict=True))
        self._arrival = [price(cost) for cost in (costs.move, costs.hash, costs.handling)]
        self._result = price(costs.result)
        given = current_arguments({"policy": policy, **profile})
        self._policy, self._profile = given["policy"], check_policy(**given)

    def __repr__(self) -> str:
        read = ", ".join(alias if alias == name else f"{alias}={name}" for alias, name in self.reads.items())
        return f"MultiwayJoin({self.name!r}, {self.plan.on!r}, reads {read}, policy {policy_name(self._policy)!r})"

    def set_up(self, schemas: Mapping[str, pa.Schema], clock: Clock, rng: np.random.Generator) -> pa.Schema:
        """Begin anew."""
        self.clock = clock
        self._open = set(self.reads)
        binding = bind(self.plan, schemas)
        self.loop = JoinLoop(binding, self._policy, self._profile, clock, rng, chain=self._chain)
        return binding.output

    def _chain(self, tree: JoinTree, stores: Mapping[str, WindowStore], clock: Any) -> ProbeChain:
        return PricedProbeChain(tree, stores, clock, [self._probes[alias] for alias in tree.others])

    def serve(self, port: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Results that come with these rows."""
        for cost in self._arrival:
            self.clock.advance(rows.num_rows * cost(self.clock()))
        for out in self.loop.process(port, rows):
            yield from one_by_one(out, self._result, self.clock)
        self.loop.end_round()

    def mark(self, port: str, mark: int) -> int | None:
        """A stream that has ended holds nobody back."""
        if mark != END:
            return None
        self.loop.watermarks.ended(port)
        self.loop.end_round()
        self._open.discard(port)
        return None if self._open else END

    def windows(self) -> tuple[int, int]:
        """Of all streams."""
        sizes = self.loop.sizes().values()
        return sum(rows for rows, _ in sizes), sum(nbytes for _, nbytes in sizes)

    def late(self) -> int:
        """Of all streams."""
        return sum(counts.late for counts in self.loop.counts.values())

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """By stream, in which order the others are probed."""
        return {a: tuple(loop.chain.pipeline.names[k] for k in loop.order) for a, loop in self.loop.loops.items()}
