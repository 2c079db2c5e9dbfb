"""How a query will run: a tree of operators (`nodes`), and what rules have noted on the way.

Rules (`optimizer`) make new plans of it. Most of them think of a plan as sources, each with filters and computed
columns (`Branch`), a join of them, and filters over joined rows: `scans`, `join` and `conditions` show the tree in that
way, and the `with_...` methods rebuild it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace

from thalweg.plan.expression import Aggregate as AggregateCall
from thalweg.plan.expression import Bound, Call, Expression, Ref, UserCall, refs, structure, text_of
from thalweg.plan.group_spec import key_name, result_name
from thalweg.plan.nodes import (
    Aggregate,
    Compute,
    Filter,
    Join,
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


@dataclass(frozen=True)
class Branch:
    """A source and what is done with its rows before they meet others: the columns that are read, the conditions rows
    must fulfil, and the columns that are computed for a join."""

    source: Source
    columns: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    computed: tuple[tuple[str, Expression], ...] = ()
    judges_lateness: bool = False

    @property
    def alias(self) -> str:
        """Of the source."""
        return self.source.alias

    @classmethod
    def of(cls, node: Node) -> Branch:
        """From the nodes of one source."""
        computed: tuple[tuple[str, Expression], ...] = ()
        conditions: tuple[Condition, ...] = ()
        if isinstance(node, Compute):
            computed = node.columns
            node = node.input
        if isinstance(node, Filter):
            conditions = node.conditions
            node = node.input
        assert isinstance(node, Scan)
        return cls(node.source, node.columns, conditions, computed, node.judges_lateness)

    @property
    def node(self) -> Node:
        """As nodes."""
        made: Node = Scan(self.source, self.columns, self.judges_lateness)
        if self.conditions:
            made = Filter(made, self.conditions)
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

    @classmethod
    def of(cls, query: Query, engine: str = "local", policy: str = "auto") -> QueryPlan:
        """As it is written."""
        product = Product(tuple(Scan(source) for source in query.sources))
        return cls(query, _tree(query, product, query.conditions), engine=engine, policy=policy)

    def noting(self, *sentences: str) -> QueryPlan:
        """With more notes."""
        return replace(self, notes=(*self.notes, *sentences))

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
    def fingerprint(self) -> str:
        """Of what holds state: another plan cannot go on from its checkpoint."""
        join = self.join
        held = {
            "query": self.query.fingerprint,
            "scans": [
                [
                    scan.alias,
                    [structure(c.expression) for c in sorted(scan.conditions, key=lambda c: c.place)],
                    [n for n, _ in scan.computed],
                ]
                for scan in self.scans
            ],
            "join": join and [[list(e.one), list(e.other)] for e in join.equalities],
        }
        return hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()[:16]


def _tree(query: Query, rows: Node, conditions: tuple[Condition, ...]) -> Output:
    """Filters, groups and outputs of a query over rows."""
    node = Filter(rows, conditions) if conditions else rows
    grouping = query.grouping
    if grouping is None:
        return Output(node, tuple((output.name, output.expression) for output in query.outputs))
    node = Aggregate(node, grouping)
    if grouping.having is not None:
        having = Condition(of_groups(grouping.having, grouping), text_of(grouping.having), 0)
        node = Filter(node, (having,))
    return Output(node, tuple((output.name, of_groups(output.expression, grouping)) for output in query.outputs))


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
