"""The CPU time that the plans of a join need: operations counted from rates and partners, times what each takes.

Answers: nanoseconds of CPU per second of the streams, for a plan and for each of its joins.
How: the operations that the loops of joins make (`kernels/probing.py`) are counted: rows stored and indexed, probes,
index entries visited, combinations tried, results put together. Their costs were fitted to measured joins
(`bench/plans`, development seeds) and are the same for all plans.
Guarantee: none for a single plan; how well predicted and measured times agree is measured by `make bench-plans`. The
costs are of one machine, but only their ratios decide which plan is the best.
Cost: O(inputs squared) per join.

A join of many inputs tries partners in the order in which most rows are dropped first, as an adaptive policy does. It
looks for one partner in each window before it puts results together, so a row that is dropped costs little.

>>> from thalweg.plan.joins.graph import JoinGraph
>>> graph = JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")])
>>> numbers = JoinNumbers(graph, {"a": 20e3, "b": 3e3, "c": 300.0}, {"a": 2e5, "b": 3e4, "c": 3e3},
...                       {("a", "b"): 1e-3, ("b", "c"): 0.01 / 3e3})
>>> float(work_ns(("a", "b", "c"), numbers)) > 3 * float(work_ns((("b", "c"), "a"), numbers))
True
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.cost.join_numbers import JoinNumbers, Number, Part
from thalweg.cost.memory import EXPIRED
from thalweg.plan.joins.shape import Shape, nodes_of, streams_of

OPERATIONS = (
    "batches", "calls", "probing_calls", "levels", "outputs", "columns", "arrivals", "kept_arrivals", "values_stored",
    "indexed", "probes", "far_probes", "steps", "far_steps", "entries", "combinations", "values_gathered", "results",
)  # fmt: skip
NEAR_ROWS = 2.0**13
"""Indexes of up to this many rows are in the processor's caches; probes of larger ones wait for memory."""
_NONE = 0.0
LEAST, MOST = 1e-300, 1.0 - 1e-12
"""Bounds of shares that are divided by, or whose complement is."""


@dataclass(frozen=True)
class OperationCosts:
    """What each operation takes, in nanoseconds."""

    batches: float = 200_000.0
    """A batch of a stream, apart from its rows."""
    calls: float = 200_000.0
    """Processing a batch in a join of two inputs, apart from its rows."""
    probing_calls: float = 190_000.0
    """Processing a batch in a join of more inputs, which chooses the order of its probes."""
    levels: float = 28_000.0
    """Probing one window with a batch in a join of more inputs, apart from the rows."""
    outputs: float = 105_000.0
    """Making a batch of results, apart from its rows."""
    columns: float = 11_400.0
    """Making one column of it, apart from its rows."""
    arrivals: float = 44.0
    """A row that arrives at a join."""
    kept_arrivals: float = 16.0
    """In addition, if the plan keeps sub-joins: rows carry their keys up the tree."""
    values_stored: float = 4.9
    """Storing one value of a row."""
    indexed: float = 30.0
    """Inserting a row into one index."""
    probes: float = 19.0
    """Looking up a key in an index."""
    far_probes: float = 11.0
    """For an index that is larger than the caches, in addition: per doubling of its size."""
    steps: float = 46.0
    """Looking up the key of a row that was just found, in the next window on a path: memory cannot be read ahead."""
    far_steps: float = 8.3
    """For an index that is larger than the caches, in addition: per doubling of its size."""
    entries: float = 5.1
    """Visiting an entry of an index."""
    combinations: float = 5.0
    """Choosing one more row for a partial result."""
    values_gathered: float = 2.9
    """Copying one value into a result."""
    results: float = 28.0
    """Each row that a join makes."""


COSTS = OperationCosts()


def work_ns(shape: Shape, numbers: JoinNumbers, costs: OperationCosts = COSTS) -> Number:
    """Return the CPU time of a plan, in nanoseconds per second."""
    if isinstance(shape, str):
        return 0.0
    return sum(
        in_ns(node_operations([frozenset(streams_of(part)) for part in node], numbers), costs)
        for node in nodes_of(shape)
    )


