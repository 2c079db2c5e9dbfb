"""Aggregates of rows by time window and key. Each window is emitted once, after it has closed.

Rows are aggregated by pane and key as they arrive (see `pane_groups`). So the state depends on the number of open
groups, not on the number of rows; only `count(DISTINCT x)` stores each distinct value. As in SQL, null is a separate
group, and so is NaN; zeros of either sign are one group. A row whose time is before the closed time is late: it is
counted but added to no window, although some windows that cover its time may still be open. A row without a time is
counted too and is in no window.

>>> from thalweg.plan.joins.window import GroupWindow
>>> spec = GroupSpec("t", GroupWindow(10, 5), ("k",), (AggregateColumn("sum", "x", pa.int64()),))
>>> rows = pa.record_batch({"t": [1, 7, 8, 21], "k": ["a", "a", "b", "a"], "x": [1, 2, 3, 4]})
>>> groups = WindowGroups(spec, rows.schema)
>>> groups.add(rows)
>>> [tuple(row.values()) for row in groups.close(10).to_pylist()]
[(-5, 5, 'a', 1), (0, 10, 'a', 3), (0, 10, 'b', 3)]
>>> groups.add(rows.slice(1, 1)); groups.late
1
>>> [tuple(row.values()) for row in groups.close_all().to_pylist()]
[(5, 15, 'a', 2), (5, 15, 'b', 3), (15, 25, 'a', 4), (20, 30, 'a', 4)]
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from thalweg.errors import PlanError
from thalweg.kernels.aggregate_parts import PartialAggregate, parts_of, same_values
from thalweg.kernels.columns import plain
from thalweg.kernels.pane_groups import LEAST, MOST, PANE, PaneRuns, Panes, Words, group_words, merged, ranges, words
from thalweg.kernels.salt import Salt
from thalweg.plan.expressions.type_rules import plain_type, sql_name
from thalweg.plan.query.group_spec import AggregateColumn, GroupSpec, key_name

WINDOW, VALUE = "window", "value"
SPREAD, VALUE_SPREAD = "spread", "spread of value"
"""Salted hashes of the keys and of a distinct value, so that no keys can be chosen that are slow to group."""
EXPANDED_ROWS = 1 << 18
"""The number of rows of overlapping windows that are combined at once. One window may have more."""
_COUNT = AggregateColumn("count", None, pa.int64())


class WindowGroups:
    """The state of one query. All times are in ticks of the time column."""

    def __init__(self, spec: GroupSpec, schema: pa.Schema) -> None:
        self.spec = spec
        self.output = spec.output(schema)
        self.panes = Panes(*spec.ticks(schema.field(spec.time).type))
        self.rows = self.late = self.most_late = self.no_time = 0
        self.closed: int | None = None
        """Windows that end at this time or earlier have been emitted; rows before it are late."""
        self.latest: int | None = None
        """The largest time of any row, including late rows."""
        self._schema = pa.schema([(name, plain_type(schema.field(name).type)) for name in spec.columns])
        self._keys = [key_name(n) for n in range(len(spec.keys))]
        self._by = [*self._keys, SPREAD] if self._keys else []
        self._salt = Salt.drawn()
        # rows are always counted: a query without aggregates has groups too
        self._parts: dict[str, PartialAggregate] = {part.name: part for part in parts_of(_COUNT, pa.int64())[0]}
        self._results = []
        distinct: dict[str, PaneRuns] = {}
        for aggregate in spec.aggregates:
            if aggregate.distinct and aggregate.column is not None:
                distinct[aggregate.column] = PaneRuns((PANE, *self._by, VALUE, VALUE_SPREAD), ())
                self._results.append(([_distinct(aggregate.column)], _counted))
                continue
            kind = self._schema.field(aggregate.column or spec.time).type
            parts, finish = parts_of(aggregate, kind)
            self._parts |= {part.name: part for part in parts}
            self._results.append(([part.name for part in parts], finish))
        self._merges = [(part.name, part.merge) for part in self._parts.values()]
        self._runs = PaneRuns((PANE, *self._by), self._merges)
        self._distinct = distinct
        self._refuse_ungroupable_columns()

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows in any order. The batch may have other columns too."""
        batch = plain(batch.select(self._schema.names), self._schema)
        self.rows += batch.num_rows
        times = batch.column(self.spec.time)
        if times.null_count:
            self.no_time += times.null_count
            batch = batch.filter(times.is_valid())
            times = batch.column(self.spec.time)
        ticks = _ticks(times)
        if len(ticks):
            self.latest = max(int(ticks.max()), LEAST if self.latest is None else self.latest)
        if self.closed is not None and len(ticks) and (least := int(ticks.min())) < self.closed:
            in_time = ticks >= self.closed
            self.late += len(ticks) - int(in_time.sum())
            self.most_late = max(self.most_late, self.closed - least)
            batch, ticks = batch.filter(pa.array(in_time)), ticks[in_time]
        if not len(ticks):
            return
        if not self.panes.can_hold(int(ticks.min()), int(ticks.max())):
            far = max(int(ticks.min()), int(ticks.max()), key=abs)
            rest = f"a time that no {self.spec.window} can hold; filter it out"
            raise PlanError(f"{self.spec.time} has a row at {far} ticks, {rest}").or_redacted(
                f"{self.spec.time} has a row at {rest}"
            )
        self._add(batch, self.panes.of(ticks))

    def close(self, until: int) -> pa.Table:
        """Return the groups of windows that end at `until` or earlier and were not emitted yet, sorted by window."""
        return pa.concat_tables([self.output.empty_table(), *self.closing(until)])

    def closing(self, until: int) -> Iterator[pa.Table]:
        """Return the groups of `close` in several tables, which are computed on demand. They are closed at once."""
        before, self.closed = self.closed, max(until, until if self.closed is None else self.closed)
        earliest = self._runs.earliest
        last = self.panes.last_closed(self.closed)
        after = None if before is None else self.panes.last_closed(before)
        if earliest is None or earliest >= last + self.panes.length or after == last:
            return iter(())
        bound = last + self.panes.length
        runs = {None: self._runs} | self._distinct
        tables = {column: table for column, each in runs.items() if (table := each.before(bound)) is not None}
        for each in runs.values():
            each.expire(last + self.panes.slide)  # the start of the first window that is still open
        return self._in_closed_windows(tables, after, bound)

    def close_all(self) -> pa.Table:
        """Close all windows and return their groups. No more rows may be added."""
        return self.close(MOST)

    def __len__(self) -> int:
        """Return the number of rows in the state: groups by pane, and distinct values."""
        return len(self._runs) + sum(map(len, self._distinct.values()))

    @property
    def nbytes(self) -> int:
        """The memory that the state takes, in bytes."""
        return self._runs.nbytes + sum(runs.nbytes for runs in self._distinct.values())

    def _add(self, batch: pa.RecordBatch, panes: Words) -> None:
        keys = {PANE: pa.array(panes)} | {
            name: same_values(batch.column(key)) for name, key in zip(self._keys, self.spec.keys, strict=True)
        }
        if self._keys:
            keys[SPREAD] = pa.array(group_words([keys[name] for name in self._keys], self._salt))
        parts = {part.name: part.of(batch.column(part.column or self.spec.time)) for part in self._parts.values()}
        self._runs.add(pa.table(keys | parts))
        for column, runs in self._distinct.items():
            values = same_values(batch.column(column))
            spread = pa.array(group_words([values], self._salt))
            runs.add(pa.table(keys | {VALUE: values, VALUE_SPREAD: spread}).filter(values.is_valid()))

    def _in_closed_windows(
        self, tables: dict[str | None, pa.Table], after: int | None, bound: int
    ) -> Iterator[pa.Table]:  # fmt: skip
        """Yield the groups of windows that begin after `after` and have ended at `bound`."""
        panes = {name: words(table.column(PANE)) for name, table in tables.items()}
        for starts in self.panes.windows(np.unique(panes[None]), after, bound):
            # a window is a slice of each table, since they are sorted by pane
            slices = {
                name: (np.searchsorted(each, starts), np.searchsorted(each, starts + self.panes.length))
                for name, each in panes.items()
            }
            sizes = sum(ends - begins for begins, ends in slices.values())
            steps = np.cumsum(sizes) // EXPANDED_ROWS
            for some in np.split(np.arange(len(starts)), np.flatnonzero(np.diff(steps)) + 1):
                parts = []
                for name, table in tables.items():
                    begins, ends = (bounds[some] for bounds in slices[name])
                    rows = self._in_windows(table, starts[some], begins, ends - begins)
                    parts.append(rows if name is None else self._distinct_ones(rows, name))
                yield self._finished(parts)

    def _in_windows(self, table: pa.Table, starts: Words, begins: Words, counts: Words) -> pa.Table:
        """Return the rows of each window, with its start as a column, one window after another."""
        windows = pa.array(np.repeat(starts, counts))
        if self.panes.tumbling:
            table = table.slice(int(begins[0]), len(windows))
        else:
            table = table.take(pa.array(ranges(begins, counts)))
        return table.drop_columns(PANE).add_column(0, WINDOW, windows)

    def _distinct_ones(self, rows: pa.Table, column: str) -> pa.Table:
        """Return one row per distinct value, with a count of 1."""
        if not self.panes.tumbling:
            rows = merged(rows, [WINDOW, *self._by, VALUE, VALUE_SPREAD], [])
        return rows.drop_columns([VALUE, VALUE_SPREAD]).append_column(
            _distinct(column), pa.array(np.ones(rows.num_rows, np.int64))
        )

    def _finished(self, parts: list[pa.Table]) -> pa.Table:
        """Return the results, sorted by window. The first part contains every group."""
        table = pa.concat_tables(parts, promote_options="default")
        if len(parts) > 1 or not self.panes.tumbling:
            counts = [
                (_distinct(column), "sum") for column in self._distinct if _distinct(column) in table.schema.names
            ]
            table = merged(table, [WINDOW, *self._by], [*self._merges, *counts])
        for column in self._distinct:
            if _distinct(column) not in table.schema.names:
                table = table.append_column(_distinct(column), pa.nulls(table.num_rows, pa.int64()))
        table = table.combine_chunks()
        starts = _array(table, WINDOW)
        ends = pa.array(starts.to_numpy() + self.panes.length)
        results = [finish(*(_array(table, name) for name in names)) for names, finish in self._results]
        bounds = [_as_time(bound, self.output.types[0], self.spec) for bound in (starts, ends)]
        columns = [*bounds, *(_array(table, key) for key in self._keys), *results]
        return pa.Table.from_arrays(columns, schema=self.output)

    def _refuse_ungroupable_columns(self) -> None:
        """Raise if Arrow cannot group a column: try it on a row of nulls, before any row is read."""
        nulls = {field.name: pa.nulls(1, field.type) for field in self._schema}
        tried: list[tuple[str, dict[str, pa.Array], str, list[tuple[str, str]]]] = [
            (column, {VALUE: nulls[column]}, VALUE, []) for column in (*self.spec.keys, *self._distinct)
        ] + [
            (
                part.column,
                {PANE: pa.array([0]), part.name: part.of(nulls[part.column])},
                PANE,
                [(part.name, part.merge)],
            )
            for part in self._parts.values()
            if part.column is not None
        ]
        for column, columns, by, merges in tried:
            try:
                pa.table(columns).group_by(by).aggregate(merges)
            except pa.ArrowNotImplementedError:
                kind = self._schema.field(column).type
                raise PlanError(
                    f"{column} is {sql_name(kind)}, which cannot be grouped or compared; cast it to another type"
                ) from None


def _array(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _ticks(times: pa.Array) -> Words:
    ticks: Words = times.cast(pa.int64()).to_numpy()
    return ticks


def _as_time(bounds: pa.Array, kind: pa.DataType, spec: GroupSpec) -> pa.Array:
    try:
        return bounds.cast(kind)
    except pa.ArrowInvalid:
        raise PlanError(
            f"{spec.time} is {sql_name(kind)}, which cannot represent the bounds of its windows; cast it to BIGINT"
        ) from None


def _distinct(column: str) -> str:
    return f"distinct of {column}"


def _counted(counts: pa.Array) -> pa.Array:
    return counts.fill_null(0)
