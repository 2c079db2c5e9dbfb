"""A join plan bound to the columns of its streams: checked types, windows in ticks, keys as words, output columns.

Everything a user can get wrong about columns is reported here, before any row is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import ExpressionError, PlanError, nearest, warn_user
from thalweg.kernels.columns import can_be_gathered, plain, plain_schema, shown
from thalweg.kernels.key_words import KeyKind, hashed_classes, key_kinds, same
from thalweg.kernels.salt import Salt
from thalweg.kernels.window_chunks import Hashed, WordsOf
from thalweg.kernels.window_store import ends_of
from thalweg.optimizer.mesh.column_values import check_classified_type, kind_of
from thalweg.plan.joins.condition import typed
from thalweg.plan.joins.graph import KeyClasses
from thalweg.plan.joins.join_plan import JoinPlan, held_columns, widths_of
from thalweg.plan.joins.select import TIME, Column, result_name, selected
from thalweg.plan.joins.window import TICK_NS, length_of
from thalweg.runtime.watermark import BEGINNING, END

Words = NDArray[np.int64]
Bits = NDArray[np.bool_]
_UNITS = ("s", "ms", "us", "ns")
MOST_KEY_CHARACTERS = 80
"""The most characters of a key that an error shows."""


@dataclass(frozen=True)
class JoinBinding:
    """A join plan bound to the schemas of its streams and tables."""

    plan: JoinPlan
    schemas: Mapping[str, pa.Schema]
    """The columns that rows must have, in the types that windows and results use: see `plain_type`."""
    time_type: pa.DataType
    """The type of `event_time`: the finest of the streams' times."""
    windows: Mapping[str, int]
    """The windows of streams. Tables have none, nor do streams with a column for the ends of their rows."""
    lateness: Mapping[str, int]
    kinds: tuple[KeyKind, ...]
    """The kinds of keys, by class."""
    columns: tuple[Column, ...]
    """The columns of the result, in order."""
    output: pa.Schema
    salt: Salt = dataclass_field(default_factory=Salt.drawn, compare=False)
    """The salt of the hashes of keys. A loop that continues with the windows of another loop hashes their keys again
    with its own salt."""
    read: Mapping[str, frozenset[str]] = dataclass_field(default_factory=dict, compare=False)
    """The columns of `schemas` that conditions, times and results read. Rows may be classified by further ones."""

    @classmethod
    def of(cls, plan: JoinPlan, schemas: Mapping[str, pa.Schema], salt: Salt | None = None) -> JoinBinding:
        """Bind a plan to schemas. Raise `PlanError` if they do not fit. If `salt` is None, a new one is drawn."""
        graph = plan.graph
        needed = {alias: _needed_columns(plan, alias, schemas[alias]) for alias in graph.aliases}
        columns = selected(plan.select, {alias: schemas[alias].names for alias in graph.aliases})
        for alias, column in columns:
            if alias:
                _check_column(schemas[alias], alias, column, "select=")
                needed[alias].add(column)
        read = {alias: frozenset(names) for alias, names in needed.items()}
        for alias, column in plan.classify_by or ():
            _check_column(schemas[alias], alias, column, "classify_by")
            check_classified_type(schemas[alias].field(column).type, f"{alias}.{column}")
            needed[alias].add(column)
        plain_schemas = {
            alias: plain_schema(pa.schema([field for field in schemas[alias] if field.name in names]))
            for alias, names in needed.items()
        }
        for alias, schema in plain_schemas.items():
            for field in schema:
                if not can_be_gathered(field.type):
                    raise PlanError(
                        f"{alias}.{field.name} is {field.type}, whose rows Arrow cannot gather: cast or drop it"
                    )
        kinds = key_kinds(graph, schemas)
        for alias, *within in graph.within:
            KeyKind.of([(f"{alias}.{c}", schemas[alias].field(c).type) for c in within])
        time_type = _time_type({f"{a}.{c}": schemas[a].field(c).type for a, c in plan.times.items()})
        unit = time_type.unit if pa.types.is_timestamp(time_type) else None
        plan = replace(plan, residuals=tuple(typed(residual, plain_schemas) for residual in plan.residuals))
        types = [time_type if column == TIME else plain_schemas[column[0]].field(column[1]).type for column in columns]
        return cls(
            plan, plain_schemas, time_type,
            {a: length_of(length, unit, f"window of {a}") for a, length in plan.windows.items()},
            {a: length_of(length, unit, f"lateness of {a}") for a, length in plan.lateness.items()},
            kinds, columns, pa.schema(list(zip(map(result_name, columns), types, strict=True))), salt or Salt.drawn(),
            read,
        )  # fmt: skip

    def plain(self, alias: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with the columns and types of `schemas`. Further columns of the batch are removed."""
        schema = self.schemas[alias]
        if batch.schema.names != schema.names:
            batch = batch.select(schema.names)
        return batch if batch.schema.types == schema.types else plain(batch, schema)

    def held(self, alias: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns of rows that a window holds."""
        return batch if self.stored[alias] is self.schemas[alias] else batch.select(self.stored[alias].names)

    def times(self, alias: str, batch: pa.RecordBatch) -> tuple[Words, Bits | None]:
        """Return the time of each row in ticks, and which rows have a time; None if all rows have."""
        return self._ticks(alias, self.plan.times[alias], batch)

    def begins(self, alias: str, batch: pa.RecordBatch) -> int:
        """Return the smallest time of a batch; `BEGINNING` if it has none."""
        times, known = self.times(alias, batch)
        times = times if known is None else times[known]
        return int(times.min()) if len(times) else BEGINNING

    def ends(self, alias: str, batch: pa.RecordBatch, times: Words) -> Words:
        """Return the time until which each row may have partners, in ticks: its time plus the window, or the value of a
        column. Rows of a table may have partners indefinitely."""
        if alias in self.windows:
            return ends_of(times, self.windows[alias])
        ends = np.full(len(times), END, np.int64)
        if alias in self.plan.ends:
            over, known = self._ticks(alias, self.plan.ends[alias], batch)
            ends = over - 1 if known is None else np.where(known, over - 1, END)
        return ends

    def _ticks(self, alias: str, column: str, batch: pa.RecordBatch) -> tuple[Words, Bits | None]:
        array = batch.column(column)
        known = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
        if array.type == self.time_type:
            return _raw(array), known
        if known is not None:
            array = array.fill_null(pa.scalar(0, pa.int64()).cast(array.type))
        try:
            return _raw(array.cast(self.time_type)), known
        except pa.ArrowInvalid as error:
            what = f"{alias}.{column} has a time that does not fit into {self.time_type}, in which times are compared"
            remedy = "filter it out before the join, or cast the columns to a coarser unit"
            raise ExpressionError(f"{what}: {error}; {remedy}").or_redacted(f"{what}; {remedy}") from None

    def keys(self, alias: str, batch: pa.RecordBatch) -> tuple[dict[KeyClasses, Words], Bits | None]:
        """Return the keys by which rows are probed, and which rows can have partners; None if all can."""
        words: dict[int, Words] = {}
        usable: Bits | None = None
        for c in self._classes[alias]:
            column = batch.column(self.plan.graph.column_of[c][alias])
            words[c], known = self.kinds[c].words(column, self.salt)
            if known is not None:
                usable = known if usable is None else usable & known
        for a, one, other in self.plan.graph.within:
            if a == alias:
                equal = _equal(batch.column(one), batch.column(other))
                usable = equal if usable is None else usable & equal
        return {key: self._combined([words[c] for c in key]) for key in self.key_sets[alias]}, usable

    @cached_property
    def _classes(self) -> Mapping[str, KeyClasses]:
        """The classes in which each stream has a column."""
        return {alias: self.plan.graph.classes_of(alias) for alias in self.plan.graph.aliases}

    def named_keys(self, alias: str, batch: pa.RecordBatch, row: int) -> str:
        """Return the names and values of the keys of a row as text."""
        graph = self.plan.graph
        columns = dict.fromkeys(graph.column_of[c][alias] for c in graph.classes_of(alias))
        return ", ".join(f"{column}={shown(batch.column(column)[row], MOST_KEY_CHARACTERS)}" for column in columns)

    def _combined(self, words: list[Words]) -> Words:
        """Combine the words of several columns into one."""
        from thalweg.kernels.keyed_hash import combine

        if len(words) == 1:
            return words[0]
        combined = words[0].copy()
        for more in words[1:]:
            combine(combined, more, self.salt.one, self.salt.other)
        return combined

    def hashed_keys(self, alias: str) -> Mapping[KeyClasses, Hashed]:
        """Return the keys whose words depend on the salt. Their columns are in the window, because they are compared by
        value."""
        return {
            key: partial(self._hashed_words, alias, key)
            for key in self.key_sets[alias]
            if len(key) > 1 or not self.kinds[key[0]].exact
        }

    def _hashed_words(self, alias: str, key: KeyClasses, batch: pa.RecordBatch) -> Words:
        column_of = self.plan.graph.column_of
        return self._combined([self.kinds[c].words(batch.column(column_of[c][alias]), self.salt)[0] for c in key])

    def words_of(self, alias: str) -> WordsOf | None:
        """Return a function that computes times and keys from the columns that windows hold; None if these columns are
        not enough."""
        graph = self.plan.graph
        asked = {graph.column_of[c][alias] for c in graph.classes_of(alias)} | {
            column for a, *columns in graph.within if a == alias for column in columns
        }
        if alias not in self.plan.times or not asked | {self.plan.times[alias]} <= set(self.stored[alias].names):
            return None
        return lambda batch: (self.times(alias, batch)[0], self.keys(alias, batch)[0])

    @property
    def tick_ns(self) -> int | None:
        """The length of a tick in nanoseconds; None if times are whole numbers, for which it is unknown."""
        return TICK_NS[self.time_type.unit] if pa.types.is_timestamp(self.time_type) else None

    @cached_property
    def key_sets(self) -> Mapping[str, tuple[KeyClasses, ...]]:
        """The keys of each stream and table."""
        return {alias: self.plan.graph.keys_of(alias) for alias in self.plan.graph.aliases}

    @cached_property
    def hashed(self) -> tuple[int, ...]:
        """The classes whose words may be equal although their values are not (`hashed_classes`)."""
        return hashed_classes(self.plan.graph, self.kinds)

    @cached_property
    def classifiers(self) -> Mapping[str, tuple[str, ...]]:
        """The columns by which rows that probe may be classified, by stream. By default they are the columns that are
        compared, without those whose values have no classes."""
        plan = self.plan
        if plan.classify_by is not None:
            return {alias: tuple(c for a, c in plan.classify_by if a == alias) for alias in plan.streams}
        keys = {alias: [plan.graph.column_of[c][alias] for c in self._classes[alias]] for alias in plan.streams}
        return {
            alias: tuple(c for c in dict.fromkeys(names) if kind_of(self.schemas[alias].field(c).type) is not None)
            for alias, names in keys.items()
        }

    def classified(self, alias: str, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """Return the columns by which rows of a stream may be classified."""
        return {name: batch.column(name) for name in self.classifiers[alias]}

    @cached_property
    def widths(self) -> Mapping[str, Mapping[str, float]]:
        """The bytes per row of the columns of each window."""
        return widths_of(self.stored)

    @cached_property
    def stored(self) -> Mapping[str, pa.Schema]:
        """The columns that windows hold, by stream and table (`held_columns`)."""
        return held_columns(self.plan, self.schemas, self.columns, self.hashed)


def columns_read(plan: JoinPlan, alias: str) -> dict[str, str]:
    """Return the columns that the conditions and the time of a stream need, each with the argument that names it."""
    graph = plan.graph
    named = [column for members in graph.column_of for a, column in members.items() if a == alias]
    named += [column for a, *columns in graph.within for column in columns if a == alias]
    named += [column for r in plan.residuals for a, column in r.columns if a == alias]
    read = dict.fromkeys(named, "on=")
    for columns, where in ((plan.times, "time="), (plan.ends, "ends")):
        if alias in columns:
            read.setdefault(columns[alias], where)
    return read


def _needed_columns(plan: JoinPlan, alias: str, schema: pa.Schema) -> set[str]:
    read = columns_read(plan, alias)
    for column, where in read.items():
        _check_column(schema, alias, column, where)
    return set(read)


def _check_column(schema: pa.Schema, alias: str, column: str, where: str) -> None:
    if column not in schema.names:
        names = ", ".join(schema.names)
        raise PlanError(f"{where}: {alias} has no column {column!r}{nearest(column, schema.names)}; it has {names}")
    if schema.get_field_index(column) < 0:
        raise PlanError(f"{where}: {alias} has several columns {column!r}; rename all but one")


def _time_type(types: Mapping[str, pa.DataType]) -> pa.DataType:
    first = next(iter(types))
    for column, kind in types.items():
        if not (pa.types.is_timestamp(kind) or pa.types.is_integer(kind)):
            raise PlanError(f"time=: {column} is {kind}, but a time must be a timestamp or a whole number; cast it")
        same_family = pa.types.is_timestamp(kind) == pa.types.is_timestamp(types[first])
        if not same_family or (pa.types.is_timestamp(kind) and (kind.tz is None) != (types[first].tz is None)):
            raise PlanError(f"time=: {first} is {types[first]} and {column} is {kind}; cast one of them")
    if pa.types.is_integer(types[first]):
        return pa.int64()
    return pa.timestamp(max((kind.unit for kind in types.values()), key=_UNITS.index), types[first].tz)


def _raw(array: pa.Array) -> Words:
    if pa.types.is_integer(array.type) and array.type != pa.int64():
        array = array.cast(pa.int64())
    if not len(array):
        return np.empty(0, np.int64)
    words: Words = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array)]
    return words


