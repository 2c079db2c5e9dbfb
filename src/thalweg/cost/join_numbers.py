"""The numbers that the costs of a join's plans are computed from: rates, window sizes, and shares of pairs that join.

Answers: for any set of streams that are joined with each other, how many rows of the sub-join there are at a time, how
many are made per second, and how many of them a row of another sub-join finds.
Guarantee: exact in expectation if the columns of different classes are independent and rates are constant; a number of
partners depends on the set of streams alone, not on the order in which they are joined.
Cost: one product per set of streams, which is computed once.

A number may be an array, of several times or of several draws from what is uncertain. Everything computed from it is
then an array too.

>>> from thalweg.plan.joins.graph import JoinGraph
>>> graph = JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")])
>>> numbers = JoinNumbers(graph, {"a": 200.0, "b": 30.0, "c": 3.0}, {"a": 2000.0, "b": 300.0, "c": 30.0},
...                       {("a", "b"): 0.1, ("b", "c"): 0.0002})
>>> a, b, c = (frozenset(alias) for alias in "abc")
>>> float(numbers.partners(a, b)), round(float(numbers.rows(b | c)), 3), round(float(numbers.partners(a, b | c)), 3)
(30.0, 1.8, 0.18)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.plan.joins.graph import JoinGraph

Number = float | NDArray[np.float64]
Part = frozenset[str]
"""The streams of a sub-join; a single stream is a part of one."""
WIDTH = 8.0
"""The assumed bytes of a column whose width is unknown."""
BATCH_ROWS = 10_000.0
"""The assumed number of rows in a batch of the fastest stream."""


class _Scalars:
    """The functions of NumPy that costs need, for plain numbers, for which NumPy takes ten times as long."""

    minimum, maximum = staticmethod(min), staticmethod(max)
    expm1, log1p, log2, exp2, ceil = map(staticmethod, (math.expm1, math.log1p, math.log2, math.exp2, math.ceil))
    mean = staticmethod(float)


@dataclass(frozen=True, eq=False)
class JoinNumbers:
    """What is assumed of a join. `rates`, `held` and `columns` have one entry per stream and table."""

    graph: JoinGraph
    rates: Mapping[str, Number]
    """Rows per second that look for partners; 0 for tables."""
    held: Mapping[str, Number]
    """Rows in the window, or in the table."""
    shares: Mapping[tuple[str, str], Number]
    """For each pair of neighbors, the share of pairs of rows that join."""
    columns: Mapping[str, int] = field(default_factory=dict)
    """The number of columns that a window holds."""
    widths: Mapping[str, float] = field(default_factory=dict)
    """The bytes of a row in a window, without indexes."""
    batches: Number | None = None
    """Batches per second, of all streams; None: unknown."""
    counted: Mapping[Part, Number] = field(default_factory=dict)
    """For sub-joins whose results were counted, the share of all combinations of rows that join."""
    apart: bool = False
    """Whether the places of arrays are different points, each with an order of probes of its own; otherwise they are
    draws of one point, whose order is the best on average."""
    _memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def functions(self) -> Any:
        """The functions for these numbers: NumPy if some number is an array."""
        numbers = (*self.rates.values(), *self.held.values(), *self.shares.values(), *self.counted.values())
        return np if any(isinstance(number, np.ndarray) for number in numbers) else _Scalars

    def share(self, part: Part) -> Number:
        """Return the share of the combinations of one row of each stream that join. Equalities that others imply
        select nothing more."""
        found = self._memo.get(part)
        if found is None:
            found = self._memo[part] = self.counted[part] if part in self.counted else self._product(part)
        return found

    def rows(self, part: Part) -> Number:
        """Return the rows of a sub-join that can have partners."""
        key = ("rows", part)
        if key not in self._memo:
            self._memo[key] = reduce(mul, (self.held[alias] for alias in sorted(part)), self.share(part))
        return self._memo[key]  # type: ignore[no-any-return]

    def rate(self, part: Part) -> Number:
        """Return how many rows of a sub-join are made per second."""
        key = ("rate", part)
        if key not in self._memo:
            if len(part) == 1:
                (alias,) = part
                self._memo[key] = self.rates[alias]
            else:
                self._memo[key] = sum(self.found_by(alias, part) for alias in sorted(part))
        return self._memo[key]  # type: ignore[no-any-return]

    def found_by(self, alias: str, part: Part) -> Number:
        """Return how many rows of a sub-join per second are completed by new rows of one of its streams."""
        others = (self.held[other] for other in sorted(part) if other != alias)
        return reduce(mul, others, self.share(part) * self.rates[alias])

    def partners(self, of: Part, among: Part) -> Number:
        """Return how many rows of one sub-join a row of another one finds."""
        within = self.share(of) * self.share(among)
        both = self.share(of | among)
        if isinstance(within, np.ndarray) or isinstance(both, np.ndarray):
            shape = np.broadcast(both, within).shape
            between: Number = np.divide(both, within, out=np.zeros(shape), where=np.not_equal(within, 0))
        else:
            between = both / within if within else 0.0
        return between * self.rows(among)

    def classes(self, part: Part) -> int:
        """Return the classes in which a sub-join has a column, as the bits of a number."""
        key = ("classes", part)
        if key not in self._memo:
            column_of = self.graph.column_of
            self._memo[key] = sum(1 << c for c, members in enumerate(column_of) if not part.isdisjoint(members))
        return self._memo[key]  # type: ignore[no-any-return]

    @property
    def batches_per_second(self) -> Number:
        """Batches per second; if it is unknown, as many as give the fastest stream batches of `BATCH_ROWS` rows."""
        if self.batches is not None:
            return self.batches
        if "batches" not in self._memo:
            f, rates = self.functions, list(self.rates.values())
            fastest = reduce(f.maximum, rates)
            self._memo["batches"] = sum(f.minimum(rate, fastest / BATCH_ROWS) for rate in rates)
        return self._memo["batches"]  # type: ignore[no-any-return]

    def calls(self, part: Part) -> Number:
        """Return how many batches of rows are made per second: of a stream, its batches; of a sub-join, the batches of
        its streams that complete at least one of its rows, if these come at random."""
        key = ("calls", part)
        if key not in self._memo:
            f, each = self.functions, self.batches_per_second / len(self.graph.aliases)
            total: Number = 0.0
            for alias in sorted(part):
                batches = f.minimum(each, self.rates[alias])
                found = self.found_by(alias, part) / f.maximum(batches, 1e-300)
                total = total + (batches if len(part) == 1 else batches * -f.expm1(-found))
            self._memo[key] = total
        return self._memo[key]  # type: ignore[no-any-return]

    @cached_property
    def all_shares(self) -> Mapping[tuple[str, str], Number]:
        """The shares of all pairs of neighbors. A pair that is not given follows from others of its class: if values of
        a = b and of a = c are known, b and c have as many values in common as the pair that has fewer."""
        shares, aliases = dict(self.shares), self.graph.aliases
        for members in self.graph.column_of:
            joined = {alias: frozenset([alias]) for alias in members}
            given = [pair for pair in self.shares if all(alias in members for alias in pair)]
            for one, other in sorted(given, key=lambda pair: (-self._mean_share(pair), sorted(pair))):
                for a in joined[one]:
                    for b in joined[other] - joined[one]:
                        pair = (a, b) if aliases.index(a) < aliases.index(b) else (b, a)
                        if pair not in shares and pair[::-1] not in shares:
                            shares[pair] = self.shares[one, other]
                both = joined[one] | joined[other]
                joined.update(dict.fromkeys(both, both))
        return shares

    def _mean_share(self, pair: tuple[str, str]) -> float:
        return float(np.mean(self.shares[pair]))

    def _product(self, part: Part) -> Number:
        graph = self.graph
        share: Number = 1.0
        shares = self.all_shares
        pairs = [pair for pair in shares if part.issuperset(pair)]
        joined = [{alias: frozenset([alias]) for alias in members} for members in graph.column_of]
        # the largest first: if the values of a column are among those of another, equalities with it imply the others;
        # keys of several columns before all, because their parts are not known one by one
        mean = {pair: float(np.mean(shares[pair])) for pair in pairs}
        for one, other in sorted(pairs, key=lambda pair: (-len(graph.shared(*pair)), -mean[pair], sorted(pair))):
            shared = graph.shared(one, other)
            new = [c for c in shared if other not in joined[c][one]]
            for c in new:
                both = joined[c][one] | joined[c][other]
                joined[c].update(dict.fromkeys(both, both))
            if new:  # the classes of a key count in equal parts if others imply some of them
                share = share * shares[one, other] ** (len(new) / len(shared))
        return share
