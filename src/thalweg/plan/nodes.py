"""The operators of a plan: a tree of frozen nodes, from the scans of sources up to the output.

Every node has the same few properties, so that a plan can be walked, costed, shared, drawn and run by code that knows
nothing else about it: `inputs`, the `schema` of its rows, and an `id` that is unique within its plan and stays the same
while rules rewrite the tree.

A plan that no rule has seen reads `Output(Filter(Product(Scan, Scan, ...)))`, with an `Aggregate` and a filter of its
groups in between where the query has groups. The optimizer turns the product into a join and moves filters below it.

>>> from thalweg.plan.relation import Relation
>>> stock = Source("s", Relation("stock", pa.schema({"price": pa.int64()})))
>>> node = Output(Filter(Scan(stock, ("price",)), ()), (("twice", Ref("s", "price", pa.int64())),))
>>> [each.id for each in walk(node)]
['output', 'filter of s', 's']
>>> node.schema.names, node.inputs[0].schema.names
(['twice'], ['price'])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pyarrow as pa

from thalweg.plan.expression import Expression, Ref
from thalweg.plan.group_spec import grouped_columns
from thalweg.plan.join_graph import Trees
from thalweg.plan.join_select import EVENT_TIME
from thalweg.plan.query import Condition, Grouping, Source, time_type

Key = tuple[str, str]
"""alias, column."""


@dataclass(frozen=True)
class Scan:
    """A stream or table, and the columns that are read of it."""

    source: Source
    columns: tuple[str, ...] = ()
    judges_lateness: bool = False
    """Whether rows that come after the watermark are dropped: only where rows are kept, by windows or groups."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """A scan reads no other node."""
        return ()

    @property
    def alias(self) -> str:
        """The name of the source in the query."""
        return self.source.alias

    @property
    def id(self) -> str:
        """The alias."""
        return self.source.alias

    @property
    def schema(self) -> pa.Schema:
        """The columns that are read."""
        return pa.schema([self.source.relation.schema.field(column) for column in self.columns])


@dataclass(frozen=True)
class Filter:
    """Rows for which all conditions are true."""

    input: Node
    conditions: tuple[Condition, ...]
    errors: str = ""
    """If set, rows on which a condition raises and that no other drops are kept, and this column says what was raised;
    it is null in all other rows. A `Fail` node above decides what becomes of them."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node whose rows are filtered."""
        return (self.input,)

    @property
    def id(self) -> str:
        """After the rows it filters."""
        return f"filter of {subject(self.input)}"

    @property
    def schema(self) -> pa.Schema:
        """The columns of the input, and that of the errors."""
        schema = self.input.schema
        return schema.append(pa.field(self.errors, pa.string())) if self.errors else schema


@dataclass(frozen=True)
class Compute:
    """Rows with computed columns added, for a join that compares them."""

    input: Node
    columns: tuple[tuple[str, Expression], ...]
    """Name and expression."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node to whose rows columns are added."""
        return (self.input,)

    @property
    def id(self) -> str:
        """After the rows it extends."""
        return f"columns of {subject(self.input)}"

    @property
    def schema(self) -> pa.Schema:
        """The columns of the input, then the computed ones."""
        return pa.schema([*self.input.schema, *(pa.field(name, e.type) for name, e in self.columns)])


@dataclass(frozen=True)
class Product:
    """All combinations of rows of several sources: what FROM says, before a join takes its place."""

    inputs: tuple[Node, ...]

    @property
    def id(self) -> str:
        """There is one per plan."""
        return "product"

    @property
    def schema(self) -> pa.Schema:
        """All columns, named `<alias>_<column>`."""
        return joined_schema(self.inputs, None)


@dataclass(frozen=True)
class Equality:
    """Two columns, of two sources, that must be equal."""

    one: Key
    other: Key
    text: str
    place: int = field(default=0, compare=False)
    """Among all conjuncts, in the order they are written."""


@dataclass(frozen=True)
class _AllJoined:
    """All sources of a query, joined at once."""

    inputs: tuple[Node, ...]
    equalities: tuple[Equality, ...]
    residuals: tuple[Condition, ...] = ()
    """Checked where rows are put together."""
    order: tuple[str, ...] = ()
    """Sources in the order that is tried first."""
    why: str = field(default="as written, since nothing is known", compare=False)
    """The reason for that order."""
    keeps: tuple[Key, ...] = ()
    """Columns that nodes above read, and windows hold."""

    @property
    def id(self) -> str:
        """There is one per plan."""
        return "join"


@dataclass(frozen=True)
class SpreadBy:
    """The class of equal columns that spreads the rows of a join over buckets, so that each bucket joins on its own."""

    columns: tuple[Key, ...]
    """One per stream that has such a column."""
    replicated: tuple[str, ...] = ()
    """Streams that have none: every bucket gets all of their rows."""
    why: str = field(default="", compare=False)
    """The reason for this class."""


