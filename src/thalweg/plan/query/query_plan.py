"""The plan of a query: a tree of operators (`nodes`), and the notes of the rules.

Rules (`optimizer`) turn a plan into a new plan. Most of them see a plan as sources, each with filters and computed
columns (`Branch`), a join of them, and filters over joined rows: `scans`, `join` and `conditions` show the tree in this
form, and the `with_...` methods rebuild it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from thalweg.plan.expressions.expression import AggregateCall, Bound, Call, Expression, Ref, UserCall, refs, text_of
from thalweg.plan.expressions.functions import can_raise
from thalweg.plan.joins.wanted_plan import WantedPlan
from thalweg.plan.query.group_spec import key_name, result_name
from thalweg.plan.query.node_fingerprint import fingerprint
from thalweg.plan.query.nodes import (
    Aggregate,
    Compute,
    Fail,
    Filter,
    Join,
    Node,
    Output,
    Product,
    Scan,
    SourceColumn,
    TableJoin,
    WindowJoin,
    join_of,
)
from thalweg.plan.query.plan_estimates import PlanEstimates
from thalweg.plan.query.query import Condition, Grouping, Query, QuerySource

if TYPE_CHECKING:
    from thalweg.plan.query.plan_state import PlanState
    from thalweg.plan.query.relation import UserFunction


FilterPlaces: TypeAlias = Literal["cheapest", "before", "after"] | Mapping[str, tuple[str, ...]]
"""Where conditions that may be evaluated before the join or after it are placed: where they cost less, all before it,
all after it, or before it only the listed ones, by the alias of their stream, as `PlanState.conditions` has them."""
JOINED_ERRORS = "carried errors"
"""The column with the errors of conditions on joined rows."""


@dataclass(frozen=True)
class Branch:
    """A source and what happens to its rows before the join: the columns that are read, the conditions that rows must
    pass, and the columns that are computed for the join."""

    source: QuerySource
    columns: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    computed: tuple[tuple[str, Expression], ...] = ()
    judges_lateness: bool = False
    errors: str = ""
    """The column of errors, as in `Filter`."""

    @property
    def alias(self) -> str:
        """The alias of the source."""
        return self.source.alias

    @classmethod
    def of(cls, node: Node) -> Branch:
        """Return the branch that the nodes of one source form."""
        computed: tuple[tuple[str, Expression], ...] = ()
        conditions: tuple[Condition, ...] = ()
        errors = ""
        if isinstance(node, Compute):
            computed = node.columns
            node = node.input
        if isinstance(node, Filter):
            conditions, errors = node.conditions, node.errors
            node = node.input
        assert isinstance(node, Scan)
        return cls(node.source, node.columns, conditions, computed, node.judges_lateness, errors)

    @property
    def node(self) -> Node:
        """The branch as a tree of nodes."""
        made: Node = Scan(self.source, self.columns, self.judges_lateness)
        if self.conditions:
            made = Filter(made, self.conditions, self.errors)
        return Compute(made, self.computed) if self.computed else made


@dataclass(frozen=True)
class QueryPlan:
    """A tree of operators and its context. `conditions` are those over joined rows, or, before any rule runs, all
    conditions."""

    query: Query
    root: Output
    notes: tuple[str, ...] = ()
    """Changes by rules that a reader may not expect."""
    estimates: PlanEstimates = field(default_factory=PlanEstimates)
    """The estimates of its parts before it runs."""
    engine: str = "local"
    """Where the plan runs: "local", in this process, or "spark"."""
    policy: str = "auto"
    sets_aside: bool = False
    """Whether rows on which a condition raises are set aside instead of failing the query."""
    filter_places: FilterPlaces = "cheapest"
    """Where `place_filters` puts conditions. No row of the result depends on it."""
    classify_by: tuple[SourceColumn, ...] | None = None
    """The columns of streams by which rows may be classified, which scans therefore read; None: those that conditions
    and joins read anyway."""
    wanted: WantedPlan = field(default_factory=WantedPlan)
    """What the user wants of the plan of its join."""

    @classmethod
    def of(cls, query: Query, engine: str = "local", policy: str = "auto", *, sets_aside: bool = False) -> QueryPlan:
        """Return the plan of a query as it is written."""
        product = Product(tuple(Scan(source) for source in query.sources))
        return cls(query, _tree(query, product, query.conditions), engine=engine, policy=policy, sets_aside=sets_aside)

    def noting(self, *sentences: str) -> QueryPlan:
        """Return the plan with further notes."""
        return replace(self, notes=(*self.notes, *sentences))

    def fingerprint_of(self, node: Node, functions: Mapping[str, UserFunction]) -> str:
        """Return the fingerprint of the rows that a node gives, for sharing within one session (`node_fingerprint`)."""
        return fingerprint(node, functions, sets_aside=self.sets_aside)

    @property
    def scans(self) -> tuple[Branch, ...]:
        """The sources, in the written order."""
        return tuple(Branch.of(node) for node in self.branches)

    @property
    def branches(self) -> tuple[Node, ...]:
        """The topmost node of each source, below the join."""
        rows = self._rows
        return rows.inputs if isinstance(rows, Product | WindowJoin | TableJoin) else (rows,)

    def scan(self, alias: str) -> Branch:
        """Return the source with this alias."""
        return next(scan for scan in self.scans if scan.alias == alias)

    @property
    def join(self) -> Join | None:
        """The join of all sources; None: there is only one source, or no rule has built the join yet."""
        return join_of(self.root)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions on the rows that the sources give together."""
        above = self._above
        return above.conditions if isinstance(above, Filter) and _is_joined(above.input) else ()

    def with_scan(self, scan: Branch) -> QueryPlan:
        """Return the plan with this source instead of the one with the same alias."""

        def replaced(node: Node) -> Node:
            return scan.node if Branch.of(node).alias == scan.alias else node

        rows = self._rows
        if isinstance(rows, Product | WindowJoin | TableJoin):
            return self._with(replace(rows, inputs=tuple(map(replaced, rows.inputs))), self.conditions)
        return self._with(replaced(rows), self.conditions)

    def with_join(self, join: Join | None) -> QueryPlan:
        """Return the plan with this join instead of the product or another join of the same sources; None: there is
        only one source."""
        return self._with(self.scans[0].node if join is None else join, self.conditions)

    def with_conditions(self, conditions: tuple[Condition, ...]) -> QueryPlan:
        """Return the plan with these conditions on the rows that the sources give together."""
        return self._with(self._rows, conditions)

    def with_query(self, query: Query) -> QueryPlan:
        """Return the plan with the outputs of another query."""
        return replace(self, query=query, root=_tree(query, self._rows, self.conditions))

    def _with(self, rows: Node, conditions: tuple[Condition, ...]) -> QueryPlan:
        return replace(self, root=_tree(self.query, rows, conditions))

    @property
    def _above(self) -> Node:
        """The node that groups and outputs read, below the `Fail` node."""
        node = self.result
        return node.input if isinstance(node, Fail) else node

    @property
    def result(self) -> Node:
        """The node that groups and outputs read."""
        node = self.root.input
        if self.query.grouping is not None:
            while not isinstance(node, Aggregate):
                (node,) = node.inputs
            node = node.input
        return node

    @property
    def _rows(self) -> Node:
        """The node with the rows that the sources give together, below conditions on them."""
        above = self._above
        return above.input if isinstance(above, Filter) and _is_joined(above.input) else above

    @property
    def after_join(self) -> tuple[Expression, ...]:
        """The expressions that are evaluated after the join: filters, groups, outputs."""
        grouping = self.query.grouping
        made = [condition.expression for condition in self.conditions]
        if grouping is None:
            return (*made, *(output.expression for output in self.query.outputs))
        arguments = [a.argument for a in grouping.aggregates if a.argument is not None]
        return (*made, *grouping.keys, *arguments)

    @property
    def state(self) -> PlanState:
        """The state that it keeps between micro-batches, before the number of buckets is known. The first order is not
        part of it."""
        from thalweg.plan.query.plan_state import PlanState

        return PlanState.of(self)


