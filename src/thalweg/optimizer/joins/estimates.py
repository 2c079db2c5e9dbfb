"""What is known about a join, as estimates for the costs of its plans.

Answers: for every stream its rate and the rows in its window, for every pair of neighbors the share of pairs of rows
that join, each with its origin and uncertainty; and draws from them, which costs are computed for.
Guarantee: the estimates and the draws do not depend on the order in which streams, equalities and their sides are
written.

A number that is declared without an interval is taken to be within a factor of `DECLARED` with a probability of 90 %,
and an assumed one within a factor of `ASSUMED`.

The partners of two streams are known in up to two directions: how many rows of b a row of a finds, and the reverse.
Divided by the rows in the window that is searched, each is a measurement of the share of pairs that join. The mean of
their logarithms is used, weighted by the inverse of their variances, to which partners and rows contribute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import reduce
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from thalweg.cost.join_numbers import JoinNumbers, Number
from thalweg.errors import PlanError
from thalweg.formatting import few_digits
from thalweg.plan.estimate import Estimate, weakest
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.plan.joins.window import Length, length_of
from thalweg.stats import DistinctValues, Knowledge, Partners, Rows, RowsPerSecond, SourceKept

DECLARED, ASSUMED = 1.5, 10.0
"""By how many times a number without an interval may be larger or smaller, with a probability of 90 %."""
SAME = 0.01
"""Numbers without uncertainty do not contradict each other if they differ by at most this share."""
DRAWS = 32
"""How many values are drawn from what is uncertain, besides the expected ones."""
DEVIATIONS = NormalDist().inv_cdf(0.95)
"""Between so many standard deviations below and above its mean, a normal quantity is with a probability of 90 %."""
Distinct = Callable[[str, str], Estimate | None]
"""Returns the number of distinct values in a column, by source and column."""
Quantity = tuple[str, ...]
"""The name of a number: ("rate", a), ("held", a) for a table or a window of so many rows, ("share", a, b)."""


@dataclass(frozen=True)
class JoinEstimates:
    """The estimates of a join. A quantity that is missing is unknown."""

    graph: JoinGraph
    streams: tuple[str, ...]
    quantities: Mapping[Quantity, Estimate]
    seconds: Mapping[str, float]
    """How long a row stays in the window of its stream: the window and the lateness. Tables and windows of so many rows
    are missing: the number of their rows is a quantity."""
    columns: Mapping[str, int] = field(default_factory=dict)
    widths: Mapping[str, float] = field(default_factory=dict)
    buckets: int = 1
    spread: frozenset[str] = frozenset()
    """The streams whose rows are spread over the buckets. All rows of the other ones are in each bucket."""

    @property
    def unknown(self) -> tuple[str, ...]:
        """What is unknown, as text: streams without a rate, and pairs without partners."""
        missing = [f"the rate of {a}" for a in self.streams if ("rate", a) not in self.quantities]
        missing += [
            f"the rows of {a}" for a in self.graph.aliases
            if a not in self.seconds and ("held", a) not in self.quantities
        ]  # fmt: skip
        known = [pair for pair in neighbors(self.graph) if ("share", *pair) in self.quantities]
        pairs = [pair for pair in needed_pairs(self.graph, known) if pair not in known]
        return (*missing, *(f"the partners of {a} in {b}" for a, b in pairs))

    def numbers(self, values: Mapping[Quantity, Number], seconds: Number | None = None) -> JoinNumbers:
        """Return the numbers of one bucket for these values of the quantities, which are those of all buckets together.
        `seconds`: how long the streams have run, if windows may not be full yet."""
        rates: dict[str, Number] = {}
        held: dict[str, Number] = {}
        for alias in self.graph.aliases:
            rates[alias] = values["rate", alias] if alias in self.streams else 0.0
            if alias in self.spread:
                rates[alias] = rates[alias] / self.buckets
            if alias in self.seconds:
                stay: Number = self.seconds[alias]
                held[alias] = rates[alias] * (stay if seconds is None else np.minimum(stay, seconds))
            else:
                held[alias] = values["held", alias] / (self.buckets if alias in self.spread else 1)
        shares = {pair: values["share", *pair] for pair in neighbors(self.graph) if ("share", *pair) in values}
        if self.buckets > 1:  # rows of two spread streams that join are in the same bucket
            for pair in shares:
                if self.spread.issuperset(pair):
                    shares[pair] = np.minimum(shares[pair] * self.buckets, 1.0)
        return JoinNumbers(self.graph, rates, held, shares, self.columns, self.widths)

    def expected(self) -> dict[Quantity, float]:
        """Return the expected value of each quantity."""
        return {quantity: _least(quantity, estimate.value) for quantity, estimate in self.quantities.items()}

    def drawn(self, seed: int = 0) -> dict[Quantity, NDArray[np.float64]]:
        """Return arrays of values of each quantity: the expected ones, and `DRAWS` drawn at random if anything is
        uncertain."""
        rng = np.random.default_rng(seed)
        drawn = {}
        deviations = {quantity: log_deviation(estimate) for quantity, estimate in self.quantities.items()}
        draws = DRAWS if any(deviations.values()) else 0
        for quantity in sorted(self.quantities, key=lambda each: (each[0], sorted(each[1:]))):
            estimate, deviation = self.quantities[quantity], deviations[quantity]
            factors = np.exp(deviation * rng.standard_normal(draws) - deviation**2 / 2)
            values = _least(quantity, estimate.value) * np.concatenate([[1.0], factors])
            drawn[quantity] = np.minimum(values, 1.0) if quantity[0] == "share" else values
        return drawn

    def with_columns(self, widths: Mapping[str, Mapping[str, float]]) -> JoinEstimates:
        """Return a copy for windows of known columns: the bytes of each, by source and column."""
        counts = {alias: len(columns) for alias, columns in widths.items()}
        return replace(self, columns=counts, widths={alias: sum(each.values()) for alias, each in widths.items()})

    def in_buckets(self, spread_by: Partitioning, buckets: int) -> JoinEstimates:
        """Return a copy for rows that are spread over buckets."""
        return replace(self, buckets=buckets, spread=frozenset(spread_by.columns))

    def with_quantity(self, quantity: Quantity, estimate: Estimate) -> JoinEstimates:
        """Return a copy in which one quantity is another."""
        return replace(self, quantities={**self.quantities, quantity: estimate})


def log_deviation(estimate: Estimate) -> float:
    """Return the standard deviation of the logarithm of a quantity, which is assumed to be log-normal."""
    if estimate.variance is None:
        return math.log(ASSUMED if estimate.origin == "assumed" else DECLARED) / DEVIATIONS
    if not estimate.variance or estimate.value <= 0:
        return 0.0
    return math.sqrt(math.log1p(estimate.variance / estimate.value**2))


def join_estimates(
    plan: JoinPlan,
    known: Knowledge,
    *,
    relations: Mapping[str, str] | None = None,
) -> JoinEstimates:
    """Return the estimates of a join. `relations`: the names of the aliases in `known`, if they differ."""
    graph, relations = plan.graph, relations or {}
    late = max((in_seconds(length) for length in plan.lateness.values()), default=0.0)
    quantities: dict[Quantity, Estimate] = {}
    seconds: dict[str, float] = {}
    held: dict[str, Estimate] = {}
    for alias in graph.aliases:
        relation = relations.get(alias, alias)
        share = known.about(SourceKept(alias))
        if alias in plan.times:  # rows stay until the watermark of the query passes, which follows the latest stream
            stay = in_seconds(plan.windows[alias]) + late if alias in plan.windows else None
            rate = known.about(RowsPerSecond(relation))
            if stay is None:
                continue
            seconds[alias] = stay
            if rate is not None:
                quantities["rate", alias] = rate if share is None else rate * share
                held[alias] = quantities["rate", alias] * stay
        else:
            rows = known.about(Rows(relation))
            if rows is not None:
                held[alias] = quantities["held", alias] = rows if share is None else rows * share

    def distinct(alias: str, column: str) -> Estimate | None:
        return known.about(DistinctValues(relations.get(alias, alias), column))

    for pair in neighbors(graph):
        estimate = pair_share(pair, graph, held, known, distinct)
        if estimate is not None:
            quantities["share", *pair] = estimate
    return JoinEstimates(graph, plan.streams, quantities, seconds)


def neighbors(graph: JoinGraph) -> list[tuple[str, str]]:
    """Return the pairs of streams that share a class, in the order of the graph."""
    aliases = graph.aliases
    return [(a, b) for n, a in enumerate(aliases) for b in aliases[n + 1 :] if graph.shared(a, b)]


def needed_pairs(graph: JoinGraph, known: Container[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs whose shares must be known: all but those that others of the same class imply. Known ones are
    preferred, then those whose names come first.

    >>> needed_pairs(JoinGraph.of([("a", "k", "b", "k"), ("a", "k", "c", "k")]), known=[("b", "c")])
    [('b', 'c'), ('a', 'b')]
    """
    needed: dict[tuple[str, str], None] = {}
    for members in graph.column_of:
        joined = {alias: frozenset([alias]) for alias in members}
        pairs = [pair for pair in neighbors(graph) if all(alias in members for alias in pair)]
        for one, other in sorted(pairs, key=lambda pair: (pair not in known, sorted(pair))):
            if other not in joined[one]:
                needed[one, other] = None
                both = joined[one] | joined[other]
                joined.update(dict.fromkeys(both, both))
    return list(needed)