def in_ns(operations: Mapping[str, Number], costs: OperationCosts = COSTS) -> Number:
    """Return the time of operations, in nanoseconds."""
    total: Number = 0.0
    each = vars(costs)
    for name, count in operations.items():
        if count is not _NONE:
            total = total + count * each[name]
    return total


def node_operations(parts: Sequence[Part], numbers: JoinNumbers) -> dict[str, Number]:
    """Return the operations per second of one join of these inputs. Their order has no influence."""
    parts = sorted(parts, key=min)
    whole = frozenset().union(*parts)
    made = numbers.rate(whole)
    total: dict[str, Number] = dict.fromkeys(OPERATIONS, _NONE)
    streams = len(numbers.graph.aliases)
    keeps = max(map(len, parts)) > 1 or len(whole) < streams
    total["values_gathered"], total["results"] = made * _gathered(whole, keeps, numbers), made
    total["outputs"] = numbers.calls(whole)
    total["columns"] = total["outputs"] * _gathered(whole, keeps, numbers)
    indexes = [1] * len(parts) if len(parts) == 2 else index_counts(parts, numbers)
    for part, count in zip(parts, indexes, strict=True):
        rate = numbers.rate(part)
        calls = numbers.calls(part)
        kind = "calls" if len(parts) == 2 else "probing_calls"
        total[kind] = total[kind] + calls
        if len(parts) > 2:
            total["levels"] = total["levels"] + calls * (len(parts) - 1)
        if len(part) == 1:
            total["batches"] = total["batches"] + calls
        total["arrivals"] = total["arrivals"] + rate
        if keeps:
            total["kept_arrivals"] = total["kept_arrivals"] + rate
        values = columns_of(part, numbers) + (numbers.classes(part).bit_count() if keeps else 0)
        total["values_stored"] = total["values_stored"] + rate * values
        total["indexed"] = total["indexed"] + rate * count
        if len(parts) == 2:
            other = parts[1] if part == parts[0] else parts[0]
            total["probes"] = total["probes"] + rate
            total["far_probes"] = total["far_probes"] + rate * farness(other, numbers)
            total["entries"] = total["entries"] + rate * numbers.partners(part, other) * _expired(other)
        else:
            for name, count_of in _multiway(part, parts, numbers).items():
                total[name] = total[name] + rate * count_of
    return total


class _Input(NamedTuple):
    """An input of a join of two inputs in a plan that keeps sub-joins."""

    share: float
    rate: float
    own_ns: float
    """The time that does not depend on the other input."""
    far_ns: float
    """The time that a row of the other input waits for memory."""
    entries_ns: float
    """The time to visit all rows."""


class NodeTimes:
    """The times of many joins, in nanoseconds per second, for plain numbers. What the joins of two inputs have in
    common is computed once, because a search evaluates hundreds of thousands of them."""

    def __init__(self, numbers: JoinNumbers, costs: OperationCosts = COSTS) -> None:
        self.numbers, self.costs = numbers, costs
        self._inputs: dict[Part, _Input] = {}
        self._results: dict[Part, tuple[float, float]] = {}

    def __call__(self, parts: Sequence[Part]) -> float:
        """Return the time of one join of these inputs, as `in_ns` does for its operations."""
        if len(parts) != 2 or len(self.numbers.graph.aliases) == 2:
            return float(in_ns(node_operations(parts, self.numbers), self.costs))
        left, right = parts
        one = self._inputs.get(left) or self._input(left)
        other = self._inputs.get(right) or self._input(right)
        whole = left | right
        share, made_ns = self._results.get(whole) or self._result(whole)
        within = one.share * other.share
        found = (share / within if within else 0.0) * (one.rate * other.entries_ns + other.rate * one.entries_ns)
        return made_ns + one.own_ns + other.own_ns + one.rate * other.far_ns + other.rate * one.far_ns + found

    def _input(self, part: Part) -> _Input:
        numbers, costs = self.numbers, self.costs
        rate = float(numbers.rate(part))
        calls = float(numbers.calls(part))
        values = columns_of(part, numbers) + numbers.classes(part).bit_count()
        per_row = costs.arrivals + costs.kept_arrivals + values * costs.values_stored + costs.indexed + costs.probes
        own_ns = calls * (costs.calls + (costs.batches if len(part) == 1 else 0.0)) + rate * per_row
        far_ns = float(farness(part, numbers)) * costs.far_probes
        entries_ns = float(stored_rows(part, numbers)) * costs.entries
        made = self._inputs[part] = _Input(float(numbers.share(part)), rate, own_ns, far_ns, entries_ns)
        return made

    def _result(self, whole: Part) -> tuple[float, float]:
        numbers, costs = self.numbers, self.costs
        values = _gathered(whole, True, numbers)
        each_ns = values * costs.values_gathered + costs.results
        made_ns = float(numbers.calls(whole)) * (costs.outputs + values * costs.columns)
        made = self._results[whole] = float(numbers.share(whole)), made_ns + float(numbers.rate(whole)) * each_ns
        return made


