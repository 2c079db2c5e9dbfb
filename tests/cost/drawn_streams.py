"""Streams of random keys with constant rates, and what the costs of their joins are computed from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from thalweg.cost.join_numbers import JoinNumbers
from thalweg.optimizer.joins.estimates import neighbors
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_protocol import WindowedJoin

SPAN = 10_000
"""The length of all streams, in ticks."""
ONS = {
    "chain": "a.k = b.k AND b.m = c.m",
    "one class": "a.k = b.k AND b.k = c.k",
    "star": "a.k = b.k AND a.m = c.m AND a.n = d.n",
    "longer chain": "a.k = b.k AND b.m = c.m AND c.n = d.n",
    "cycle": "a.k = b.k AND b.m = c.m AND c.n = a.n",
}


@dataclass(frozen=True)
class DrawnStreams:
    """The streams of one join. `values`: by column, how many different values it has."""

    on: str
    rows: Mapping[str, int]
    windows: Mapping[str, int]
    values: Mapping[str, int]
    seed: int = 0

    @property
    def plan(self) -> JoinPlan:
        """The plan of the join of all streams."""
        return JoinPlan.of(self.on, dict(self.windows), "t", 0)

    @property
    def graph(self) -> JoinGraph:
        """The streams and what connects them."""
        return self.plan.graph

    def tables(self) -> dict[str, pa.Table]:
        """The rows, in the order of time. Every stream has all columns."""
        rng = np.random.default_rng(self.seed)
        made = {}
        for alias in self.graph.aliases:
            count = self.rows[alias]
            keys = {name: rng.integers(0, values, count) for name, values in self.values.items()}
            made[alias] = pa.table({"t": np.sort(rng.integers(0, SPAN, count)), **keys, "id": np.arange(count)})
        return made

    def binding(self) -> JoinBinding:
        """The join of these columns."""
        return JoinBinding.of(self.plan, {alias: table.schema for alias, table in self.tables().items()})

    def numbers(self, **more: object) -> JoinNumbers:
        """What is expected per tick."""
        rates = {alias: self.rows[alias] / SPAN for alias in self.graph.aliases}
        held = {alias: rates[alias] * self.windows[alias] for alias in self.graph.aliases}
        shares = {}
        for one, other in neighbors(self.graph):
            names = [self.graph.column_of[c][one] for c in self.graph.shared(one, other)]
            shares[one, other] = float(np.prod([1 / self.values[name] for name in names]))
        return JoinNumbers(self.graph, rates, held, shares, **more)  # type: ignore[arg-type]

    def rounds(self, count: int) -> Iterator[list[tuple[str, pa.RecordBatch]]]:
        """The rows of all streams between the same times."""
        tables = self.tables()
        for start in range(0, SPAN, SPAN // count):
            found = []
            for alias, table in tables.items():
                first, last = np.searchsorted(table["t"].to_numpy(), [start, start + SPAN // count])
                found += [(alias, batch) for batch in table.slice(first, last - first).to_batches()]
            yield found

    def run(self, loop: WindowedJoin, count: int = 100) -> None:
        """Join all rows, in so many rounds."""
        for rows in self.rounds(count):
            for alias, batch in rows:
                for _ in loop.process(alias, batch):
                    pass
            loop.end_round()


def draw(name: str, seed: int, *, rows: int = 3000, partners: tuple[float, float] = (0.1, 4.0)) -> DrawnStreams:
    """Draw a join of this graph: rates over 1:10, windows over 1:4, and this many partners per edge."""
    rng = np.random.default_rng(seed)
    plan = JoinPlan.of(ONS[name], 1, "t", 0)
    aliases = plan.graph.aliases
    counts = {alias: int(rows * 10 ** rng.uniform(-1, 0)) for alias in aliases}
    windows = {alias: int(SPAN / 10 * 2 ** rng.uniform(0, 2)) for alias in aliases}
    values = {}
    for c, members in enumerate(plan.graph.column_of):
        held = max(counts[alias] * windows[alias] / SPAN for alias in members)
        values[plan.graph.column_of[c][next(iter(members))]] = max(round(held / rng.uniform(*partners)), 2)
    return DrawnStreams(ONS[name], counts, windows, values, seed)
