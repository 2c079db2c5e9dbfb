"""Eddies with content-based routing (Eddy+CBR), with and without batches, and the plain Eddy.

- **Plain**: a lottery decides where a tuple goes next. A probe has a ticket for each tuple that it dropped, divided by
  its cost (Avnur and Hellerstein 2000).
- **Eddy+CBR**: for each probe, the attribute of the best gain ratio is its classifier attribute, and the share of
  tuples that it drops is known by value of this attribute (Bizarro et al. 2005). The tuple goes to the probe that drops
  most per ns for its values; one time in `EXPLORES`, to the next one in this ranking.
- **Batches** are tuples that arrive one after another. They are routed together, by what a probe drops in the mean of
  their values.
- **Learning**: one visit in `PROFILED` is counted by all attributes; the attributes of probes are chosen anew after
  each 1,000 tuples. The sample from which plans and meshes are made is counted first, so no contender starts without
  knowledge.

Each decision is counted. It is written tuple by tuple, as the peers of the paper are: its CPU time is what
`routing_prices.py` measures.
"""

from __future__ import annotations

import random
from collections import Counter, deque

import numpy as np
from numpy.typing import NDArray

from thalweg.lab.query_mesh.contender_run import ContenderRun, Counts, Numbers
from thalweg.lab.query_mesh.layouts import WINDOW, Stream
from thalweg.lab.query_mesh.prices import PRICES, Prices

CATEGORIES = 8
EXPLORES = 100
PROFILED = 20
SHRUNK_BY = 4.0
"""The share for a value counts as if so many more tuples had the share for all values."""
Plan = tuple[int, ...]


