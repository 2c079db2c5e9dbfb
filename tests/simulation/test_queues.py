"""Queues and rates against queueing theory and the formulas of the rate-based paper.

Pollaczek and Khinchine: with Poisson arrivals of rate r and a fixed service time s, load u = r s, a row waits
u s / (2 (1 - u)) on average, and by Little's law u^2 / (2 (1 - u)) rows wait.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.simulation import Costs, Selection, Source, poisson, regular, replayed, simulate, tree_join


def numbers(count: int) -> pa.Table:
    return pa.table({"n": np.random.default_rng(1).permutation(count)})


def keeps(share: float, count: int) -> tw.Predicate:
    return tw.predicate(lambda n: n < share * count, "n", name="keeps")


@pytest.mark.parametrize("load", [0.5, pytest.param(0.7, marks=pytest.mark.long)])
def test_poisson_arrivals_wait_as_queueing_theory_says(load: float) -> None:
    """Six runs together: the mean of one strays by a twentieth at these loads."""
    count, runs = 8_000, []
    for seed in range(6):
        one = Selection("one", "rows", keeps(1, count), costs=Costs(predicate=1))
        final = simulate({"rows": Source(numbers(count), poisson(load))}, one, seed=seed, keep=False).final["one"]
        assert final.busy == count  # exactly what was declared
        # Little's law holds for any trace, to the last digit but rounding
        assert final.mean_queue == pytest.approx(final.mean_wait * count / final.time, rel=1e-9)
        runs.append((final.mean_queue, final.mean_wait))
    queue, wait = np.mean(runs, axis=0)
    assert queue == pytest.approx(load**2 / (2 * (1 - load)), rel=0.05)
    assert wait == pytest.approx(load / (2 * (1 - load)), rel=0.05)


@pytest.mark.parametrize("load", [0.8, 0.95, 1.3])
def test_waiting_follows_the_recurrence_of_lindley_row_by_row(load: float) -> None:
    """Under heavy load means settle slowly; but wait_n+1 = max(0, wait_n + cost - gap) holds for any arrivals."""
    rng = np.random.default_rng(7)
    gaps = np.rint(rng.exponential(1000 / load, 3_000)) / 1000
    one = Selection("one", "rows", keeps(1, len(gaps)), costs=Costs(predicate=1))
    trace = simulate({"rows": Source(numbers(len(gaps)), replayed(gaps))}, one)
    wait = 0.0
    left: list[float] = []
    for gap, at in zip(gaps, np.cumsum(gaps), strict=True):
        wait = max(0.0, wait + 1.0 - gap) if left else 0.0
        left.append(at + wait + 1.0)
    assert trace.results.column("time").to_pylist() == pytest.approx(left, abs=1e-6)


def test_regular_arrivals_below_capacity_never_wait() -> None:
    one = Selection("one", "rows", keeps(1, 500), costs=Costs(predicate=0.9))
    final = simulate({"rows": Source(numbers(500), regular(1))}, one).final["one"]
    assert (final.mean_wait, final.most_queued, final.emitted) == (0.0, 1, 500)


@pytest.mark.parametrize(("cost", "rate"), [(0.05, 0.3 * 10), (0.25, 0.3 / 0.25)])
def test_output_rate_of_a_selection(cost: float, rate: float) -> None:
    """Section 3.2: f r_i if a row costs less than the gap between arrivals, otherwise f / C_sigma."""
    count, share, arrivals = 8_000, 0.3, 10
    one = Selection("one", "rows", keeps(share, count), costs=Costs(predicate=cost))
    trace = simulate({"rows": Source(numbers(count), poisson(arrivals))}, one, until=600, every=300, seed=2)
    halves = [sample["output_rate"] for sample in trace.samples.to_pylist()]
    assert halves == pytest.approx([rate, rate], rel=0.1)
    queue = trace.final["one"].queue
    if cost * arrivals < 1:
        assert queue < 20
    else:  # what came and was not served: 10 - 4 rows a time unit
        assert queue == pytest.approx((arrivals - 1 / cost) * 600, rel=0.05)


def two(rates: tuple[float, float], keys: int, count: int) -> dict[str, Source]:
    rng = np.random.default_rng(6)
    return {
        alias: Source(pa.table({"k": rng.integers(0, keys, count)}), poisson(rate), stamp="t")
        for alias, rate in zip("lr", rates, strict=True)
    }


def test_results_of_a_hash_join_grow_with_the_square_of_time() -> None:
    """Section 3.3: f r_l r_r t^2 results of what has arrived by t, if no row expires."""
    rates, keys = (40.0, 60.0), 200
    costs = Costs(move="1 ms", hash="1 ms", probe="1 ms")
    join = tree_join("join", ("l", "r"), "l.k = r.k", "1 hour", "t", costs=costs)
    trace = simulate(two(rates, keys, 8_000), join, until=80, every=10, seed=9, keep=False)
    for time in (20, 40, 80):
        assert trace.count(time) == pytest.approx(rates[0] * rates[1] * time**2 / keys, rel=0.12)


def test_an_overloaded_hash_join_gives_what_its_service_allows() -> None:
    """Equation 2: what arrives by t takes t (r_l C_l + r_r C_r) to serve, so at time T, t = T / (r_l C_l + r_r C_r)."""
    rates, keys, cost = (20.0, 30.0), 40, 0.05
    load = (rates[0] + rates[1]) * cost
    join = tree_join("join", ("l", "r"), "l.k = r.k", "1 hour", "t", costs=Costs(move=0.01, hash=0.02, probe=0.02))
    trace = simulate(two(rates, keys, 8_000), join, until=100, seed=9, keep=False)
    assert load == 2.5
    assert trace.count() == pytest.approx(rates[0] * rates[1] * (100 / load) ** 2 / keys, rel=0.12)


def test_an_arrival_costs_nested_loops_the_other_window() -> None:
    """Table 3: move + |S| comp. Rows come far apart, so each is served alone and its cost shows in the busy time."""
    move, comp, count = 0.5, 0.01, 30
    tables = {alias: pa.table({"k": np.zeros(count, int)}) for alias in "lr"}
    sources = {alias: Source(table, regular(0.1), stamp="t") for alias, table in tables.items()}
    costs = Costs(move=move, comp=comp, hash=100, probe=100)  # nested loops neither hash nor probe
    join = tree_join("join", ("l", "r"), "l.k = r.k", "1 hour", "t", costs=costs, methods="loops")
    trace = simulate(sources, join, every=10)
    busy = [sample["busy"] for sample in trace.samples.to_pylist()]
    # of the n-th pair of arrivals, n from 0: one meets n rows of the other side, the other n + 1
    paid = np.diff(busy)[: count - 1]
    assert paid == pytest.approx([2 * move + comp * (2 * n + 1) for n in range(count - 1)])


def test_handling_is_paid_by_arrivals_and_results_by_results() -> None:
    tables = {alias: pa.table({"k": np.zeros(10, int)}) for alias in "lr"}
    sources = {alias: Source(table, regular(1), stamp="t") for alias, table in tables.items()}
    join = tree_join("join", ("l", "r"), "l.k = r.k", "1 hour", "t", costs=Costs(handling="5 ms", result="7 ms"))
    trace = simulate(sources, join)
    assert trace.count() == 100
    assert trace.final["join"].busy == pytest.approx(20 * 0.005 + 100 * 0.007)
    appeared = [row["time"] for row in trace.results.to_pylist()[-10:]]
    assert np.diff(appeared) == pytest.approx([0.007] * 9)


def test_one_cpu_is_shared_in_the_order_of_arrival() -> None:
    """Two operators; alone, each would be free at once."""
    both = [Selection(name, "rows", keeps(1, 3), costs=Costs(predicate=1)) for name in ("x", "y")]
    source = Source(numbers(3), regular(1))
    alone = [(row["time"], row["operator"]) for row in simulate({"rows": source}, both).results.to_pylist()]
    assert alone == [(2, "x"), (2, "y"), (3, "x"), (3, "y"), (4, "x"), (4, "y")]
    shared = [(row["time"], row["operator"]) for row in simulate({"rows": source}, both, cpus=1).results.to_pylist()]
    assert shared == [(2, "x"), (3, "y"), (4, "x"), (5, "y"), (6, "x"), (7, "y")]
    two = simulate({"rows": source}, both, cpus=2).results.to_pylist()
    assert [(row["time"], row["operator"]) for row in two] == alone


def test_windows_are_recorded_as_they_are() -> None:
    """One row per time unit and stream, windows of 10: the watermark is what the slower of the two has shown."""
    tables = {alias: pa.table({"k": np.arange(100)}) for alias in "lr"}
    sources = {alias: Source(table, regular(1), stamp="t") for alias, table in tables.items()}
    join = tree_join("join", ("l", "r"), "l.k = r.k", "10 seconds", "t")
    samples = simulate(sources, join, until=100, every=1).samples.to_pylist()
    assert [sample["window_rows"] for sample in samples[:3]] == [2, 4, 6]
    assert {sample["window_rows"] for sample in samples[20:95]} == {22}  # both ends of the window count
    assert len({sample["window_bytes"] for sample in samples[20:95]}) == 1
    assert samples[50]["window_bytes"] > 0


def test_a_row_is_paid_for_once_even_if_values_are_not_available() -> None:
    """A time beyond Python's calendar: the chain finds the rows that have a value with a second call."""
    times = pa.array([0, 2**62], pa.timestamp("us"))
    has_time = tw.predicate(lambda t: t is not None, "t", name="has_time")
    first = tw.predicate(lambda n: n == 0, "n", name="first")
    one = Selection("one", "rows", has_time, first, costs=Costs(predicate={"has_time": 3, "first": 1}), policy="static")
    source = Source(pa.table({"t": times, "n": [0, 1]}), regular(1), at_once=2)
    trace = simulate({"rows": source}, one)
    assert trace.count() == 1
    assert trace.final["one"].busy == 2 * 3 + 2 * 1