def columns_of(part: Part, numbers: JoinNumbers) -> int:
    """Return the number of values in a row of a sub-join."""
    return sum(numbers.columns.get(alias, 2) for alias in part)


def _gathered(whole: Part, keeps: bool, numbers: JoinNumbers) -> int:
    """Return the values that are copied for a result: in a plan that keeps sub-joins, those of all columns and the keys
    of all classes; in a multiway join, columns that must be equal are copied once."""
    values = columns_of(whole, numbers)
    if keeps:
        return values + numbers.classes(whole).bit_count()
    return max(values - sum(len(members) - 1 for members in numbers.graph.column_of), 1)


def index_counts(parts: Sequence[Part], numbers: JoinNumbers) -> list[int]:
    """Return the number of indexes of each input of a join of many inputs: one per set of classes it shares with
    another."""
    classes = [numbers.classes(part) for part in parts]
    return [
        len({own & other for m, other in enumerate(classes) if m != n} - {0}) for n, own in enumerate(classes)
    ]  # fmt: skip


def _multiway(root: Part, parts: Sequence[Part], numbers: JoinNumbers) -> dict[str, Number]:
    """Return the operations of one row that arrives at one input of a join of many inputs."""
    parents = _tree(root, parts, numbers)
    levels = _levels(root, parents, numbers)
    counts: dict[str, Number] = {}
    for where, order in _orders(root, parts, parents, levels, numbers):
        found = _probed(root, order, parents, levels)
        if not counts or where is None:
            counts = found
        else:
            counts = {name: np.where(where, count, counts[name]) for name, count in found.items()}
    return counts


def _probed(
    root: Part, order: Sequence[Part], parents: Mapping[Part, Part], levels: Mapping[Part, _Level]
) -> dict[str, Number]:
    """Return the operations of one row of the root if windows are probed in an order."""
    counts: dict[str, Number] = dict.fromkeys(("probes", "far_probes", "steps", "far_steps", "entries"), _NONE)

    def look(times: Number, part: Part) -> None:
        near, far = ("probes", "far_probes") if parents[part] == root else ("steps", "far_steps")
        counts[near] = counts[near] + times
        counts[far] = counts[far] + times * levels[part].farness

    alive: Number = 1.0
    for part in order:  # rows are dropped by the first window in which they have no partner
        look(alive * levels[part].visited, part)
        alive = alive * levels[part].found
    is_star = len(order) > 1 and all(parents[part] == root for part in order)
    chosen, combinations, entries = alive, 0.0 * alive, 0.0 * alive
    for part in order:
        level = levels[part]
        before, chosen = chosen, chosen * level.given_found
        if is_star:  # partners are collected once per window
            entries = entries + alive * level.given_found
        else:
            if part != order[0]:
                look(before, part)
            entries = entries + before * level.partners * _expired(part)
        combinations = combinations + chosen
    return counts | {"entries": entries, "combinations": combinations}


class _Level(NamedTuple):
    """One window that is probed, seen from one root."""

    partners: Number
    """Rows found by one row of the parent."""
    found: Number
    """The share of the root's rows that find a partner here, among those that the parent has not dropped."""
    visited: Number
    """Lookups until the first partner is found, or until there is none."""
    given_found: Number
    """Rows found by one row of the parent, if the root's row is not dropped."""
    tried: Number
    """The rows of this window on the path from the root, if there are any."""
    farness: Number