def categories_of(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the categories of values: those of a column as they are if they are small, else eight equal ranges.

    >>> categories_of(np.array([[0, 0], [9, 100]])).tolist()
    [[0, 0], [7, 7]]
    """
    most = values.max(axis=0, initial=0)
    return np.where(most <= 2 * CATEGORIES, np.minimum(values, CATEGORIES - 1), values * CATEGORIES // (most + 1))


class Eddy:
    """Decides for each tuple, or for each batch of tuples, which probe is next."""

    def __init__(
        self, costs_ns: Numbers, sample: Stream, rng: np.random.Generator, batch: int = 1, *, content: bool = True,
        learn: bool = True,
    ) -> None:  # fmt: skip
        """Learn from a sample.

        Parameters
        ----------
        costs_ns
            What each probe costs.
        sample
            Tuples with the outcomes of all probes.
        rng
            The source of random numbers.
        batch
            How many tuples are routed together.
        content
            Whether values are looked at; False for the plain Eddy.
        learn
            Whether visits are counted after the sample.
        """
        self.costs_ns = costs_ns.tolist()
        self.batch = batch
        self.content = content
        self.learn = learn and content
        self.decisions = 0
        self.learned = 0
        self._random = random.Random(int(rng.integers(1 << 32)))
        attributes = sample.values.shape[1]
        self._counts = np.zeros((len(costs_ns), attributes, CATEGORIES, 2))
        self._all = list(range(attributes))
        categories = categories_of(sample.values)
        for k in range(len(costs_ns)):
            for i in self._all:
                np.add.at(self._counts[k, i], (categories[:, i], sample.passes[:, k].astype(np.int64)), 1.0)
        self.tickets = [
            float(dropped) / cost for dropped, cost in zip((~sample.passes).sum(axis=0), self.costs_ns, strict=True)
        ]
        self.attribute: list[int] = []
        self.rates: list[list[float]] = []
        self._choose()

    def process(self, stream: Stream, prices: Prices = PRICES) -> ContenderRun:
        """Route a stream.

        Parameters
        ----------
        stream
            The tuples.
        prices
            What decisions and learning take.

        Returns
        -------
        ContenderRun
            What was done.
        """
        categories, passes = categories_of(stream.values), stream.passes
        windows = -(-len(stream) // WINDOW)
        evaluated: Counts = np.zeros((windows, len(self.costs_ns)), np.int64)
        outputs: Counts = np.zeros(windows, np.int64)
        routing = np.zeros(windows)
        paths: Counter[Plan] = Counter()
        decision_ns = prices.decision_ns if self.batch == 1 else prices.batch_decision_ns
        for window in range(windows):
            before = self.decisions, self.learned
            part = slice(window * WINDOW, (window + 1) * WINDOW)
            route = self._one_by_one if self.batch == 1 else self._in_batches
            route(categories[part], passes[part], evaluated[window], outputs[window : window + 1], paths)
            if self.learn:
                self._choose()
            routing[window] = (self.decisions - before[0]) * decision_ns + (
                self.learned - before[1]
            ) * prices.learning_ns
        return ContenderRun(evaluated, outputs, len(stream), routing, self.decisions, same_plan(paths))

    def _one_by_one(
        self, categories: NDArray[np.int64], passes: NDArray[np.bool_], evaluated: Counts, outputs: Counts,
        paths: Counter[Plan],
    ) -> None:  # fmt: skip
        counts = [0] * len(self.costs_ns)
        for values, finds in zip(categories.tolist(), passes.tolist(), strict=True):
            left, path = list(range(len(counts))), []
            returned = deque([values])  # what an operator lets pass comes back to the router
            while returned:
                k = self._next(returned.popleft(), left)
                self.decisions += 1
                left.remove(k)
                path.append(k)
                counts[k] += 1
                if self.learn and self._random.random() * PROFILED < 1.0:
                    self._count(k, values, finds[k])
                if not finds[k]:
                    self.tickets[k] += 1.0 / self.costs_ns[k]
                elif left:
                    returned.append(values)
                else:
                    outputs += 1
            paths[tuple(path)] += 1
        evaluated += counts

    def _next(self, values: list[int], left: list[int]) -> int:
        if not self.content:
            return self._random.choices(left, [self.tickets[k] for k in left])[0]
        rates, attribute = self.rates, self.attribute
        return self._ranked(left, [rates[k][values[attribute[k]]] for k in left])

    def _ranked(self, left: list[int], rates: list[float]) -> int:
        """Return the probe with the highest rate, or sometimes the one after it."""
        place = 0
        while place + 1 < len(left) and self._random.random() * EXPLORES < 1.0:
            place += 1
        if not place:
            return left[rates.index(max(rates))]
        return sorted(zip(rates, left, strict=True), reverse=True)[place][1]

    def _in_batches(
        self, categories: NDArray[np.int64], passes: NDArray[np.bool_], evaluated: Counts, outputs: Counts,
        paths: Counter[Plan],
    ) -> None:  # fmt: skip
        rates = np.array(self.rates)
        for first in range(0, len(categories), self.batch):
            values, finds = categories[first : first + self.batch], passes[first : first + self.batch]
            of_tuple = rates[np.arange(len(rates))[None, :], values[:, self.attribute]]
            rows, left, path = np.arange(len(values)), list(range(len(rates))), []
            while len(rows) and left:
                if self.content:
                    k = self._ranked(left, of_tuple[rows].mean(axis=0)[left].tolist())
                else:
                    k = self._random.choices(left, [self.tickets[k] for k in left])[0]
                self.decisions += 1
                left.remove(k)
                path.append(k)
                evaluated[k] += len(rows)
                if self.learn:
                    for row in rows[self._random.randrange(PROFILED) :: PROFILED].tolist():
                        self._count(k, values[row].tolist(), bool(finds[row, k]))
                stay = finds[rows, k]
                dropped = len(rows) - int(stay.sum())
                self.tickets[k] += dropped / self.costs_ns[k]
                if dropped:
                    paths[tuple(path)] += dropped
                rows = rows[stay]
            if len(rows):
                outputs += len(rows)
                paths[tuple(path)] += len(rows)

    def _count(self, k: int, values: list[int], found: bool) -> None:
        self.learned += 1
        self._counts[k, self._all, values, int(found)] += 1.0

    def _choose(self) -> None:
        """Choose the attribute of each probe, and what the probe drops per ns by value."""
        best = gain_ratios(self._counts).argmax(axis=1)
        dropped, found = np.moveaxis(self._counts[np.arange(len(best)), best], 2, 0)
        seen = dropped + found
        share = dropped.sum(axis=1, keepdims=True) / seen.sum(axis=1, keepdims=True)
        shares = (dropped + SHRUNK_BY * share) / (seen + SHRUNK_BY)
        self.attribute = best.tolist()
        self.rates = (shares / np.array(self.costs_ns)[:, None]).tolist()


def gain_ratios(counts: Numbers) -> Numbers:
    """Return the gain ratios of attributes: what a value says about an outcome, divided by the entropy of the values.

    Parameters
    ----------
    counts
        By value, how many tuples were dropped and how many passed; the last two of any number of dimensions.

    Returns
    -------
    numpy.ndarray
        The gain ratios, without these two dimensions; 0 if there is one value only.

    Examples
    --------
    >>> gain_ratios(np.array([[[10.0, 0.0], [0.0, 10.0]], [[5.0, 5.0], [5.0, 5.0]]])).tolist()
    [1.0, 0.0]
    """
    total, of_value = counts.sum(axis=(-2, -1)), counts.sum(axis=-1)
    split = _entropy(of_value)
    gain = _entropy(counts.sum(axis=-2)) - (of_value * _entropy(counts)).sum(axis=-1) / total
    ratios: Numbers = np.divide(gain, split, out=np.zeros_like(gain), where=split > 0.0)
    return ratios


def _entropy(counts: Numbers) -> Numbers:
    """Return the entropy of what the counts of the last dimension show, in bits."""
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1e-300)
    return np.asarray(-(shares * np.log2(np.where(shares > 0.0, shares, 1.0))).sum(axis=-1))


def same_plan(paths: Counter[Plan]) -> float:
    """Return the share of tuples that follow the most frequent plan as far as they get.

    The plan is the order to which, at each step, most of the tuples go that have followed it so far.

    >>> same_plan(Counter({(0,): 6, (0, 1): 3, (1, 0): 1}))
    0.9
    """
    plan: Plan = ()
    while True:
        following: Counter[int] = Counter()
        for path, tuples in paths.items():
            if path[: len(plan)] == plan and len(path) > len(plan):
                following[path[len(plan)]] += tuples
        if not following:
            break
        plan += (following.most_common(1)[0][0],)
    followed = sum(tuples for path, tuples in paths.items() if path == plan[: len(path)])
    return followed / max(sum(paths.values()), 1)
