"""The operators of a plan: a tree of frozen nodes, from the scans of sources up to the output.

Every node has the same few properties, so that code that knows nothing else about it can walk, cost, share, draw and
run a plan: `inputs`, the `schema` of its rows, and an `id` that is unique within its plan and does not change while
rules rewrite the tree.

Before any rule runs, a plan is `Output(Filter(Product(Scan, Scan, ...)))`, with an `Aggregate` and a filter of its
groups in between if the query has groups. The optimizer turns the product into a join and moves filters below it.

>>> from thalweg.plan.query.relation import Relation
>>> stock = QuerySource("s", Relation("stock", pa.schema({"price": pa.int64()})))
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

from thalweg.plan.expressions.expression import Expression, Ref
from thalweg.plan.joins.graph import Trees
from thalweg.plan.joins.select import EVENT_TIME
from thalweg.plan.joins.shape import Shape
from thalweg.plan.query.group_spec import grouped_columns
from thalweg.plan.query.query import Condition, Grouping, QuerySource, time_type

SourceColumn = tuple[str, str]
"""The alias of a source and a column."""


@dataclass(frozen=True)
class Scan:
    """A scan of a stream or table, and the columns that it reads."""

    source: QuerySource
    columns: tuple[str, ...] = ()
    judges_lateness: bool = False
    """Whether late rows, those below the watermark, are dropped: only if windows or groups keep rows."""

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
        """The alias of the source."""
        return self.source.alias

    @property
    def schema(self) -> pa.Schema:
        """The columns that are read."""
        return pa.schema([self.source.relation.schema.field(column) for column in self.columns])


@dataclass(frozen=True)
class Filter:
    """A filter that keeps the rows for which all conditions are true."""

    input: Node
    conditions: tuple[Condition, ...]
    errors: str = ""
    """If set, rows on which a condition raises and that no other condition drops are kept, and this column has the
    error; it is null in all other rows. A `Fail` node above decides what happens to them."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node whose rows are filtered."""
        return (self.input,)

    @property
    def id(self) -> str:
        """The id, named after the rows that are filtered."""
        return f"filter of {subject(self.input)}"

    @property
    def schema(self) -> pa.Schema:
        """The columns of the input, and the column of the errors."""
        schema = self.input.schema
        return schema.append(pa.field(self.errors, pa.string())) if self.errors else schema


@dataclass(frozen=True)
class Compute:
    """An operator that adds computed columns, for a join that compares them."""

    input: Node
    columns: tuple[tuple[str, Expression], ...]
    """The name and the expression of each computed column."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node to whose rows columns are added."""
        return (self.input,)

    @property
    def id(self) -> str:
        """The id, named after the rows to which columns are added."""
        return f"columns of {subject(self.input)}"

    @property
    def schema(self) -> pa.Schema:
        """The columns of the input, then the computed ones."""
        return pa.schema([*self.input.schema, *(pa.field(name, e.type) for name, e in self.columns)])


@dataclass(frozen=True)
class Product:
    """All combinations of rows of several sources: the meaning of FROM, before a join replaces it."""

    inputs: tuple[Node, ...]

    @property
    def id(self) -> str:
        """The id. There is one such node per plan."""
        return "product"

    @property
    def schema(self) -> pa.Schema:
        """All columns, named `<alias>_<column>`."""
        return joined_schema(self.inputs, None)


@dataclass(frozen=True)
class ColumnEquality:
    """Two columns, of two sources, that must be equal."""

    one: SourceColumn
    other: SourceColumn
    text: str
    place: int = field(default=0, compare=False)
    """The position among all conjuncts, in the written order."""


@dataclass(frozen=True)
class _AllJoined:
    """All sources of a query, joined at once."""

    inputs: tuple[Node, ...]
    equalities: tuple[ColumnEquality, ...]
    residuals: tuple[Condition, ...] = ()
    """Conditions that are checked when rows are joined."""
    order: tuple[str, ...] = ()
    """The sources in the first order."""
    why: str = field(default="as written, because nothing is known", compare=False)
    """The reason for this order."""
    keeps: tuple[SourceColumn, ...] = ()
    """The columns that nodes above read, which windows store."""

    @property
    def id(self) -> str:
        """The id. There is one such node per plan."""
        return "join"


@dataclass(frozen=True)
class SpreadBy:
    """The class of equal columns that spreads the rows of a join over buckets, so that buckets join independently."""

    columns: tuple[SourceColumn, ...]
    """One column per stream that has such a column."""
    replicated: tuple[str, ...] = ()
    """The streams that have no such column: every bucket gets all of their rows."""
    why: str = field(default="", compare=False)
    """The reason for this class."""


@dataclass(frozen=True)
class Kept:
    """The sub-joins whose results a join keeps at first."""

    shape: Shape | None
    """The plan of the join; None: nothing is kept."""
    why: str
    """The reason for this plan."""


