"""Groups of a query over windows of time, in terms of columns: the input and output of aggregates on any engine.

Expressions are computed into columns first: keys are `key 0`, `key 1`, ..., the distinct arguments of the aggregates
`arg 0`, `arg 1`, .... The results have the window's bounds, the keys, and `agg 0`, `agg 1`, ....

>>> from thalweg.plan.expressions.expression import AggregateCall, Ref
>>> price, user = Ref("s", "price", pa.int32()), Ref("s", "user", pa.string())
>>> asked = [AggregateCall("sum", price, pa.int64()), AggregateCall("max", price, pa.int32())]
>>> asked.append(AggregateCall("count", None, pa.int64()))
>>> spec, computed = grouped_columns(Grouping(GroupWindow(10_000_000, 5_000_000), (user,), tuple(asked)), "ts")
>>> sorted(computed), spec.keys, [aggregate.column for aggregate in spec.aggregates]
(['arg 0', 'key 0'], ('key 0',), ['arg 0', 'arg 0', None])
>>> spec.output(pa.schema({"ts": pa.timestamp("ms"), "key 0": pa.string(), "arg 0": pa.int32()})).names
['window_start', 'window_end', 'key 0', 'agg 0', 'agg 1', 'agg 2']
>>> spec.ticks(pa.timestamp("ms"))
(10000, 5000)
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from thalweg.errors import PlanError, nearest
from thalweg.plan.expressions.expression import Expression, text_of
from thalweg.plan.expressions.type_rules import plain_type
from thalweg.plan.joins.window import TICK_NS, GroupWindow
from thalweg.plan.query.query import WINDOW_END, WINDOW_START, Grouping


@dataclass(frozen=True)
class AggregateColumn:
    """An aggregate over a column."""

    function: str
    column: str | None
    """The column; None: rows are counted."""
    type: pa.DataType
    distinct: bool = False
    text: str = ""
    """The aggregate as readable text."""

    def __str__(self) -> str:
        return self.text or f"{self.function}({'DISTINCT ' if self.distinct else ''}{self.column or '*'})"


@dataclass(frozen=True)
class GroupSpec:
    """A specification of groups: windows over a time column, keys, and aggregates."""

    time: str
    window: GroupWindow
    keys: tuple[str, ...]
    aggregates: tuple[AggregateColumn, ...]

    def __post_init__(self) -> None:
        if not 0 < self.window.slide_us <= self.window.length_us:
            raise PlanError(
                f"{self.window}: the slide must be greater than 0 and not longer than the window; write "
                "HOP(10 MINUTES, 1 MINUTE)"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that rows must have, each once: time, keys, arguments."""
        arguments = (aggregate.column for aggregate in self.aggregates if aggregate.column is not None)
        return tuple(dict.fromkeys((self.time, *self.keys, *arguments)))

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the columns of the results."""
        keys = (key_name(n) for n in range(len(self.keys)))
        return (WINDOW_START, WINDOW_END, *keys, *(result_name(n) for n in range(len(self.aggregates))))

    def output(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the results for rows of a schema, which must have the columns."""
        self.check(schema)
        time = plain_type(schema.field(self.time).type)
        keys = (plain_type(schema.field(key).type) for key in self.keys)
        types = (time, time, *keys, *(aggregate.type for aggregate in self.aggregates))
        return pa.schema(list(zip(self.output_names, types, strict=True)))

    def check(self, schema: pa.Schema) -> None:
        """Refuse a schema that lacks a column, or whose time column is not a time."""
        for column in self.columns:
            if schema.get_field_index(column) < 0:
                has = ", ".join(schema.names)
                raise PlanError(
                    f"there is no column {column!r}{nearest(column, schema.names)}, or more than one; there are {has}"
                )
        self.ticks(schema.field(self.time).type)

    def ticks(self, time_type: pa.DataType) -> tuple[int, int]:
        """Return the length and the slide in units of the time column. Whole numbers are microseconds since 1970."""
        kind = plain_type(time_type)
        if pa.types.is_integer(kind):
            return self.window.length_us, self.window.slide_us
        if not pa.types.is_timestamp(kind):
            raise PlanError(f"{self.time} is {time_type}; a time is a timestamp or a whole number, cast it")
        tick_ns = TICK_NS[kind.unit]
        (length, left), (slide, over) = (
            divmod(us * 1000, tick_ns) for us in (self.window.length_us, self.window.slide_us)
        )
        if left or over:
            raise PlanError(
                f"{self.window} is not a whole number of ticks of {self.time}, which is {time_type}; cast it"
            )
        return length, slide


def key_name(n: int) -> str:
    """Return the name of the column of a key, in the input and in the results."""
    return f"key {n}"


def result_name(n: int) -> str:
    """Return the name of the column of an aggregate in the results."""
    return f"agg {n}"


def grouped_columns(grouping: Grouping, time: str) -> tuple[GroupSpec, dict[str, Expression]]:
    """Return the specification over a time column, and the expressions to compute into columns before."""
    computed: dict[str, Expression] = {key_name(n): key for n, key in enumerate(grouping.keys)}
    arguments: dict[Expression, str] = {}
    aggregates = []
    for each in grouping.aggregates:
        column = None if each.argument is None else arguments.setdefault(each.argument, f"arg {len(arguments)}")
        aggregates.append(AggregateColumn(each.function, column, each.type, each.distinct, text_of(each)))
    computed |= {column: argument for argument, column in arguments.items()}
    return GroupSpec(
        time, grouping.window, tuple(map(key_name, range(len(grouping.keys)))), tuple(aggregates)
    ), computed
