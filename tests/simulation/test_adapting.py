"""Policies see declared costs: the order follows them when they change, and the answer stays the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.runtime.joins.oracle import rows
from thalweg.adapt import PolicyLike
from thalweg.simulation import Costs, MultiwayJoin, Selection, Source, poisson, regular, simulate

CHANGE = 60


def star(policy: PolicyLike) -> MultiwayJoin:
    """b and c drop equally many rows of a; first b is expensive, then c."""
    costs = Costs(probe={"b": lambda now: 0.004 if now < CHANGE else 0.0005,
                         "c": lambda now: 0.0005 if now < CHANGE else 0.004})  # fmt: skip
    return MultiwayJoin("join", "a.k = b.k AND a.k = c.k", "2 seconds", "t", costs=costs, policy=policy)


@pytest.fixture(scope="module")
def sources() -> dict[str, Source]:
    rng = np.random.default_rng(3)
    rates = {"a": 60, "b": 20, "c": 20}
    return {
        alias: Source(pa.table({"k": rng.integers(0, 100, rate * 2 * CHANGE)}), poisson(rate), stamp="t")
        for alias, rate in rates.items()
    }


LONG = [pytest.param(policy, marks=pytest.mark.long) for policy in ("sweep", "independent")]


@pytest.mark.parametrize("policy", ["a-greedy", *LONG])
def test_the_cheaper_probe_comes_first_also_when_that_changes(policy: str, sources: dict[str, Source]) -> None:
    trace = simulate(sources, star(tw.policy(policy, p=0.1)), until=2 * CHANGE)
    orders = [(change.time, change.order) for change in trace.reordered if change.port == "a"]
    before = [order for time, order in orders if time < CHANGE]
    assert before
    assert before[-1] == ("c", "b")
    assert orders[-1][1] == ("b", "c")
    assert orders[-1][0] > CHANGE
    written = simulate(sources, star("static"), until=2 * CHANGE)
    assert not written.reordered
    assert rows(trace.rows()) == rows(written.rows())
    assert trace.final["join"].busy < 0.85 * written.final["join"].busy


@pytest.mark.parametrize("policy", ["a-greedy(p=0.2)", "auto"])
def test_filters_follow_declared_costs_too(policy: str) -> None:
    table = pa.table({"n": np.random.default_rng(0).integers(0, 100, 6_000)})
    expensive, cheap = (
        tw.predicate(lambda n, name=name: n % 2 == 0, "n", name=name) for name in ("expensive", "cheap")
    )
    costs = Costs(predicate={"expensive": "9 ms", "cheap": "1 ms"})
    trace = simulate(
        {"s": Source(table, regular(90))}, Selection("one", "s", expensive, cheap, costs=costs, policy=policy)
    )
    assert [change.order for change in trace.reordered] == [("cheap", "expensive")]
    assert trace.count() == sum(n % 2 == 0 for n in table.column("n").to_pylist())