def in_seconds(length: Length) -> float:
    """Return a length of time in seconds. A whole number is taken as it is: its unit is that of the times."""
    return length_of(length, "us") / 1e6 if isinstance(length, str | timedelta | np.timedelta64) else float(length)


def pair_share(
    pair: tuple[str, str], graph: JoinGraph, held: Mapping[str, Estimate], known: Knowledge, distinct: Distinct
) -> Estimate | None:
    """Return the share of pairs of rows of two sources that join: from partners, else from distinct values, the least
    of several columns. `held`: the rows in their windows. Raises PlanError if declared partners contradict each
    other."""
    found = []
    for c in graph.shared(*pair):
        measured = [
            _Measured(of, among, partners, held[among])
            for of, among in (sorted(pair), sorted(pair, reverse=True))
            if among in held and held[among].value > 0
            if (partners := known.about(Partners((of, graph.column_of[c][of]), (among, graph.column_of[c][among]))))
        ]
        if len(measured) == 2:
            _refuse_contradiction(*measured)
        if measured:
            found.append(_together(measured))
    if not found:
        for c in graph.shared(*pair):
            columns = [(alias, column) for alias in pair for column in _columns(alias, c, graph)]
            values = [each for end in columns if (each := distinct(*end)) is not None]
            if values:
                found.append(1 / max(values, key=lambda each: each.value))
    return min(found, key=lambda each: (each.value, log_deviation(each)), default=None)