def _levels(root: Part, parents: Mapping[Part, Part], numbers: JoinNumbers) -> dict[Part, _Level]:
    f = numbers.functions
    levels: dict[Part, _Level] = {}
    for part, parent in parents.items():  # a parent comes before its children
        partners = numbers.partners(parent, part)
        share = f.maximum(-f.expm1(-partners), LEAST)  # if partners are distributed at random
        each = f.maximum(partners / share, 1.0)
        far = farness(part, numbers)
        if parent == root:
            levels[part] = _Level(partners, share, 1.0, each, each, far)
            continue
        tried = levels[parent].tried
        found = f.maximum(-f.expm1(tried * f.log1p(-f.minimum(share, MOST))), LEAST)
        visited = f.minimum(found / share, tried)
        levels[part] = _Level(partners, found, visited, partners / found, tried * each, far)
    return levels


def _tree(root: Part, parts: Sequence[Part], numbers: JoinNumbers) -> dict[Part, Part]:
    """Return the parent of each input: the nearest one that shares a class with it, as in `JoinGraph.tree`."""
    classes = {part: numbers.classes(part) for part in parts}
    parents: dict[Part, Part] = {}
    layer, left = [root], [part for part in parts if part != root]
    while layer and left:
        reached: dict[Part, Part] = {}
        for part in left:
            near = [above for above in layer if classes[above] & classes[part]]
            if near:
                reached[part] = max(near, key=lambda above: (classes[above] & classes[part]).bit_count())
        parents.update(reached)
        left = [part for part in left if part not in reached]
        layer = list(reached)
    return parents


def _orders(
    root: Part, parts: Sequence[Part], parents: Mapping[Part, Part], levels: Mapping[Part, _Level], numbers: JoinNumbers
) -> Iterator[tuple[NDArray[np.bool_] | None, list[Part]]]:
    """Yield the orders of probes, and the places of arrays at which they are used; None: everywhere."""
    drops = {part: (1.0 - level.found) / level.visited for part, level in levels.items()}
    if not numbers.apart:
        mean = numbers.functions.mean
        yield None, _order(root, parts, parents, {part: round(float(mean(each)), 2) for part, each in drops.items()})
        return
    # arrays even if no number differs from place to place, as for windows of rows
    rounded = np.round(np.stack(np.broadcast_arrays(np.zeros(1), *drops.values())[1:]), 2)
    patterns, which = np.unique(rounded.argsort(axis=0, kind="stable"), axis=1, return_inverse=True)
    # equal ones stay in the order of the inputs, so places with the same pattern may differ in which are equal
    ties = np.diff(np.take_along_axis(rounded, patterns[:, which.ravel()], axis=0), axis=0) == 0
    keys, of_key = np.unique(np.vstack([which.ravel(), ties]), axis=1, return_inverse=True)
    for key in range(keys.shape[1]):
        where = of_key.ravel() == key
        first = int(where.argmax())
        own = {part: float(rounded[n, first]) for n, part in enumerate(drops)}
        yield where, _order(root, parts, parents, own)


def _order(root: Part, parts: Sequence[Part], parents: Mapping[Part, Part], drops: Mapping[Part, float]) -> list[Part]:
    """Return the order of probes: among those whose parent was probed, the one that drops most per lookup first. Equal
    ones stay in the order of the inputs."""
    order: list[Part] = []
    left = sorted((part for part in parts if part != root), key=drops.__getitem__, reverse=True)
    while left:
        best = next(part for part in left if parents[part] == root or parents[part] in order)
        order.append(best)
        left.remove(best)
    return order


def stored_rows(part: Part, numbers: JoinNumbers) -> Number:
    """Return the rows that the store of a sub-join holds, including rows that cannot have partners any more."""
    return numbers.rows(part) * _expired(part)


def _expired(part: Part) -> float:
    """Return how many rows a store holds per row that can have partners."""
    return 1.0 if len(part) == 1 else math.sqrt(EXPIRED)


def farness(part: Part, numbers: JoinNumbers) -> Number:
    """Return how many times larger than the caches the index of a sub-join is, as a logarithm."""
    f = numbers.functions
    far: Number = f.log2(f.maximum(stored_rows(part, numbers), NEAR_ROWS) / NEAR_ROWS)
    return far
