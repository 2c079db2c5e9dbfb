"""One join of more than two inputs in a plan that keeps sub-joins: it probes under a policy, as a multiway join does.

An input is a stream, a table, or the kept results of a sub-join. To the probes it is a stream of its own: the classes
of equal columns connect inputs instead of streams, and a kept result has the key words of all of its streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.events.parts import ChainCounts
from thalweg.kernels.binary_join import NO_LIMIT
from thalweg.kernels.columns import take_rows
from thalweg.kernels.multiway_join import ResultCounts, ResultLimits, put_together
from thalweg.kernels.probe_chain import ProbeRows
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.joins.graph import JoinGraph, KeyClasses
from thalweg.plan.joins.shape import Shape, streams_of, to_text
from thalweg.runtime.filters.filter_loop import LoopOptions, make_filter_loop
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.tree_node import JoinNode, PartialRows, Words, combined_schema, key_of, word_column

END = 3
"""The word of a row in a ring that says until when it may have partners (`kernels/probing.py`)."""


class MultiwayNode(JoinNode):
    """A join of several inputs, which it probes in an order that its policy chooses."""

    def __init__(
        self, shape: tuple[Shape, ...], schemas: Sequence[pa.Schema], binding: JoinBinding, options: JoinOptions,
        clock: Callable[[], int], rng: np.random.Generator,
    ) -> None:  # fmt: skip
        super().__init__(shape, tuple(map(to_text, shape)))
        self._salt = binding.salt
        self._graph, self._class_of = graph_of_inputs(shape, binding.plan.graph)
        self._stores = {
            side: WindowStore(schema, self._graph.keys_of(side), salt=binding.salt)
            for side, schema in zip(self.sides, schemas, strict=True)
        }
        self._trees = {side: self._graph.tree(side) for side in self.sides}
        self._chains = {side: options.chain(self._trees[side], self._stores, clock) for side in self.sides}
        self._classified = {
            side: binding.schemas[part] for side, part in zip(self.sides, shape, strict=True)
            if isinstance(part, str) and part in binding.plan.streams
        }  # fmt: skip
        """The columns of the inputs whose rows may be classified: streams, not kept results."""
        for side in self._classified:
            self._chains[side].classifiers = binding.classifiers[side]
        probing = LoopOptions(options.policy, options.profile, options.slice_rows)
        self._loops = {
            side: make_filter_loop(self._chains[side], probing, np.random.default_rng(rng.integers(2**63)))
            for side in self.sides
        }
        self._columns, self.schema = combined_schema(dict(zip(self.sides, schemas, strict=True)))
        several = {c for store in self._stores.values() for key in store.keys if len(key) > 1 for c in key}
        self._combined = [
            [(name, self._stores[name].schema.get_field_index(word)) for name, word in self._graph.classes[c]]
            for c in sorted(several)
        ]
        """The inputs and word columns of the classes that are hashed together with others."""
        self._results = ResultLimits(NO_LIMIT, options.results)
        self._put_together = 0

    @property
    def stores(self) -> Mapping[str, WindowStore]:
        """The rows of each input."""
        return self._stores

    @property
    def looked(self) -> int:
        """The number of entries compared so far."""
        return self._put_together + sum(chain.looked for chain in self._chains.values())

    def process(self, side: str, part: PartialRows, *, keep: bool = True) -> Iterator[PartialRows]:
        """Yield the results of rows that enter at one input, in the order of these rows, then store the rows."""
        rows = self._probe_rows(side, part)
        if all(len(store) for other, store in self._stores.items() if other != side):
            loop = self._loops[side]
            kept = loop.process(rows).nonzero()[0]
            if len(kept):
                order = tuple(loop.chain.pipeline.names[k] for k in loop.order)
                yield from self._joined(side, part, rows, kept, order)
        if keep:
            self._insert(side, part, rows)

    def _joined(
        self, side: str, part: PartialRows, rows: ProbeRows, kept: Words, order: tuple[str, ...]
    ) -> Iterator[PartialRows]:
        counts, last = ResultCounts(), -1
        found = put_together(self._trees[side], self._stores, rows, kept, order, self._results, counts)
        for results in found:
            right, numbers = self._equal(side, part, results.rows)
            new = numbers[side]
            if not len(new):
                continue
            ends = part.ends[new]
            for other in order:
                ring = next(iter(self._stores[other].indexes.values())).ring
                ends = np.minimum(ends, ring[numbers[other] & (len(ring) - 1), END])
            columns = [self._column(side, part, origin, n, numbers[origin]) for origin, n in self._columns]
            self.made += len(new)
            self.found += int(np.count_nonzero(np.diff(new, prepend=last)))
            last = int(new[-1])
            made = pa.RecordBatch.from_arrays(columns, schema=self.schema)
            yield PartialRows(made, results.latest[right], ends, part.origin[new])
        self._put_together += counts.looked

    def _column(self, side: str, part: PartialRows, origin: str, n: int, rows: Words) -> pa.Array:
        return take_rows(part.batch.column(n), rows) if origin == side else self._stores[origin].take(n, rows)

    def _equal(
        self, side: str, part: PartialRows, rows: Mapping[str, Words]
    ) -> tuple[NDArray[np.bool_], Mapping[str, Words]]:
        """Return which results are right, and the rows of these. The words of several classes may have the same hash
        and not be equal."""
        right = np.ones(len(rows[side]), bool)
        for members in self._combined:
            words = [self._column(side, part, name, n, rows[name]).to_numpy() for name, n in members]
            for word in words[1:]:
                right &= words[0] == word
        return right, rows if right.all() else {name: numbers[right] for name, numbers in rows.items()}

    def insert(self, side: str, part: PartialRows) -> None:
        """Store rows without computing their results."""
        self._insert(side, part, self._probe_rows(side, part))

    def _insert(self, side: str, part: PartialRows, rows: ProbeRows) -> None:
        self._stores[side].insert(part.batch, rows.keys, part.times, part.ends)

    def expire(self, before: int) -> dict[str, int]:
        """Forget rows whose end is before this time. Return how many, by input."""
        return {side: store.expire(before) for side, store in self._stores.items()}

    def others(self, side: str) -> tuple[tuple[str, ...], ...]:
        """Return the streams of the other inputs, in the order in which rows of this one probe them now."""
        loop = self._loops[side]
        names = (loop.chain.pipeline.names[k] for k in loop.order)
        return tuple(streams_of(self.shape[self.sides.index(name)]) for name in names)

    def standing(self, side: str) -> str:
        """Return why the order in which rows of one input probe the others is kept; empty if no reason is given."""
        return self._loops[side].policy.standing

    def take_probes(self, side: str) -> tuple[tuple[str, ...], ChainCounts]:
        """Return the other inputs, and the probes of the rows of one input since the last call."""
        loop = self._loops[side]
        return loop.chain.pipeline.names, loop.take_work().chain

    def _probe_rows(self, side: str, part: PartialRows) -> ProbeRows:
        keys = {key: self._words(key, part.batch) for key in self._stores[side].keys}
        starts = np.full((len(self.sides) - 1, part.num_rows), -1, np.int64)
        return ProbeRows(keys, part.times, part.ends, starts, self._classifying(side, part))

    def _classifying(self, side: str, part: PartialRows) -> Mapping[str, pa.Array]:
        """Return the columns by which rows may be classified, if the policy asks for them. A window does not hold all
        of them, so rows that are restored have null there."""
        loop = self._loops[side]
        if not loop.classifies or part.classified:
            return part.classified
        schema = self._classified[side]
        return {name: pa.nulls(part.num_rows, schema.field(name).type) for name in loop.chain.classifiers}

    def _words(self, key: KeyClasses, batch: pa.RecordBatch) -> Words:
        words = [batch.column(batch.schema.get_field_index(word_column(self._class_of[c]))).to_numpy() for c in key]
        return key_of(words, self._salt)


def graph_of_inputs(shape: tuple[Shape, ...], graph: JoinGraph) -> tuple[JoinGraph, tuple[int, ...]]:
    """Return the graph that connects the inputs of a join, and for each of its classes the class of the streams.

    >>> graph = JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m"), ("c", "n", "d", "n")])
    >>> inputs, classes = graph_of_inputs((("b", "c"), "a", "d"), graph)
    >>> inputs.aliases, [[name for name, _ in members] for members in inputs.classes], classes
    (('(b c)', 'a', 'd'), [['(b c)', 'a'], ['(b c)', 'd']], (0, 2))
    """
    classes, numbers = [], []
    for c, members in enumerate(graph.column_of):
        inputs = [part for part in shape if any(alias in members for alias in streams_of(part))]
        if len(inputs) > 1:
            classes.append(tuple((to_text(part), word_column(c)) for part in inputs))
            numbers.append(c)
    return JoinGraph(tuple(map(to_text, shape)), tuple(classes)), tuple(numbers)
