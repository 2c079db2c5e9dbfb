"""Output rates of operators as the rate-based paper prints them, and the constant rate that its heuristics assume.

Answers: the output rate of projections, selections, joins and trees of joins at a time t (equation 2 for each join,
with the rate of an inner join at t as its input), and the paper's approximation of an integral until t by the rate at
t/2 (section 4.2.1).

Only the heuristics of the paper use them, because they count too few results: a join of n streams that keeps up has
f r1 ... rn t^n of them, of which the rate at t/2 finds 1/2^(n-1).

Cost: one evaluation per join and time.

>>> streams = {"a": Arriving(10.0), "b": Arriving(4.0), "c": Arriving(2.0)}
>>> tree = JoinCosts((("a", "b"), "c"), {("a", "b"): 0.1, ("a", "c"): 0.5}, Costs(move="1 ms"))
>>> exact = 0.1 * 0.5 * 10 * 4 * 2 * 6**3
>>> round(halved_rate(tree, tree.shape, streams, 6.0) * 6.0 / exact, 3)
0.25

Reference: Viglas, Naughton: Rate-Based Query Optimization for Streaming Information Sources. SIGMOD 2002, sections
3 and 4.2.1, equations 1 and 2, tables 1 to 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from thalweg.cost.operator_costs import Cost, Costs
from thalweg.cost.ticks import UNIT, ticks
from thalweg.errors import PlanError
from thalweg.plan.joins.shape import Shape, streams_of, to_text


@dataclass(frozen=True, slots=True)
class Filtering:
    """A selection that the rows of one stream pass, with its own queue and server."""

    cost: Cost
    kept: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.kept <= 1.0:
            raise PlanError(f"kept={self.kept!r}: the share of rows that a selection keeps must be between 0 and 1")


@dataclass(frozen=True, slots=True)
class Arriving:
    """What is known of the rows of a stream: how many arrive per time unit, how many in all, how long each may have
    partners, and the selections that they pass first."""

    rate: float
    rows: float = math.inf
    window: float = math.inf
    filters: tuple[Filtering, ...] = ()

    def __post_init__(self) -> None:
        if not 0.0 < self.rate < math.inf:
            raise PlanError(f"rate={self.rate!r}: the number of rows per time unit must be above 0 and finite")
        if not self.rows >= 0.0:
            raise PlanError(f"rows={self.rows!r}: the number of rows must be 0 or more")
        if not self.window >= 0.0:
            raise PlanError(f"window={self.window!r}: the length of a window must be 0 or more")

    @property
    def kept(self) -> float:
        """The share of rows that pass all selections."""
        return math.prod(filtering.kept for filtering in self.filters)


@dataclass(frozen=True)
class JoinCosts:
    """A tree of joins with what its joins select and cost.

    `selectivities`: for pairs of streams, the share of pairs of rows that join; pairs that are not listed are not
    compared (1). `classes`: sets of streams that are joined by one key, such as a, b and c in `a.k = b.k AND a.k =
    c.k`; list all of their pairs. Two equalities of three streams imply the third, so it selects nothing more. `costs`
    and `methods` ("hash" or "loops"): for all joins, or by part of the tree.
    """

    shape: Shape
    selectivities: Mapping[tuple[str, str], float]
    costs: Costs | Mapping[Shape, Costs] = field(default_factory=Costs)
    methods: Mapping[Shape, str] | str = "hash"
    classes: tuple[frozenset[str], ...] = ()

    def __post_init__(self) -> None:
        for pair, share in self.selectivities.items():
            if not 0.0 <= share <= 1.0:
                raise PlanError(f"selectivities: {pair} is {share!r}; the share of pairs must be between 0 and 1")
            for alias in pair:
                if alias not in streams_of(self.shape):
                    raise PlanError(f"selectivities: {alias!r} of {pair} is not in the tree {to_text(self.shape)}")

    def selectivity(self, aliases: tuple[str, ...]) -> float:
        """Return the share of the combinations of one row of each stream that join.

        >>> pairs = {("a", "b"): 0.1, ("a", "c"): 0.1, ("b", "c"): 0.1}
        >>> JoinCosts(("a", ("b", "c")), pairs, classes=(frozenset("abc"),)).selectivity(("a", "b", "c"))
        0.010000000000000002
        """
        share, joined = 1.0, {alias: frozenset([alias]) for alias in aliases}
        for pair, one in sorted(self.selectivities.items(), key=lambda item: item[1]):
            if not joined.keys() >= set(pair):
                continue
            if any(members.issuperset(pair) for members in self.classes):
                if pair[1] in joined[pair[0]]:
                    continue  # implied by the pairs before it
                both = joined[pair[0]] | joined[pair[1]]
                joined.update(dict.fromkeys(both, both))
            share *= one
        return share

    def of(self, part: Shape) -> NodeCosts:
        """Return what the join at one part of the tree costs."""
        costs = self.costs if isinstance(self.costs, Costs) else self.costs.get(part, Costs())
        method = self.methods if isinstance(self.methods, str) else self.methods.get(part, "hash")
        each = (
            (costs.move, costs.handling, costs.hash, costs.probe) if method == "hash" else (costs.move, costs.handling)
        )
        comp = fixed_cost(costs.comp, "comp") if method == "loops" else 0.0
        return NodeCosts(sum(fixed_cost(cost, "costs") for cost in each), comp, fixed_cost(costs.result, "result"))


@dataclass(frozen=True, slots=True)
class NodeCosts:
    """The costs of one join in time units: per arriving row, per row of the other input, and per result."""

    arrival: float
    comp: float
    result: float


def fixed_cost(cost: object, what: str) -> float:
    """Return a cost in time units. Costs that drift, and costs by name, have no place in a formula."""
    if callable(cost) or isinstance(cost, Mapping):
        raise PlanError(f"{what}={cost!r}: the models need one cost that does not change; give a number or text")
    return ticks(cost, what) / UNIT  # type: ignore[arg-type]


def projection_rate(rate: float, cost: float) -> float:
    """Return the output rate of a projection (section 3.1): that of its input, unless it cannot keep up.

    >>> projection_rate(500, 0.001), projection_rate(500, 0.02)
    (500, 50.0)
    """
    return rate if rate * cost <= 1.0 else 1.0 / cost


def selection_rate(rate: float, cost: float, kept: float) -> float:
    """Return the output rate of a selection (section 3.2).

    >>> expensive, free = (0.02, 0.1), (0.0, 0.1)  # figure 1: 50 rows per second, and as many as arrive
    >>> selection_rate(selection_rate(500, *expensive), *free), selection_rate(selection_rate(500, *free), *expensive)
    (0.5, 5.0)
    """
    return kept * projection_rate(rate, cost)


def join_rate(left: float, right: float, selectivity: float, costs: NodeCosts, t: float) -> float:
    """Return the output rate of a join at time t (equation 2 and table 3). Products have a selectivity of 1.

    >>> join_rate(10, 20, 0.5, NodeCosts(0.1, 0, 0), 4)  # 30 rows per time unit take 3 time units
    133.33333333333334
    """
    left_cost = costs.arrival + right * t * costs.comp
    right_cost = costs.arrival + left * t * costs.comp
    return selectivity * left * right * t / max(left * left_cost + right * right_cost, 1.0)


def halved_rate(tree: JoinCosts, part: Shape, streams: Mapping[str, Arriving], until: float) -> float:
    """Return the constant rate that local rate maximization assumes for one part of a tree (figure 4)."""
    return rate_at(tree, part, streams, until / 2.0)


def rate_at(tree: JoinCosts, part: Shape, streams: Mapping[str, Arriving], at: float) -> float:
    """Return the output rate of one part of a tree at a time, as printed."""
    if isinstance(part, str):
        rate = streams[part].rate
        for filtering in streams[part].filters:
            rate = selection_rate(rate, fixed_cost(filtering.cost, "cost"), filtering.kept)
        return rate
    left, right = (rate_at(tree, below, streams, at) for below in part)
    within = math.prod(tree.selectivity(streams_of(below)) for below in part)
    between = tree.selectivity(streams_of(part)) / within if within else 0.0
    return join_rate(left, right, between, tree.of(part), at)
