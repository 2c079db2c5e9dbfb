"""A join plan met with the columns of its streams: types checked, windows in ticks, keys as words, output columns.

Everything a user can get wrong about columns is told here, before any row is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import PlanError, nearest
from thalweg.kernels.key_words import KeyKind, same
from thalweg.kernels.plain_columns import can_be_gathered, plain, plain_schema
from thalweg.kernels.residual import Check
from thalweg.plan.join_graph import Key
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.window_length import length_of

Words = NDArray[np.int64]
Bits = NDArray[np.bool_]
EVENT_TIME = "event_time"
_UNITS = ("s", "ms", "us", "ns")


@dataclass(frozen=True)
class JoinBinding:
    """A plan and the schema of each of its streams."""

    plan: JoinPlan
    schemas: Mapping[str, pa.Schema]
    """As windows and results hold the columns: see `plain_columns`."""
    time_type: pa.DataType
    """Of `event_time`: the finest of the streams' times."""
    windows: Mapping[str, int]
    lateness: Mapping[str, int]
    kinds: tuple[KeyKind, ...]
    """By class."""
    output: pa.Schema

    @classmethod
    def of(cls, plan: JoinPlan, schemas: Mapping[str, pa.Schema]) -> JoinBinding:
        """Refuses what does not fit."""
        graph = plan.graph
        for alias in graph.aliases:
            named = [column for members in graph.column_of for a, column in members.items() if a == alias]
            named += [column for a, *columns in graph.within for column in columns if a == alias]
            named += [column for r in plan.residuals for a, column in r.columns if a == alias]
            for column in named:
                _demand(schemas[alias], alias, column, "on=")
            _demand(schemas[alias], alias, plan.times[alias], "time=")
            for field in plain_schema(schemas[alias]):
                if not can_be_gathered(field.type):
                    raise PlanError(
                        f"{alias}.{field.name} is {field.type}, of which Arrow gathers no rows: cast or drop it"
                    )
        kinds = tuple(
            KeyKind.of([(f"{a}.{c}", schemas[a].field(c).type) for a, c in members.items()])
            for members in graph.column_of
        )
        for alias, *columns in graph.within:
            KeyKind.of([(f"{alias}.{c}", schemas[alias].field(c).type) for c in columns])
        time_type = _time_type({f"{a}.{plan.times[a]}": schemas[a].field(plan.times[a]).type for a in graph.aliases})
        unit = time_type.unit if pa.types.is_timestamp(time_type) else None
        plain_schemas = {alias: plain_schema(schemas[alias]) for alias in graph.aliases}
        for residual in plan.residuals:  # on no rows: what cannot be evaluated at all is told before any is read
            Check(residual)({(a, c): pa.array([], plain_schemas[a].field(c).type) for a, c in residual.columns})
        return cls(
            plan, plain_schemas, time_type,
            {a: length_of(plan.windows[a], unit, f"window of {a}") for a in graph.aliases},
            {a: length_of(plan.lateness[a], unit, f"lateness of {a}") for a in graph.aliases},
            kinds, _output(graph.aliases, plain_schemas, time_type),
        )  # fmt: skip

    def plain(self, alias: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch with the types of `schemas`."""
        schema = self.schemas[alias]
        return batch if batch.schema.types == schema.types else plain(batch, schema)

    def times(self, alias: str, batch: pa.RecordBatch) -> tuple[Words, Bits | None]:
        """The time of each row in ticks, and where there is one; None: everywhere."""
        array = batch.column(self.plan.times[alias])
        known = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
        if array.type == self.time_type:
            return _raw(array), known
        if known is not None:
            array = array.fill_null(pa.scalar(0, pa.int64()).cast(array.type))
        try:
            return _raw(array.cast(self.time_type)), known
        except pa.ArrowInvalid as error:
            column = f"{alias}.{self.plan.times[alias]}"
            raise PlanError(f"{column} holds a time that {self.time_type} cannot tell: {error}") from None

    def keys(self, alias: str, batch: pa.RecordBatch) -> tuple[dict[Key, Words], Bits | None]:
        """What the rows are probed by, and which rows can have partners; None: all."""
        from thalweg.kernels.stable_hash import combine

        words: dict[int, Words] = {}
        usable: Bits | None = None
        for c in self.plan.graph.classes_of(alias):
            column = batch.column(self.plan.graph.column_of[c][alias])
            words[c], known = self.kinds[c].words(column)
            if known is not None:
                usable = known if usable is None else usable & known
        for a, one, other in self.plan.graph.within:
            if a == alias:
                equal = _equal(batch.column(one), batch.column(other))
                usable = equal if usable is None else usable & equal
        keys: dict[Key, Words] = {}
        for key in self.key_sets[alias]:
            if len(key) == 1:
                keys[key] = words[key[0]]
                continue
            combined = words[key[0]].copy()
            for c in key[1:]:
                combine(combined, words[c])
            keys[key] = combined
        return keys, usable

    @cached_property
    def key_sets(self) -> Mapping[str, tuple[Key, ...]]:
        """By stream."""
        return {alias: self.plan.graph.keys_of(alias) for alias in self.plan.graph.aliases}

    @cached_property
    def hashed(self) -> tuple[int, ...]:
        """Classes whose words may be equal where their values are not, so that results are checked by value: hashed
        ones, and those that are part of a key of several."""
        parts = {c for keys in self.key_sets.values() for key in keys if len(key) > 1 for c in key}
        return tuple(c for c, kind in enumerate(self.kinds) if not kind.exact or c in parts)


def _demand(schema: pa.Schema, alias: str, column: str, where: str) -> None:
    if column not in schema.names:
        names = ", ".join(schema.names)
        raise PlanError(f"{where}: {alias} has no column {column!r}{nearest(column, schema.names)}; it has {names}")
    if schema.get_field_index(column) < 0:
        raise PlanError(f"{where}: {alias} has several columns {column!r}; rename all but one")


def _time_type(types: Mapping[str, pa.DataType]) -> pa.DataType:
    first = next(iter(types))
    for column, kind in types.items():
        if not (pa.types.is_timestamp(kind) or pa.types.is_integer(kind)):
            raise PlanError(f"time=: {column} is {kind}; a time is a timestamp or a whole number, cast it")
        same_family = pa.types.is_timestamp(kind) == pa.types.is_timestamp(types[first])
        if not same_family or (pa.types.is_timestamp(kind) and (kind.tz is None) != (types[first].tz is None)):
            raise PlanError(f"time=: {first} is {types[first]} and {column} is {kind}; cast one of them")
    if pa.types.is_integer(types[first]):
        return pa.int64()
    return pa.timestamp(max((kind.unit for kind in types.values()), key=_UNITS.index), types[first].tz)


def _output(aliases: tuple[str, ...], schemas: Mapping[str, pa.Schema], time_type: pa.DataType) -> pa.Schema:
    fields: dict[str, tuple[str, pa.DataType]] = {}
    for alias in aliases:
        for field in schemas[alias]:
            name = f"{alias}_{field.name}"
            if name in fields:
                raise PlanError(
                    f"{fields[name][0]} and {alias}.{field.name} would both be {name!r} in the result; rename one"
                )
            fields[name] = f"{alias}.{field.name}", field.type
    if EVENT_TIME in fields:
        raise PlanError(f"{fields[EVENT_TIME][0]} would be {EVENT_TIME!r} in the result, which is its time; rename it")
    fields[EVENT_TIME] = "", time_type
    return pa.schema([(name, kind) for name, (_, kind) in fields.items()])


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
