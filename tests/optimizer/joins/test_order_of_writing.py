"""The plan of a join does not depend on the order in which streams, equalities, their sides and statistics are
written: for all objectives and searches, in `tw.join` and in SQL, before the start, in charts and while a join runs."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from thalweg import objective
from thalweg.cost.join_bytes import plan_bytes
from thalweg.cost.join_work import NodeTimes
from thalweg.optimizer.charts.plan_chart import best_plan
from thalweg.optimizer.joins.search_plans import cheapest_plan
from thalweg.plan.joins.shape import of_text, sorted_text
from thalweg.plan.objective import LEAST_CPU, Objective

OBJECTIVES: tuple[Objective | None, ...] = (
    None, objective.most_results(by="10 seconds"), objective.first_results(100), objective.steady_rate(),
    objective.least_memory(), objective.balance(rate=0.4, memory=0.6),
    objective.most_results(by="10 seconds", search="local_rate_maximization"),
    objective.first_results(100, search="local_time_minimization"),
)  # fmt: skip
ROWS = pa.table({"ts": pa.array([datetime(2026, 1, 1)], pa.timestamp("us")), **{f"k{n}": [1] for n in range(6)}})
End = tuple[str, str]


@dataclass(frozen=True)
class Drawn:
    """A join: its equalities, and what is known of its streams and of the partners of both sides of each equality."""

    equalities: tuple[tuple[End, End], ...]
    streams: dict[str, Any]
    partners: dict[tuple[End, End], tuple[Any, Any]]

    def written(self, seed: int) -> tuple[list[str], list[str], dict[str, Any]]:
        """The streams, the equalities and the statistics, in an order of this seed."""
        rng = random.Random(seed)
        names, given = list(self.streams), list(self.equalities)
        rng.shuffle(names)
        rng.shuffle(given)
        sides = [pair[:: rng.choice([1, -1])] for pair in given]
        pairs = [(*pair[::turn], both[::turn]) for pair, both in self.partners.items() if (turn := rng.choice([1, -1]))]
        rng.shuffle(pairs)
        partners = {f"{_of(one)} = {_of(other)}": both for one, other, both in pairs}
        parts = [*((name, self.streams[name]) for name in names), ("partners", partners)]
        rng.shuffle(parts)
        return names, [f"{_of(one)} = {_of(other)}" for one, other in sides], dict(parts)


def _of(end: End) -> str:
    return ".".join(end)


FEW = st.sampled_from([1.0, 2.0, 100.0, 3_000.0, 200_000.0])
"""Values of which several streams have the same, so that plans are equally good."""


def _exact(value: float) -> dict[str, float]:
    return {"low": value, "high": value}


def _middle(value: Any) -> float:
    return float((value["low"] * value["high"]) ** 0.5) if isinstance(value, dict) else float(value)


@st.composite
def joins(draw: st.DrawFn) -> Drawn:
    """A tree of equalities of three to five streams, sometimes six, and some more; of some, a column is the same. The
    partners of some are known in both directions, which may contradict each other."""
    n = draw(st.sampled_from([3, 3, 3, 3, 3, 3, 4, 4, 4, 5, 6]))
    names = [f"s{i}" for i in draw(st.permutations(range(n)))]
    pairs = [(draw(st.integers(0, i - 1)), i) for i in range(1, n)]
    pairs += draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1]),
                           max_size=2))  # fmt: skip
    columns = [draw(st.sampled_from([f"k{i % 6}", "k0"])) for i in range(len(pairs))]
    equalities = {
        frozenset(ends): ends for (a, b), column in zip(pairs, columns, strict=True)
        if (ends := ((names[a], column), (names[b], column)))
    }  # fmt: skip
    numbers: st.SearchStrategy[Any] = st.one_of(FEW, FEW, FEW.map(lambda low: {"low": low, "high": 20 * low}))
    known: st.SearchStrategy[Any] = st.sampled_from([0.01, 1.0, 1.0, 30.0, {"low": 0.1, "high": 9.0}])
    if draw(st.booleans()):  # exact numbers, so that plans can be equal to the last digit
        numbers, known = FEW.map(_exact), st.sampled_from([0.01, 1.0, 1.0, 30.0]).map(_exact)
    streams = {name: {"rows_per_second": draw(numbers)} for name in names}
    partners = {}
    for ends in equalities.values():
        found = draw(known)
        rate, other_rate = (_middle(streams[alias]["rows_per_second"]) for alias, _ in ends)
        back = _middle(found) * rate / other_rate * draw(st.sampled_from([0.9, 1.0, 1.3, 50.0]))
        partners[ends] = (found, draw(st.sampled_from([None, None, back, {"low": back / 2, "high": 2 * back}])))
    return Drawn(tuple(equalities.values()), streams, partners)


def as_sorted(text: str) -> str:
    """Every plan in a text with sorted inputs. Lines are joined, because they break where a plan has a blank."""
    text = " ".join(text.split())
    level = r"\(s\d(?: s\d)+\)"
    for _ in range(5):  # the inner plans first
        level = rf"\((?:s\d|{level})(?: (?:s\d|{level}))+\)"
    return re.sub(level, lambda found: sorted_text(of_text(found[0])), text)


def compared(explanation: tw.Explanation) -> str:
    return "\n".join(str(each) for each in explanation.paragraphs if each.title.startswith("Plans compared"))


def of_join(drawn: Drawn, seed: int, wanted: Objective | None) -> tw.Join:
    _, equalities, statistics = drawn.written(seed)
    return tw.join(" AND ".join(equalities), "10 seconds", "ts", objective=wanted, statistics=statistics)


def of_sql(drawn: Drawn, seed: int, wanted: Objective | None) -> tw.ContinuousQuery:
    names, equalities, statistics = drawn.written(seed)
    s = tw.session()
    for name in names:
        s.stream(name, ROWS, time="ts")
    text = f"SELECT {min(names)}.k0 FROM {', '.join(names)} WHERE {' AND '.join(equalities)} WINDOW 10 SECONDS"
    return s.query(text, objective=wanted, statistics=statistics)


@examples(50, long=1_000)
@given(drawn=joins(), wanted=st.sampled_from(OBJECTIVES), seed=st.integers(0, 2**32), in_sql=st.booleans())
def test_no_choice_of_a_plan_depends_on_the_order_of_writing(
    drawn: Drawn, wanted: Objective | None, seed: int, in_sql: bool
) -> None:
    make = of_sql if in_sql else of_join

    def said(seed: int) -> str:
        try:
            return as_sorted(compared(make(drawn, seed, wanted).explain()))
        except tw.PlanError as error:
            if "give None for one direction" not in str(error):
                raise
            return "refused"

    assert said(seed) == said(seed + 1)


@examples(15, long=500)
@given(drawn=joins(), wanted=st.sampled_from(OBJECTIVES[3:6]), seed=st.integers(0, 2**32), rate=FEW)
def test_no_search_at_one_point_depends_on_the_order_of_writing(
    drawn: Drawn, wanted: Objective, seed: int, rate: float
) -> None:
    """What charts look up, and what a running join searches for numbers that it has counted."""

    def found(seed: int) -> list[str]:
        try:
            estimates = of_join(drawn, seed, None)._estimates
        except tw.PlanError:
            return ["refused"]
        numbers = estimates.numbers(estimates.expected())
        graph, times = estimates.graph, NodeTimes(numbers)
        cheapest, _ = cheapest_plan(graph, times, lambda shape: float(plan_bytes(shape, numbers)))
        if len(graph.aliases) == 6:  # too many plans for a chart
            return [sorted_text(cheapest)]
        best = [
            best_plan(estimates, {min(drawn.streams): rate}, each, 1e6 * rate) for each in (LEAST_CPU, wanted)
        ]  # fmt: skip
        return [*map(sorted_text, (cheapest, *best))]

    assert found(seed) == found(seed + 1)
