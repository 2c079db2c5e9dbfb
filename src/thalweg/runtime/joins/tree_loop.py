"""A join of many streams that keeps sub-joins as inner results. An optimizer may choose it.

A join of two inputs is a binary join, as in most engines; a join of more inputs probes them under a policy.

The results for the same rows are the same as those of `join_loop`, but every node stores the rows that its inputs have
put together so far.

Only the windows of the streams are durable, in the chunks of a `JoinLoop`. Inner results are rebuilt from them: rows
that are restored go up the tree like new rows, and results at the root are discarded, because they were returned when
the rows were new. Rows that have expired since are left out, so that a tree holds the same rows after a restore as
without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.events.parts import InForceCounts, JoinedCounts
from thalweg.kernels.compiling import WorkingClock, compiled_by
from thalweg.kernels.window_chunks import WindowChunks, WindowRows
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.joins.graph import KeyClasses
from thalweg.plan.joins.shape import Shape, check_shape, streams_of, to_text
from thalweg.runtime.filters.loop_ledger import Work
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_intake import Admitted, JoinIntake
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_output import JoinOutput
from thalweg.runtime.joins.join_protocol import Probed
from thalweg.runtime.joins.multiway_node import MultiwayNode
from thalweg.runtime.joins.tree_node import BinaryNode, JoinNode, PartialRows, Words, key_of, word_column
from thalweg.runtime.joins.tree_window import TreeWindow

Tables = Mapping[str, pa.RecordBatch | pa.Table | WindowStore]


@dataclass(slots=True)
class _Inner:
    """The store and the counters of an inner result."""

    store: WindowStore
    counts: JoinedCounts = field(default_factory=JoinedCounts)


@dataclass(slots=True)
class _Matches:
    """Counts the results of the rows of one batch. Results arrive in the order of the rows."""

    most: int = 0
    row: int = -1
    """The row with the most results."""
    rows: int = 0
    """The number of rows with results."""
    last: int = -1
    of_last: int = 0

    def add(self, origin: Words) -> None:
        """Add results, given by the row of each."""
        first = int(origin[0])
        counts = np.bincount(origin - first)
        if first == self.last:
            counts[0] += self.of_last
            self.rows -= 1
        self.rows += int(np.count_nonzero(counts))
        place = int(counts.argmax())
        if counts[place] > self.most:
            self.most, self.row = int(counts[place]), first + place
        self.last, self.of_last = int(origin[-1]), int(counts[-1])


class TreeLoop:
    """A tree of binary joins with the state that outlives batches: the windows of the nodes, and the watermarks."""

    def __init__(
        self,
        binding: JoinBinding,
        shape: Shape,
        methods: Mapping[Shape, str] | str = "hash",
        options: JoinOptions = JoinOptions("static"),  # noqa: B008 - frozen
        clock: Callable[[], int] | None = None,
        tables: Tables | None = None,
        rng: np.random.Generator | None = None,
        intake: JoinIntake | None = None,
    ) -> None:
        """Create a loop. `methods`: `hash` or `loops`, for all joins of two inputs or by their shapes. `options`: the
        policy and the chain are those of joins of more inputs; elsewhere the shape determines the order. `tables`: the
        rows of the plan's tables. `intake`: that of the loop which this one replaces."""
        check_shape(shape, binding.plan.graph)
        self.binding = binding
        self.streams = binding.plan.streams
        self.shape = shape
        self.options = options
        self.limits = options.limits
        self.clock = clock or WorkingClock()
        self._rng = rng or np.random.default_rng(0)
        self.intake = intake or JoinIntake(binding)
        self.watermarks = self.intake.watermarks
        self.counts = self.intake.counts
        self.nodes: list[JoinNode] = []
        self.leaves: dict[str, tuple[JoinNode, str]] = {}
        """The node and side at which the rows of each stream enter."""
        self._build(shape, methods)
        self.output = JoinOutput(binding)
        self._keep = len(self.streams) > 1  # rows of a single stream are never probed for
        self.windows = {alias: self._window(alias) for alias in binding.plan.graph.aliases}
        self._inner = {node.name: _Inner(node.parent[0].stores[node.parent[1]]) for node in self.nodes if node.parent}
        self._limited = {alias: self.windows[alias].store for alias in self.streams}
        self._limited |= {name: inner.store for name, inner in self._inner.items()}
        self._others = {a: tuple(b for b in binding.plan.graph.aliases if b != a) for a in self.streams}
        self._work = {alias: Work.none(len(self._others[alias])) for alias in self.streams}
        self._learned: Mapping[str, Any] = {}
        self.outgrown = False
        """Whether inner results were left out because they need too much memory. Windows are complete, and so are the
        results of the batch: its inner results have a row of the same stream and do not join with each other. But the
        plan must be changed before the next batch."""
        self._hold(tables or {})

    def process(self, alias: str, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return the results that these rows complete. Consume all of them before passing the next rows."""
        assert not self.outgrown, "the plan was not changed when its inner results had outgrown the limit"
        counts, matches, begun = self.counts[alias], _Matches(), self._now()
        admitted = self.intake.admit(alias, batch)
        if admitted is None:
            self._worked(alias, begun)
            return
        rows = self._rows(alias, admitted)
        part, looked = self._entering(alias, admitted, rows), self._looked()
        for made in self._push_up(alias, *self.leaves[alias], part):
            matches.add(made.origin)
            if matches.most > self.limits.max_matches:
                raise self.limits.too_many_matches(alias, self._named_keys(alias, admitted.batch, matches.row))
            out = self.leave(made)
            counts.matches.results += out.num_rows
            self._worked(alias, begun)
            if out.num_rows:
                yield out
            begun = self._now()
        counts.matches.looked += self._looked() - looked
        probes = self._work[alias].chain
        probes.rows += part.num_rows
        probes.kept += matches.rows
        if matches.most > counts.matches.most_matches:
            counts.matches.most_matches = matches.most
            counts.matches.hottest = self._named_keys(alias, admitted.batch, matches.row)
        if self._keep:
            window = self.windows[alias]
            window.add(rows)
            counts.window.measure(len(window), window.nbytes)
            self._measure_inner()
        self._worked(alias, begun)

    def enter(self, alias: str, batch: pa.RecordBatch) -> PartialRows | None:
        """Return the rows in the form that the stream's leaf takes; None if none of them can have partners."""
        admitted = self.intake.admit(alias, batch)
        return None if admitted is None else self._entering(alias, admitted, self._rows(alias, admitted))

    def leave(self, part: PartialRows) -> pa.RecordBatch:
        """Return the rows that the root has put together as results, without those that fail a check by value."""
        return self.output.of(lambda alias, name: part.batch.column(f"{alias}\0{name}"), part.times)

    def find_late(self, alias: str, batch: pa.RecordBatch) -> None:
        """Set aside rows that are late or have no time, and do nothing else."""
        self.intake.in_time(alias, batch)

    def begins(self, alias: str, batch: pa.RecordBatch) -> int:
        """Return the smallest time of a batch; `BEGINNING` if it has none."""
        return self.binding.begins(alias, batch)

    def end_round(self) -> None:
        """End a round: advance the watermarks and expire rows."""
        mark = self.watermarks.advance()
        if mark is not None:
            self.expire(mark)

    def expire(self, before: int) -> None:
        """Remove and count the rows that can have no partner if no further row is older than `before`."""
        forgotten = self._forget(before)
        for alias in self.streams:
            self.counts[alias].window.expired += forgotten[alias]
        for name, inner in self._inner.items():
            inner.counts.window.expired += forgotten[name]

    def forget(self, before: int) -> Mapping[str, int]:
        """Remove the same rows as `expire` without counting them. Return their number by stream."""
        forgotten = self._forget(before)
        return {alias: forgotten[alias] for alias in self.streams}

    def _forget(self, before: int) -> Mapping[str, int]:
        for alias in self.streams:
            self.windows[alias].expire(before)
        return {
            node.inputs[side]: rows for node in self.nodes for side, rows in node.expire(before).items()
        }  # fmt: skip

    def contents(self, alias: str) -> WindowRows:
        """Return the rows of a window with the keys by which a multiway join indexes them."""
        held, names = self.windows[alias].store.contents(), self.binding.stored[alias].names
        batch = held.batch.select(range(len(names))).rename_columns(names)
        keys = {key: self._key(alias, key, held.batch) for key in self.binding.key_sets[alias]}
        return WindowRows(batch, keys, held.times, held.ends)

    def words(self, alias: str, key: KeyClasses, rows: Words) -> tuple[Words, Words, Words]:
        """Return the keys, times and ends of some rows of a window, by their places in it."""
        from thalweg.kernels.probing import END, TIME

        store = self.windows[alias].store
        index = next(iter(store.indexes.values()))
        numbers = rows + store.low
        ring = index.ring[numbers & index.mask]
        of_class = {c: store.schema.get_field_index(word_column(c)) for c in key}
        words = key_of([store.take(n, numbers).to_numpy() for n in of_class.values()], self.binding.salt)
        return words, ring[:, TIME], ring[:, END]

    def _key(self, alias: str, key: KeyClasses, batch: pa.RecordBatch) -> Words:
        names = batch.schema.names
        return key_of([batch.column(names.index(word_column(c))).to_numpy() for c in key], self.binding.salt)

    def sizes(self) -> Mapping[str, tuple[int, int]]:
        """Return the rows and bytes of each window."""
        return {alias: (len(window), window.nbytes) for alias, window in self.windows.items()}

    @property
    def stored_rows(self) -> int:
        """The number of rows in all windows, of streams and of intermediate results."""
        return sum(len(store) for node in self.nodes for store in node.stores.values())

    @property
    def nbytes(self) -> int:
        """The memory of all windows, in bytes."""
        return sum(store.nbytes for node in self.nodes for store in node.stores.values())

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """Return, by stream, the order in which its rows are joined with the others on their way up."""
        return {
            alias: tuple(name for level in self._siblings_of(alias) for names in level for name in names)
            for alias in self.streams
        }

    def take_probed(self, alias: str) -> Probed:
        """Return the work done for the rows of a stream since the last call. Probes of an inner result are counted for
        the first of its streams."""
        others = self._others[alias]
        work = self._work[alias].taken()
        chain = work.chain
        work.in_force = InForceCounts(
            rows=chain.rows, evaluated=chain.evaluated, passed=chain.passed, standing=self._standing(alias)
        )
        order = tuple(others.index(name) for name in self.orders()[alias])
        return Probed(others, order, work, 0)

    def _standing(self, alias: str) -> str:
        """Return why the order of a stream is kept: the policy of the first join on its way up that has a choice, or
        the plan."""
        place: tuple[JoinNode, str] | None = self.leaves[alias]
        while place is not None:
            node, side = place
            if isinstance(node, MultiwayNode):
                return node.standing(side)
            place = node.parent
        return f"the plan {to_text(self.shape)} determines it"

    def take_inner(self) -> Mapping[str, JoinedCounts]:
        """Return the counters of the inner results since the last call, by name."""
        found = {name: inner.counts.taken() for name, inner in self._inner.items()}
        for name, counts in found.items():
            store = self._inner[name].store
            counts.window.rows, counts.window.bytes = len(store), store.nbytes
        return found

    def learned(self) -> Mapping[str, Any]:
        """Return what a multiway join learned before. A tree learns nothing, and passes it on."""
        return self._learned

    def learn(self, learned: Mapping[str, Any]) -> None:
        """Keep what was learned, for a later multiway join."""
        self._learned = dict(learned)

    def _push_up(self, alias: str, node: JoinNode, side: str, part: PartialRows) -> Iterator[PartialRows]:
        keep = self._keep
        if keep and self.limits.inner:
            self._check_memory(node.inputs[side], part)
        elif node.inputs[side] in self._inner and self._is_too_much(part):
            keep, self.outgrown = False, True
        found = node.found
        for made in node.process(side, part, keep=keep):
            if node.parent is None:
                yield made
            else:
                self._inner[node.name].counts.stream.rows += made.num_rows
                yield from self._push_up(alias, *node.parent, made)
        probes, others = self._work[alias].chain, self._others[alias]
        if isinstance(node, MultiwayNode):
            names, probed = node.take_probes(side)
            for n, name in enumerate(names):
                k = others.index(streams_of(node.shape[node.sides.index(name)])[0])
                probes.evaluated[k] += probed.evaluated[n]
                probes.passed[k] += probed.passed[n]
        else:
            k = others.index(node.others(side)[0][0])
            probes.evaluated[k] += part.num_rows
            probes.passed[k] += node.found - found

    def _store_again(self, node: JoinNode, side: str, part: PartialRows, *, limited: bool) -> None:
        """Send rows up the tree again to store them and their inner results, without returning results."""
        if limited:
            self._check_memory(node.inputs[side], part)
        elif node.inputs[side] in self._inner and self._is_too_much(part):
            self.outgrown = True
            return
        if node.parent is None:
            node.insert(side, part)
            return
        for made in node.process(side, part):
            self._store_again(*node.parent, made, limited=limited)

    def _restored(self, alias: str, rows: WindowRows, *, limited: bool) -> None:
        mark = self.watermarks.query
        part = self._part(alias, rows)
        if mark is not None and int(rows.ends.min()) < mark:
            live = rows.ends >= mark
            part = PartialRows(part.batch.filter(pa.array(live)), part.times[live], part.ends[live], part.origin[live])
        if part.num_rows:
            self._store_again(*self.leaves[alias], part, limited=limited)
            self._measure_inner()

    def _rows(self, alias: str, admitted: Admitted) -> WindowRows:
        return WindowRows(self.binding.held(alias, admitted.batch), admitted.keys, admitted.times, admitted.ends)

    def _entering(self, alias: str, admitted: Admitted, rows: WindowRows) -> PartialRows:
        """Return new rows as they enter the tree, with the columns by which they may be classified."""
        return replace(self._part(alias, rows), classified=self.binding.classified(alias, admitted.batch))

    def _part(self, alias: str, rows: WindowRows) -> PartialRows:
        columns = [*rows.batch.columns, *self._words(alias, rows)]
        whole = pa.RecordBatch.from_arrays(columns, schema=self._leaf_schema(alias))
        return PartialRows(whole, rows.times, rows.ends, np.arange(len(rows.times)))

    def _words(self, alias: str, rows: WindowRows) -> list[pa.Array]:
        """Return the words of each class: those that the windows of a multiway join also have, or else those of a
        column that both hold."""
        graph, words = self.binding.plan.graph, []
        for c in graph.classes_of(alias):
            known = rows.keys.get((c,))
            if known is None:
                known = self.binding.kinds[c].words(rows.batch.column(graph.column_of[c][alias]), self.binding.salt)[0]
            words.append(pa.array(known))
        return words

    def _hold(self, tables: Tables) -> None:
        """Store the rows of tables and join them with each other, before any row of a stream arrives."""
        assert sorted(tables) == sorted(self.binding.plan.tables), "the rows of every table of the plan, and no others"
        for alias, rows in tables.items():
            assert not isinstance(rows, WindowStore), "a tree stores other columns of its tables"
            for batch in rows.to_batches() if isinstance(rows, pa.Table) else [rows]:
                admitted = self.intake.admit_table(alias, batch)
                if admitted is not None:
                    part = self._part(alias, self._rows(alias, admitted))
                    self._store_again(*self.leaves[alias], part, limited=self.limits.inner)
        self._measure_inner()

    def _check_memory(self, name: str, part: PartialRows) -> None:
        """Raise `JoinLimitError` if these rows would exceed the limit when they are stored under this name. Tables are
        not counted, as in a multiway join."""
        if name in self._limited and self._is_too_much(part):
            raise self.limits.too_much_memory(self._limited.items(), inner=len(self._limited) > len(self.streams))

    def _is_too_much(self, part: PartialRows) -> bool:
        """Whether the windows and inner results would exceed the limit with these rows."""
        most = self.limits.max_bytes
        if most is None:
            return False
        return self.outgrown or sum(store.nbytes for store in self._limited.values()) + part.batch.nbytes > most

    def _measure_inner(self) -> None:
        for inner in self._inner.values():
            inner.counts.window.measure(len(inner.store), inner.store.nbytes)

    def _named_keys(self, alias: str, batch: pa.RecordBatch, row: int) -> str:
        return "" if self.options.redact else self.binding.named_keys(alias, batch, row)

    def _looked(self) -> int:
        return sum(node.looked for node in self.nodes)

    def _now(self) -> tuple[int, int]:
        return self.clock(), compiled_by(self.clock)

    def _worked(self, alias: str, begun: tuple[int, int]) -> None:
        times = self.counts[alias].times
        times.total_ns += self.clock() - begun[0]
        times.compiling_ns += compiled_by(self.clock) - begun[1]

    def _siblings_of(self, alias: str) -> list[tuple[tuple[str, ...], ...]]:
        """Return the streams and tables of the other inputs of each join, from the leaf up."""
        siblings = []
        place: tuple[JoinNode, str] | None = self.leaves[alias]
        while place is not None:
            node, side = place
            siblings.append(node.others(side))
            place = node.parent
        return siblings

    def _window(self, alias: str) -> TreeWindow:
        node, side = self.leaves[alias]
        binding, chunks = self.binding, None
        if self.options.snapshots:
            chunks = WindowChunks(
                binding.stored[alias], binding.key_sets[alias], binding.windows.get(alias), binding.words_of(alias),
                binding.hashed_keys(alias),
            )  # fmt: skip
        take_over, restore = (partial(self._restored, alias, limited=each) for each in (True, self.limits.inner))
        return TreeWindow(node.stores[side], chunks, take_over, restore)

    def _build(self, shape: Shape, methods: Mapping[Shape, str] | str) -> tuple[pa.Schema, JoinNode | None]:
        if isinstance(shape, str):
            return self._leaf_schema(shape), None
        made = [self._build(part, methods) for part in shape]
        schemas = [schema for schema, _ in made]
        node: JoinNode
        if len(shape) > 2:
            node = MultiwayNode(shape, schemas, self.binding, self.options, self.clock, self._rng)
        else:
            method = methods if isinstance(methods, str) else methods.get(shape, "hash")
            probed = None if self.options.probed is None else partial(self.options.probed, self.clock)
            node = BinaryNode(shape, schemas, self.binding, method, probed)
        for part, side, (_, below) in zip(shape, node.sides, made, strict=True):
            if below is not None:
                below.parent = node, side
            else:
                assert isinstance(part, str)
                self.leaves[part] = node, side
        self.nodes.append(node)
        return node.schema, node

    def _leaf_schema(self, alias: str) -> pa.Schema:
        columns = [(f"{alias}\0{field.name}", field.type) for field in self.binding.stored[alias]]
        words = [(word_column(c), pa.int64()) for c in self.binding.plan.graph.classes_of(alias)]
        return pa.schema([*columns, *words])