def _equal(one: pa.Array, other: pa.Array) -> Bits:
    kind = KeyKind.of([("", one.type), ("", other.type)])
    known = one.is_valid().to_numpy(zero_copy_only=False) & other.is_valid().to_numpy(zero_copy_only=False)
    if kind.exact:
        (a, ka), (b, kb) = kind.words(one), kind.words(other)
        for k in (ka, kb):
            known = known if k is None else known & k
        equal: Bits = known & (a == b)
        return equal
    bits = np.zeros(len(one), bool)
    rows = pa.array(known.nonzero()[0])
    bits[known] = same(kind.canonical(one).take(rows), kind.canonical(other).take(rows))
    return bits


def warn_of_tables_with_times(
    plan: JoinPlan, columns: Mapping[str, Sequence[str]], *, beside_streams: bool = False
) -> None:
    """Warn once per process about a table that has the column which `time` names for all streams: it may have been
    intended as a stream. A table that a dict of times leaves out is intended as one. `columns`: those of each source.
    `beside_streams`: the tables are finished data in a join with Spark streams, where they cannot have a window. If
    there are no such streams, the dict of windows leaves the tables out."""
    for alias in plan.tables:
        if plan.one_time not in columns[alias] or (plan.on, alias) in _WARNED:
            continue
        _WARNED.add((plan.on, alias))
        why, way = "is missing from window=", f"add {alias!r}: ... to window="
        if beside_streams:
            why = "is finished data in a join with streams"
            way = "read it with spark.readStream and give it a window"
        warn_user(
            f"{alias} {why}, so it is used as a table: its rows join with rows of any time, although it has the column "
            f"{plan.one_time}. If it is a stream, {way}; if it is a table, make time= a dict without {alias}"
        )


_WARNED: set[tuple[str, str]] = set()