@dataclass(frozen=True)
class WindowJoin(_AllJoined):
    """Sources joined over windows of time by the adaptive join. The fields below decide where rows go, which windows
    they probe and which results are kept, and change no row of the result."""

    probe_trees: Trees = ()
    """For new rows of each stream: every other source, and the source whose rows look for partners in it. Empty: no
    trees are chosen yet."""
    spread_by: SpreadBy | None = None
    """How rows are spread over buckets; None: in this process, which has no buckets."""
    kept: Kept | None = field(default=None, compare=False)
    """The sub-joins that are kept at first; None: not chosen yet, because it is not known where the plan will run."""

    @property
    def schema(self) -> pa.Schema:
        """The kept columns, named `<alias>_<column>`, and the time of the result."""
        return joined_schema(self.inputs, self.keeps).append(pa.field(EVENT_TIME, time_type(sources_of(self))))


@dataclass(frozen=True)
class TableJoin(_AllJoined):
    """One stream joined with tables by Spark's own join, which keeps no rows of the stream."""

    @property
    def schema(self) -> pa.Schema:
        """All columns, named `<alias>_<column>`."""
        return joined_schema(self.inputs, None)


@dataclass(frozen=True)
class Fail:
    """An operator that takes out joined rows that fail: a condition raised on them, or on one of their rows before the
    join, and no other condition drops them. They fail the query, or are set aside."""

    input: Node
    columns: tuple[SourceColumn, ...]
    """The source and column of each error column in the rows; conditions on joined rows have no source. Nodes above do
    not see these columns."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node whose rows may fail."""
        return (self.input,)

    @property
    def id(self) -> str:
        """The id. There is one such node per plan."""
        return "failed rows"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the error columns in joined rows."""
        return tuple(f"{alias}_{column}" if alias else column for alias, column in self.columns)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the input without the errors."""
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
        """The id. There is one such node per plan."""
        return "groups"

    @property
    def time(self) -> str:
        """The column of the input that decides to which windows a row belongs."""
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
    """An operator that computes the columns of the result."""

    input: Node
    columns: tuple[tuple[str, Expression], ...]
    """The name and the expression of each column."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node whose rows are returned."""
        return (self.input,)

    @property
    def id(self) -> str:
        """The id. There is one such node per plan."""
        return "output"

    @property
    def schema(self) -> pa.Schema:
        """The schema of the result."""
        return pa.schema([(name, expression.type) for name, expression in self.columns])


Join: TypeAlias = WindowJoin | TableJoin
Node: TypeAlias = Scan | Filter | Compute | Product | WindowJoin | TableJoin | Fail | Aggregate | Output


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it, from the top down."""
    yield node
    for child in node.inputs:
        yield from walk(child)


def walk_up(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it, in the order in which rows pass them."""
    for child in node.inputs:
        yield from walk_up(child)
    yield node


def with_inputs(node: Node, inputs: tuple[Node, ...]) -> Node:
    """Return the same operator over other inputs."""
    if inputs == node.inputs:
        return node
    if isinstance(node, Product | WindowJoin | TableJoin):
        return replace(node, inputs=inputs)
    assert not isinstance(node, Scan), "a scan has no inputs"
    return replace(node, input=inputs[0])


def rewritten(node: Node, rewrite: Callable[[Node], Node]) -> Node:
    """Return the tree with every node replaced, the lowest first."""
    return rewrite(with_inputs(node, tuple(rewritten(child, rewrite) for child in node.inputs)))


def sources_of(node: Node) -> tuple[QuerySource, ...]:
    """Return all sources below a node."""
    return tuple(each.source for each in walk(node) if isinstance(each, Scan))


def join_of(node: Node) -> Join | None:
    """Return the join below a node, or None."""
    return next((each for each in walk(node) if isinstance(each, WindowJoin | TableJoin)), None)


def subject(node: Node) -> str:
    """Return a short description of the rows that a node gives: the alias of a source, joined rows, or groups."""
    while isinstance(node, Filter | Compute | Fail):
        node = node.input
    if isinstance(node, Scan):
        return node.alias
    return "groups" if isinstance(node, Aggregate) else "joined rows"


def joined_schema(inputs: tuple[Node, ...], keeps: tuple[SourceColumn, ...] | None) -> pa.Schema:
    """Return the schema of joined rows with these columns; None: with all columns."""
    schemas = {sources_of(node)[0].alias: node.schema for node in inputs}
    keys = [(alias, name) for alias, schema in schemas.items() for name in schema.names] if keeps is None else keeps
    return pa.schema([pa.field(f"{alias}_{name}", schemas[alias].field(name).type) for alias, name in keys])


def column_of(ref: Ref, joined: bool) -> str:
    """Return the name of a column in rows: in rows of one source its own, in joined rows with the alias as a prefix."""
    return f"{ref.alias}_{ref.column}" if joined and ref.alias else ref.column