def _columns(alias: str, c: int, graph: JoinGraph) -> list[str]:
    """Return the columns of a source in a class."""
    first = graph.column_of[c][alias]
    return [first, *(second for name, one, second in graph.within if (name, one) == (alias, first))]


@dataclass(frozen=True)
class _Measured:
    """The partners of a row in one direction, as a measurement of the share of pairs that join."""

    of: str
    among: str
    partners: Estimate
    rows: Estimate
    """The rows in the window of `among`."""

    @property
    def share(self) -> Estimate:
        return (self.partners / self.rows).within(0, 1)

    @property
    def deviation(self) -> float:
        """The standard deviation of the logarithm of the share."""
        return math.hypot(log_deviation(self.partners), log_deviation(self.rows))


def _together(measured: Sequence[_Measured]) -> Estimate:
    """Return the mean of measurements of one share, weighted by the inverse of their variances."""
    shares = [each.share for each in measured]
    if len(shares) == 1:
        return shares[0]
    if not all(each.value for each in shares):  # zero has no logarithm
        return reduce(Estimate.pooled, shares)
    weights = [1 / max(each.deviation, 1e-9) ** 2 for each in measured]
    value = math.exp(np.average([math.log(each.value) for each in shares], weights=weights))
    variance = value * value * math.expm1(1 / sum(weights))
    return Estimate(min(value, 1.0), weakest(each.origin for each in shares), variance, 0.0, 1.0)


def _refuse_contradiction(one: _Measured, other: _Measured) -> None:
    """Refuse partners whose 90 % intervals do not overlap if all numbers are declared or assumed. Numbers that were
    counted may differ: rows that arrive before a window has filled find fewer partners."""
    found, declared = one.partners.value * other.rows.value, other.partners.value * one.rows.value
    numbers = (one.partners, one.rows, other.partners, other.rows)
    if found == declared or any(each.origin not in ("declared", "assumed") for each in numbers):
        return
    apart = abs(math.log(found / declared)) if found and declared else math.inf
    if apart <= DEVIATIONS * (one.deviation + other.deviation) + SAME:
        return
    raise PlanError(
        f"statistics: a row of {one.of} finds {few_digits(one.partners.value)} of {few_digits(one.rows.value)} rows of "
        f"{one.among}, so a row of {one.among} finds about {few_digits(found / one.rows.value)} of "
        f"{few_digits(other.rows.value)} rows of {one.of}, but {few_digits(other.partners.value)} are declared; "
        "correct the partners or a rate, or give None for one direction"
    )


def _least(quantity: Quantity, value: float) -> float:
    """Return a value that costs can be computed from: nothing that arrives or is held is exactly 0."""
    return max(value, 1e-12) if quantity[0] != "share" else min(max(value, 0.0), 1.0)
