"""How a query will run: a tree of operators (`nodes`), and what rules have noted on the way.

Rules (`optimizer`) make new plans of it. Most of them think of a plan as sources, each with filters and computed
columns (`Branch`), a join of them, and filters over joined rows: `scans`, `join` and `conditions` show the tree in that
way, and the `with_...` methods rebuild it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from thalweg.deprecated import warn_renamed_attribute
from thalweg.plan.expression import Aggregate as AggregateCall
from thalweg.plan.expression import Bound, Call, Expression, Ref, UserCall, refs, text_of
from thalweg.plan.functions import can_raise
from thalweg.plan.group_spec import key_name, result_name
from thalweg.plan.node_fingerprint import fingerprint
from thalweg.plan.nodes import (
    Aggregate,
    Compute,
    Fail,
    Filter,
    Join,
    Key,
    Node,
    Output,
    Product,
    Scan,
    TableJoin,
    WindowJoin,
    join_of,
)
from thalweg.plan.plan_estimates import PlanEstimates
from thalweg.plan.query import Condition, Grouping, Query, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.plan.plan_state import PlanState
    from thalweg.plan.relation import UserFunction


JOINED_ERRORS = "carried errors"
"""The column of what conditions over joined rows raised."""


@dataclass(frozen=True)
class Branch:
    """A source and what is done with its rows before they meet others: the columns that are read, the conditions rows
    must fulfil, and the columns that are computed for a join."""

    source: Source
    columns: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    computed: tuple[tuple[str, Expression], ...] = ()
    judges_lateness: bool = False
    errors: str = ""
    """As of a `Filter`."""

    @property
    def alias(self) -> str:
        """Of the source."""
        return self.source.alias

    @classmethod
    def of(cls, node: Node) -> Branch:
        """From the nodes of one source."""
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
        """As nodes."""
        made: Node = Scan(self.source, self.columns, self.judges_lateness)
        if self.conditions:
            made = Filter(made, self.conditions, self.errors)
        return Compute(made, self.computed) if self.computed else made


@dataclass(frozen=True)
class QueryPlan:
    """The tree and its context. `conditions` are over joined rows, or, of a plan that no rule has seen, all there
    are."""

    query: Query
    root: Output
    notes: tuple[str, ...] = ()
    """What rules did that a reader may wonder about."""
    estimates: PlanEstimates = field(default_factory=PlanEstimates)
    """What is thought of its parts before it runs."""
    engine: str = "local"
    """Or "spark"."""
    policy: str = "auto"
    sets_aside: bool = False
    """Whether rows on which a condition raises are set aside instead of failing the query."""

    @classmethod
    def of(cls, query: Query, engine: str = "local", policy: str = "auto", *, sets_aside: bool = False) -> QueryPlan:
        """As it is written."""
        product = Product(tuple(Scan(source) for source in query.sources))
        return cls(query, _tree(query, product, query.conditions), engine=engine, policy=policy, sets_aside=sets_aside)

    def noting(self, *sentences: str) -> QueryPlan:
        """With more notes."""
        return replace(self, notes=(*self.notes, *sentences))

    def fingerprint_of(self, node: Node, functions: Mapping[str, UserFunction]) -> str:
        """Which rows a node of this plan gives, for sharing within one session (`node_fingerprint`)."""
        return fingerprint(node, functions, sets_aside=self.sets_aside)

    @property
    def scans(self) -> tuple[Branch, ...]:
        """The sources, in the order they are written."""
        return tuple(Branch.of(node) for node in self.branches)

    @property
    def branches(self) -> tuple[Node, ...]:
        """The topmost node of each source, before rows of several meet."""
        rows = self._rows
        return rows.inputs if isinstance(rows, Product | WindowJoin | TableJoin) else (rows,)

    def scan(self, alias: str) -> Branch:
        """By its alias."""
        return next(scan for scan in self.scans if scan.alias == alias)

    @property
    def join(self) -> Join | None:
        """Of all sources; None: there is one source, or no rule has built it yet."""
        return join_of(self.root)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Over the rows that the sources give together."""
        above = self._above
        return above.conditions if isinstance(above, Filter) and _is_joined(above.input) else ()

    def with_scan(self, scan: Branch) -> QueryPlan:
        """In place of the one of its alias."""

        def replaced(node: Node) -> Node:
            return scan.node if Branch.of(node).alias == scan.alias else node

        rows = self._rows
        if isinstance(rows, Product | WindowJoin | TableJoin):
            return self._with(replace(rows, inputs=tuple(map(replaced, rows.inputs))), self.conditions)
        return self._with(replaced(rows), self.conditions)

    def with_join(self, join: Join | None) -> QueryPlan:
        """In place of the product, or of another join, of the same sources; None: there is one source alone."""
        return self._with(self.scans[0].node if join is None else join, self.conditions)

    def with_conditions(self, conditions: tuple[Condition, ...]) -> QueryPlan:
        """In place of those over all rows."""
        return self._with(self._rows, conditions)

    def with_query(self, query: Query) -> QueryPlan:
        """With other outputs."""
        return replace(self, query=query, root=_tree(query, self._rows, self.conditions))

    def _with(self, rows: Node, conditions: tuple[Condition, ...]) -> QueryPlan:
        return replace(self, root=_tree(self.query, rows, conditions))

    @property
    def _above(self) -> Node:
        """What groups and outputs read, but for rows that fail."""
        node = self.result
        return node.input if isinstance(node, Fail) else node

    @property
    def result(self) -> Node:
        """What groups and outputs read."""
        node = self.root.input
        if self.query.grouping is not None:
            while not isinstance(node, Aggregate):
                (node,) = node.inputs
            node = node.input
        return node

    @property
    def _rows(self) -> Node:
        """What the sources give together, before conditions over all of them."""
        above = self._above
        return above.input if isinstance(above, Filter) and _is_joined(above.input) else above

    @property
    def after_join(self) -> tuple[Expression, ...]:
        """Expressions that are evaluated after the join: filters, groups, outputs."""
        grouping = self.query.grouping
        made = [condition.expression for condition in self.conditions]
        if grouping is None:
            return (*made, *(output.expression for output in self.query.outputs))
        arguments = [a.argument for a in grouping.aggregates if a.argument is not None]
        return (*made, *grouping.keys, *arguments)

    @property
    def state(self) -> PlanState:
        """What it keeps between micro-batches, before the number of buckets is known. The order that is tried first is
        no part of it."""
        from thalweg.plan.plan_state import PlanState

        return PlanState.of(self)

    @property
    def fingerprint(self) -> str:
        """The old name of `state`: a hash of it and of the question."""
        warn_renamed_attribute("plan.fingerprint")
        held = json.dumps([self.query.question, self.state.parts], sort_keys=True)
        return hashlib.sha256(held.encode()).hexdigest()[:16]


def _tree(query: Query, rows: Node, conditions: tuple[Condition, ...]) -> Output:
    """Filters, groups and outputs of a query over rows."""
    node = Filter(rows, conditions) if conditions else rows
    if isinstance(rows, WindowJoin | TableJoin) and (carried := _carried(rows)):
        if any(c.where != "jvm" and can_raise(c.expression) for c in conditions):
            # so that a row that fails names all conditions that raised, before the join and after it
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


def _carried(join: Join) -> tuple[Key, ...]:
    """The errors that rows of a join's sources bring along."""
    branches = [Branch.of(node) for node in join.inputs]
    return tuple((branch.alias, branch.errors) for branch in branches if branch.errors)


def _is_joined(node: Node) -> bool:
    return isinstance(node, Product | WindowJoin | TableJoin)


def of_groups(expression: Expression, grouping: Grouping) -> Expression:
    """An output or HAVING in terms of the columns that groups have."""
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
    """Columns of a source that expressions read, each once."""
    return tuple(dict.fromkeys(ref.column for e in expressions for ref in refs(e) if ref.alias == alias))
