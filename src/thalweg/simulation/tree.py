"""A tree of binary joins, each of them a simulated operator with its own queue and server.

Rows are admitted when they arrive (late rows are counted then), and wait for the join at which their stream enters. The
watermark follows the rows through every queue, so a window removes a row only when no row that may need it can still
arrive.

The costs of an arriving row (rate-based, table 3) are move + hash + probe for the symmetric hash join, and move + comp
times the rows of the other window for nested loops. The declared costs of handling and results are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.cost.operator_costs import Costs, check_costs, price
from thalweg.errors import PlanError, nearest
from thalweg.kernels.binary_join import LEFT, RIGHT
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.shape import Shape, check_shape, nodes_of, streams_of, to_text
from thalweg.plan.joins.window import Length
from thalweg.runtime.clock import Clock
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.tree_node import JoinNode, PartialRows
from thalweg.runtime.local.operator import AfterMark, Delivery, Operator
from thalweg.runtime.watermark import END
from thalweg.simulation.priced_operator import one_by_one, size
from thalweg.simulation.windows import bind, plan_of, read_by

METHODS = ("hash", "loops")
LONG_AGO = -(2**63)


def tree_join(
    name: str,
    shape: Shape,
    on: str,
    window: Length | Mapping[str, Length],
    time: str | Mapping[str, str],
    lateness: Length | Mapping[str, Length] = "0 seconds",
    *,
    costs: Costs | Mapping[Shape, Costs] = Costs(),  # noqa: B008 - frozen
    methods: Mapping[Shape, str] | str = "hash",
    reads: Mapping[str, str] | None = None,
) -> tuple[Operator, ...]:
    """Return the operators of a tree of binary joins, from the leaves up.

    Parameters
    ----------
    name
        The name of the last join. The others are named after their part of the tree.
    shape
        The tree, as pairs of streams or of other pairs: ``(("a", "b"), "c")``.
    on, window, time, lateness
        As for :func:`thalweg.join`. Windows and lateness may be numbers of time units, even if times are timestamps.
    costs
        The declared costs of all joins, or a dict of costs by part of the tree.
    methods
        ``"hash"`` (symmetric hash join) or ``"loops"`` (nested loops) for all joins, or a dict by part of the tree.
    reads
        The source or operator of each stream; the default is the one with the same name.

    Returns
    -------
    tuple of Operator

    Raises
    ------
    PlanError
        If the tree does not fit the conditions, or another argument is invalid.

    Examples
    --------
    >>> from thalweg.simulation import Costs, tree_join
    >>> tree = (("a", "b"), "c")
    >>> joins = tree_join("all", tree, "a.k = b.k AND b.k = c.k", window="1 second", time="ts", costs=Costs(move=1))
    >>> [join.name for join in joins]
    ['(a b)', 'all']
    """
    plan = plan_of(on, window, time, lateness)
    shape = _pairs(shape)
    check_shape(shape, plan.graph)
    parts = list(nodes_of(shape))
    if not isinstance(costs, Mapping) or any(isinstance(part, str) for part in costs):
        check_costs(costs)  # a join is a pair, so a text is not a part of the tree
    for given in (costs, methods):
        for part in given if isinstance(given, Mapping) else ():
            if part not in parts:
                raise PlanError(
                    f"{part!r} is not a part of the tree {to_text(shape)}; its parts are {', '.join(map(repr, parts))}"
                )
    tree = _Tree(plan, shape, methods, read_by(plan.graph.aliases, reads))
    for part in parts:
        own = (
            check_costs(costs.get(part, Costs()), f"costs of {to_text(part)}") if isinstance(costs, Mapping) else costs
        )
        method = methods.get(part, "hash") if isinstance(methods, Mapping) else methods
        if method not in METHODS:
            raise PlanError(f"methods: {method!r}{nearest(str(method), METHODS)}; must be one of {', '.join(METHODS)}")
        tree.joins[part] = TreeNode(name if part == shape else to_text(part), part, tree, own, method)
    return tuple(tree.joins.values())


def _pairs(shape: Any) -> Shape:
    """Return a shape as pairs of names or of other pairs. Lists are accepted."""
    if isinstance(shape, str):
        return shape
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise PlanError(f"shape: {shape!r} is not a pair; write a tree of pairs such as (('a', 'b'), 'c')")
    return _pairs(shape[0]), _pairs(shape[1])


@dataclass
class _Tree:
    """The state that the joins of a tree share."""

    plan: JoinPlan
    shape: Shape
    methods: Mapping[Shape, str] | str
    reads: Mapping[str, str]
    joins: dict[Shape, TreeNode] = field(default_factory=dict)
    schemas: dict[str, pa.Schema] = field(default_factory=dict)

    def leaf(self, alias: str) -> tuple[TreeNode, str]:
        """Return the join at which a stream enters, and the side."""
        for part, join in self.joins.items():
            if alias in part:
                return join, LEFT if part[0] == alias else RIGHT
        raise AssertionError(alias)

    def bind(self) -> None:
        """Create the loop of the tree, when all columns are known."""
        binding, options, rng = bind(self.plan, self.schemas), JoinOptions("static"), np.random.default_rng(0)
        self.loop = make_join_loop(binding, options, rng=rng, shape=self.shape, methods=self.methods)
        self.mark = LONG_AGO
        for part, node in zip(self.joins, self.loop.nodes, strict=True):
            assert node.streams == streams_of(part), "both go from the leaves up"

    def moved(self) -> Iterator[Delivery]:
        """End a round. If the watermark has advanced, return it as a mark for every leaf."""
        marks = self.loop.watermarks
        marks.end_round()
        if marks.query is not None and marks.query > self.mark:
            self.mark = marks.query
            for alias in self.plan.graph.aliases:
                join, side = self.leaf(alias)
                yield Delivery(join, side, mark=self.mark)


class TreeNode(Operator):
    """One join of a tree, as a simulated operator."""

    def __init__(self, name: str, part: tuple[Shape, ...], tree: _Tree, costs: Costs, method: str) -> None:
        self.name, self._tree, self._part, self._method = name, tree, part, method
        self._alias = {side: below for side, below in zip((LEFT, RIGHT), part, strict=True) if isinstance(below, str)}
        self.reads = {
            side: tree.reads[below] if isinstance(below, str) else tree.joins[below].name
            for side, below in zip((LEFT, RIGHT), part, strict=True)
        }
        if isinstance(costs.probe, Mapping):
            raise PlanError("probe: a join of two streams has one table to probe; give costs by part of the tree")
        words = (
            (costs.move, costs.handling, costs.hash, costs.probe) if method == "hash" else (costs.move, costs.handling)
        )
        self._arrival = [price(cost) for cost in words]
        self._comp = price(costs.comp if method == "loops" else 0)
        self._result = price(costs.result)

    def __repr__(self) -> str:
        left, right = self.reads.values()
        return f"TreeNode({self.name!r}, {to_text(self._part)}, reads {left}, {right}, by {self._method})"

    def set_up(self, schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator) -> pa.Schema:
        """Start from scratch. The last join of the tree sets up the shared state."""
        assert clock is not None, "costs move a clock"
        self.clock = clock
        self._marks = {LEFT: LONG_AGO, RIGHT: LONG_AGO}
        for side, alias in self._alias.items():
            self._tree.schemas[alias] = schemas[side]
        if not self._is_root:
            return pa.schema([])
        self._tree.bind()
        output: pa.Schema = self._tree.loop.binding.output
        return output

    @property
    def _is_root(self) -> bool:
        return self._part == self._tree.shape

    @property
    def node(self) -> JoinNode:
        """The node of the loop that does the join."""
        return self._tree.loop.nodes[list(self._tree.joins).index(self._part)]

    def entering(self, port: str, rows: Any, mark: int | None) -> Iterable[Delivery]:
        """Admit the rows of a stream, or record its end, when they arrive."""
        alias = self._alias.get(port)
        if alias is None:
            yield Delivery(self, port, rows, mark)
            return
        if mark is not None:
            if mark != END:
                return
            self._tree.loop.watermarks.ended(alias)
        else:
            part = self._tree.loop.enter(alias, rows)
            if part is not None:
                yield Delivery(self, port, part)
        yield from self._tree.moved()

    def serve(self, port: str, rows: PartialRows) -> Iterator[Any]:
        """Return pairs; at the root, results."""
        count, node = size(rows), self.node
        for cost in self._arrival:
            self.clock.advance(count * cost(self.clock()))
        other = node.stores[RIGHT if port == LEFT else LEFT]
        self.clock.advance(count * len(other) * self._comp(self.clock()))
        for part in node.process(port, rows):
            out = self._tree.loop.leave(part) if self._is_root else part
            yield from one_by_one(out, self._result, self.clock)

    def mark(self, port: str, mark: int) -> AfterMark:
        """Remove rows that can have no more partners."""
        before = min(self._marks.values())
        self._marks[port] = max(mark, self._marks[port])
        now = min(self._marks.values())
        if now == before:
            return AfterMark()
        self.node.expire(now)
        return AfterMark(now if not self._is_root or now == END else None)

    def windows(self) -> tuple[int, int]:
        """Return the rows and bytes of the windows on both sides."""
        stores = self.node.stores.values()
        return sum(map(len, stores)), sum(store.nbytes for store in stores)

    def late(self) -> int:
        """Return the number of late rows of the streams that enter here."""
        return sum(self._tree.loop.counts[alias].stream.late for alias in self._alias.values())
