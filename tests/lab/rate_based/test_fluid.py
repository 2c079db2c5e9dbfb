"""The fluid model against the simulator: results by several times, within 5 % of the mean of 20 seeds."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.cost.operator_costs import Costs
from thalweg.cost.rate import Arriving, Filtering, JoinCosts
from thalweg.errors import PlanError
from thalweg.lab.rate_based.equations_2_3 import halved_results, printed_results
from thalweg.lab.rate_based.fluid import results_by, selected_by
from thalweg.plan.joins.shape import Shape, streams_of
from thalweg.simulation import Selection, Source, poisson, simulate, tree_join

SEEDS = 20
HASH = Costs(move="1 ms", hash="1 ms", probe="1 ms")


@dataclass(frozen=True)
class Case:
    """A join of streams over one key, `keys` different values each."""

    shape: Shape
    rates: tuple[float, ...]
    keys: int
    until: float
    costs: Costs = HASH
    rows: tuple[float, ...] = ()
    windows: tuple[float, ...] = ()
    methods: str = "hash"
    filters: dict[str, Filtering] = field(default_factory=dict)
    """At most one selection per stream."""

    @property
    def aliases(self) -> tuple[str, ...]:
        return streams_of(self.shape)

    def streams(self) -> dict[str, Arriving]:
        known = {}
        for n, alias in enumerate(self.aliases):
            rows = self.rows[n] if self.rows else np.inf
            window = self.windows[n] if self.windows else np.inf
            filters = (self.filters[alias],) if alias in self.filters else ()
            known[alias] = Arriving(self.rates[n], rows, window, filters)
        return known

    def tree(self) -> JoinCosts:
        pairs = dict.fromkeys(itertools.combinations(self.aliases, 2), 1.0 / self.keys)
        return JoinCosts(self.shape, pairs, self.costs, self.methods, classes=(frozenset(self.aliases),))

    def simulated(self, seed: int, times: list[float]) -> list[int]:
        rng = np.random.default_rng(seed)
        sources, operators, reads = {}, [], {}
        for n, alias in enumerate(self.aliases):
            count = int(min(self.rows[n] if self.rows else np.inf, 3 * self.rates[n] * self.until))
            table = pa.table({"k": rng.integers(0, self.keys, count), "x": rng.random(count)})
            sources[alias] = Source(table, poisson(self.rates[n]), stamp="t")
            reads[alias] = alias
            if alias in self.filters:
                kept = self.filters[alias].kept
                asked = tw.predicate(lambda x, kept=kept: x < kept, "x", name=f"of {alias}")
                operators.append(
                    Selection(f"{alias} kept", alias, asked, costs=Costs(predicate=self.filters[alias].cost))
                )
                reads[alias] = f"{alias} kept"
        on = " AND ".join(f"{self.aliases[0]}.k = {other}.k" for other in self.aliases[1:])
        windows = dict(zip(self.aliases, self.windows or [10 * self.until] * len(self.aliases), strict=True))
        join = tree_join(
            "join", self.shape, on, windows, "t", costs=self.costs, methods=self.methods, reads=reads
        )  # fmt: skip
        trace = simulate(sources, [operators, join], until=self.until, seed=seed, keep=False)
        return [trace.count(time) for time in times]


TWO, THREE, FOUR = ("a", "b"), (("a", "b"), "c"), (("a", "b"), ("c", "d"))
CASES = {
    "two that keep up": Case(TWO, (160.0, 100.0), 40, 12.0),
    "two that do not": Case(TWO, (160.0, 240.0), 40, 8.0, Costs(move="2.5 ms", hash="2.5 ms", probe="2.5 ms")),
    "finite": Case(TWO, (240.0, 80.0), 40, 14.0, Costs(move="5 ms"), rows=(960, 640)),
    "windows": Case(TWO, (200.0, 120.0), 40, 12.0, windows=(2.0, 5.0)),
    "windows and overload": Case(TWO, (200.0, 120.0), 40, 12.0, Costs(move="5 ms"), windows=(2.0, 4.0)),
    "nested loops": Case(TWO, (120.0, 80.0), 40, 10.0, Costs(move="0.2 ms", comp="25 us"), methods="loops"),
    "expensive results": Case(TWO, (80.0, 80.0), 40, 8.0, Costs(move="0.2 ms", result="2.5 ms")),
    "three": Case(THREE, (80.0, 40.0, 60.0), 48, 8.0),
    "three, the lower join overloaded": Case(THREE, (160.0, 120.0, 40.0), 80, 6.0, Costs(move="6 ms")),
    "three in windows": Case(THREE, (120.0, 80.0, 48.0), 48, 10.0, windows=(2.0, 3.0, 4.0)),
    "three in windows, overloaded": Case(
        THREE, (160.0, 120.0, 48.0), 64, 10.0, Costs(move="5 ms"), windows=(2.0, 3.0, 4.0)
    ),
    "four, bushy": Case(FOUR, (48.0, 40.0, 32.0, 56.0), 48, 5.0, Costs(move="0.2 ms")),
    "a filter before the join": Case(TWO, (240.0, 80.0), 40, 10.0, filters={"a": Filtering("6 ms", 0.5)}),
}
SHORT = ("expensive results",)


@pytest.mark.parametrize(
    "name", [name if name in SHORT else pytest.param(name, marks=pytest.mark.long) for name in CASES]
)
def test_results_of_joins_by_several_times(name: str) -> None:
    case = CASES[name]
    times = [case.until / 2, case.until]
    found = np.mean([case.simulated(seed, times) for seed in range(SEEDS)], axis=0)
    assert results_by(case.tree(), case.streams(), times) == pytest.approx(found, rel=0.05)


@pytest.mark.parametrize("cost", [0.01, 0.04])
def test_rows_that_pass_selections(cost: float) -> None:
    rate, kept, until = 50.0, 0.3, 20.0
    counts = []
    for seed in range(SEEDS):
        table = pa.table({"x": np.random.default_rng(seed).random(int(2 * rate * until))})
        one = Selection("one", "rows", tw.predicate(lambda x: x < kept, "x", name="one"), costs=Costs(predicate=cost))
        counts.append(simulate({"rows": Source(table, poisson(rate))}, one, until=until, seed=seed, keep=False).count())
    stream = Arriving(rate, filters=(Filtering(cost, kept),))
    assert selected_by(stream, [until])[0] == pytest.approx(np.mean(counts), rel=0.05)


def test_figure_1_of_the_paper() -> None:
    """Half a row per second if the expensive selection comes first, and five if it comes last."""
    expensive, free = Filtering("20 ms", 0.1), Filtering(0, 0.1)
    for filters, rate in (((expensive, free), 0.5), ((free, expensive), 5.0)):
        by = selected_by(Arriving(500.0, filters=filters), [500.0, 1000.0])
        assert (by[1] - by[0]) / 500.0 == pytest.approx(rate, rel=1e-3)


@pytest.mark.parametrize(("shape", "n"), [(TWO, 2), (THREE, 3), ((THREE, "d"), 4)])
def test_how_much_the_printed_forms_miss(shape: Shape, n: int) -> None:
    """Streams that keep up: 1/n by equations 2 and 3, 1/2^(n-1) with half of the time."""
    streams = {alias: Arriving(rate) for alias, rate in zip("abcd"[:n], (3.0, 5.0, 2.0, 4.0), strict=False)}
    tree = JoinCosts(shape, {("a", other): 0.01 for other in "bcd"[: n - 1]})
    exact = results_by(tree, streams, [9.0])[0]
    assert exact == pytest.approx(np.prod([s.rate * 9.0 for s in streams.values()]) * 0.01 ** (n - 1))
    assert printed_results(tree, streams, 9.0) / exact == pytest.approx(1 / n, rel=1e-4)
    assert halved_results(tree, streams, 9.0) / exact == pytest.approx(1 / 2 ** (n - 1))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Arriving(0.0), r"rate=0.0: .* above 0"),
        (lambda: Arriving(float("nan")), r"rate=nan"),
        (lambda: Arriving(1.0, rows=-1), r"rows=-1"),
        (lambda: Filtering(1, 1.5), r"kept=1.5: .* between 0 and 1"),
        (lambda: JoinCosts(TWO, {("a", "c"): 0.1}), r"'c' of \('a', 'c'\) is not in the tree \(a b\)"),
        (lambda: JoinCosts(TWO, {("a", "b"): 2.0}), r"between 0 and 1"),
        (lambda: JoinCosts(TWO, {}, Costs(move=lambda now: 1.0)).of(TWO), r"give a number or text"),
    ],
)
def test_impossible_numbers_are_refused(make: object, says: str) -> None:
    assert callable(make)
    with pytest.raises(PlanError, match=says):
        make()