def _tree(query: Query, rows: Node, conditions: tuple[Condition, ...]) -> Output:
    """Return the filters, groups and outputs of a query over a node with rows."""
    node = Filter(rows, conditions) if conditions else rows
    if isinstance(rows, WindowJoin | TableJoin) and (carried := _carried(rows)):
        if any(c.where != "jvm" and can_raise(c.expression) for c in conditions):
            # so that the error of a row names all conditions that raised, before the join and after it
            node = Filter(rows, conditions, JOINED_ERRORS)
            carried = (*carried, ("", JOINED_ERRORS))
        node = Fail(node, carried)
    grouping = query.grouping
    if grouping is None:
        return Output(node, tuple((output.name, output.expression) for output in query.outputs))
    node = Aggregate(node, grouping)
    if grouping.having is not None:
        having = Condition(of_groups(grouping.having, grouping), text_of(grouping.having), 0)
        node = Filter(node, (having,))
    return Output(node, tuple((output.name, of_groups(output.expression, grouping)) for output in query.outputs))


def _carried(join: Join) -> tuple[SourceColumn, ...]:
    """Return the error columns in the rows of a join's sources."""
    branches = [Branch.of(node) for node in join.inputs]
    return tuple((branch.alias, branch.errors) for branch in branches if branch.errors)


def _is_joined(node: Node) -> bool:
    return isinstance(node, Product | WindowJoin | TableJoin)


def of_groups(expression: Expression, grouping: Grouping) -> Expression:
    """Return an output or HAVING in terms of the columns of groups."""
    if expression in grouping.keys:
        return Ref("", key_name(grouping.keys.index(expression)), expression.type)
    if isinstance(expression, AggregateCall):
        return Ref("", result_name(grouping.aggregates.index(expression)), expression.type)
    if isinstance(expression, Bound):
        return Ref("", expression.name, expression.type)
    if not isinstance(expression, Call | UserCall):
        return expression
    return replace(expression, arguments=tuple(of_groups(part, grouping) for part in expression.arguments))


def needed(expressions: tuple[Expression, ...], alias: str) -> tuple[str, ...]:
    """Return the columns of a source that expressions read, each once."""
    return tuple(dict.fromkeys(ref.column for e in expressions for ref in refs(e) if ref.alias == alias))