@dataclass(frozen=True)
class WindowJoin(_AllJoined):
    """Sources joined over windows of time by the adaptive join. What follows decides where rows go and in which windows
    they look, and changes no row of the result."""

    probe_trees: Trees = ()
    """For new rows of each stream: every other source, and the source whose rows look for partners in it. Empty: nobody
    has chosen them."""
    spread_by: SpreadBy | None = None
    """None: in this process, which has no buckets."""

    @property
    def schema(self) -> pa.Schema:
        """The kept columns, named `<alias>_<column>`, and the time of the result."""
        return joined_schema(self.inputs, self.keeps).append(pa.field(EVENT_TIME, time_type(sources_of(self))))


@dataclass(frozen=True)
class TableJoin(_AllJoined):
    """One stream joined with tables by Spark's own join, which keeps nothing of the stream."""

    @property
    def schema(self) -> pa.Schema:
        """All columns, named `<alias>_<column>`."""
        return joined_schema(self.inputs, None)


@dataclass(frozen=True)
class Fail:
    """Joined rows that fail: a condition raised on them, or on one of their rows before it was joined, and no other
    condition drops them. They fail the query, or are set aside."""

    input: Node
    columns: tuple[Key, ...]
    """Source and column of the errors that rows carry; of conditions over joined rows, no source. No node above sees
    them."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node whose rows may fail."""
        return (self.input,)

    @property
    def id(self) -> str:
        """There is one per plan."""
        return "failed rows"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the errors, as joined rows have them."""
        return tuple(f"{alias}_{column}" if alias else column for alias, column in self.columns)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the input but for the errors."""
        return pa.schema([field for field in self.input.schema if field.name not in self.names])


@dataclass(frozen=True)
class Aggregate:
    """Groups of rows over windows of time."""

    input: Node
    grouping: Grouping

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node whose rows are grouped."""
        return (self.input,)

    @property
    def id(self) -> str:
        """There is one per plan."""
        return "groups"

    @property
    def time(self) -> str:
        """The column of the input that says to which windows a row belongs."""
        if isinstance(join_of(self.input), WindowJoin):
            return EVENT_TIME
        stream = next(source for source in sources_of(self.input) if source.relation.is_stream)
        assert stream.relation.time is not None
        return stream.relation.time if join_of(self.input) is None else f"{stream.alias}_{stream.relation.time}"

    @property
    def schema(self) -> pa.Schema:
        """The window's bounds, the keys and the aggregates."""
        spec, computed = grouped_columns(self.grouping, self.time)
        time = time_type(sources_of(self.input))
        return spec.output(pa.schema([(self.time, time), *((name, e.type) for name, e in computed.items())]))


@dataclass(frozen=True)
class Output:
    """The columns of the result."""

    input: Node
    columns: tuple[tuple[str, Expression], ...]
    """Name and expression."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node whose rows are put out."""
        return (self.input,)

    @property
    def id(self) -> str:
        """There is one per plan."""
        return "output"

    @property
    def schema(self) -> pa.Schema:
        """The result's."""
        return pa.schema([(name, expression.type) for name, expression in self.columns])


Join: TypeAlias = WindowJoin | TableJoin
Node: TypeAlias = Scan | Filter | Compute | Product | WindowJoin | TableJoin | Fail | Aggregate | Output


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it, from the top down."""
    yield node
    for child in node.inputs:
        yield from walk(child)


def walk_up(node: Node) -> Iterator[Node]:
    """A node and all below it, in the order in which rows meet them."""
    for child in node.inputs:
        yield from walk_up(child)
    yield node


def with_inputs(node: Node, inputs: tuple[Node, ...]) -> Node:
    """The same operator over other inputs."""
    if inputs == node.inputs:
        return node
    if isinstance(node, Product | WindowJoin | TableJoin):
        return replace(node, inputs=inputs)
    assert not isinstance(node, Scan), "a scan has no inputs"
    return replace(node, input=inputs[0])


def rewritten(node: Node, rewrite: Callable[[Node], Node]) -> Node:
    """Every node replaced, the lowest first."""
    return rewrite(with_inputs(node, tuple(rewritten(child, rewrite) for child in node.inputs)))


def sources_of(node: Node) -> tuple[Source, ...]:
    """All sources below a node."""
    return tuple(each.source for each in walk(node) if isinstance(each, Scan))


def join_of(node: Node) -> Join | None:
    """The join below a node."""
    return next((each for each in walk(node) if isinstance(each, WindowJoin | TableJoin)), None)


def subject(node: Node) -> str:
    """Which rows a node gives, in a word or two: those of a source, joined rows, or groups."""
    while isinstance(node, Filter | Compute | Fail):
        node = node.input
    if isinstance(node, Scan):
        return node.alias
    return "groups" if isinstance(node, Aggregate) else "joined rows"


def joined_schema(inputs: tuple[Node, ...], keeps: tuple[Key, ...] | None) -> pa.Schema:
    """Of joined rows, with these columns; None: with all."""
    schemas = {sources_of(node)[0].alias: node.schema for node in inputs}
    keys = [(alias, name) for alias, schema in schemas.items() for name in schema.names] if keeps is None else keeps
    return pa.schema([pa.field(f"{alias}_{name}", schemas[alias].field(name).type) for alias, name in keys])


def column_of(ref: Ref, joined: bool) -> str:
    """The name of a column in rows: of one source as it is, of joined rows with the source's alias."""
    return f"{ref.alias}_{ref.column}" if joined and ref.alias else ref.column
