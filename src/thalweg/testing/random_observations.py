"""Draws random pipelines and random observations for policies. All randomness comes from the generator passed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from thalweg.adapt.policy import Costs, Observation
from thalweg.plan.filters.pipeline import Pipeline


def draw_pipeline(rng: np.random.Generator, least: int = 1, most: int = 6) -> Pipeline:
    """Draw a pipeline. Half of them have guards, and half have filters that must not be profiled. A guard may be
    written after the filter it guards."""
    n = int(rng.integers(least, most + 1))
    places = [int(k) for k in rng.permutation(n)]
    guards: list[tuple[int, ...]] = [()] * n
    if rng.random() < 0.5:
        for place, k in enumerate(places):
            if place and rng.random() < 1 / 3:
                guards[k] = tuple(
                    int(g) for g in rng.choice(places[:place], min(place, int(rng.integers(1, 3))), False)
                )
    profiled = rng.random(n) < 0.75 if rng.random() < 0.5 else np.ones(n, dtype=bool)
    return Pipeline(tuple(f"f{k}" for k in range(n)), tuple(guards), tuple(profiled.tolist()))


def draw_order(rng: np.random.Generator, pipeline: Pipeline) -> tuple[int, ...]:
    """Draw an order in which every guard comes before the filters it guards."""
    order: list[int] = []
    left = list(range(len(pipeline)))
    while left:
        ready = [k for k in left if all(g in order for g in pipeline.guards[k])]
        order.append(int(rng.choice(ready)))
        left.remove(order[-1])
    return tuple(order)


def seen(
    n: int,
    tuples: Sequence[Sequence[bool]] = (),
    costs: Sequence[float] | None = None,
    evaluated: Sequence[int] | None = None,
    passed: Sequence[int] | None = None,
    busy_ns: Sequence[int] | None = None,
) -> Observation:
    """Return an observation of `n` filters. Counts that are not given are 0, and costs that are not given are 1."""

    def counts(values: Sequence[int] | None) -> np.ndarray:
        return np.array([0] * n if values is None else values, dtype=np.int64)

    return Observation(
        counts(evaluated),
        counts(passed),
        counts(busy_ns),
        np.array([1.0] * n if costs is None else costs, dtype=np.float64),
        np.array(tuples, dtype=bool).reshape(len(tuples), n),
    )


def draw_history(rng: np.random.Generator, n: int, length: int) -> list[Observation]:
    """Draw a sequence of observations that a stream could produce: with correlated drops, and with costs from that of a
    comparison to that of a model."""
    updates = []
    for _ in range(length):
        evaluated = rng.integers(0, 1000, n)
        passed = (evaluated * rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], n)).astype(np.int64)
        costs = np.where(rng.random(n) < 0.2, np.nan, rng.choice([1.0, 2.0, 3.0, 7.5, 100.0, 12345.6], n))
        patterns = rng.integers(1, 2**n, rng.integers(1, 5))
        drawn = rng.choice(patterns, rng.choice([0, 1, 10, 100]))  # up to enough for policies that wait for many
        tuples = [[bool(pattern >> k & 1) for k in range(n)] for pattern in drawn]
        updates.append(seen(n, tuples, costs, evaluated, passed, rng.integers(0, 10**9, n)))  # type: ignore[arg-type]
    return updates


def draw_full_history(rng: np.random.Generator, n: int, length: int) -> list[Observation]:
    """Draw a history with everything else a loop may observe: bounds on costs, calls, times, trials and siblings'
    rows."""
    return [_full(update, rng) for update in draw_history(rng, n, length)]


def _full(update: Observation, rng: np.random.Generator) -> Observation:
    n, rows = len(update.cost_ns), len(update.profile)
    # if no call was timed, the cost is unknown and the bounds are infinite, as in `CallCost` before the first call
    timed = ~np.isnan(update.cost_ns)
    cost = np.where(timed, update.cost_ns, 1.0)
    costs = Costs(
        np.where(timed, cost * rng.choice([0.01, 0.5, 1.0], n), 0.0),
        np.where(timed, cost * rng.choice([1.0, 2.0, 50.0], n), np.inf),
        np.where(timed, rng.choice([0.0, 2e4, 1e6], n), np.nan),
        np.where(timed, rng.choice([1, 16, 4_000], n), 0),
    )
    slices = int(rng.integers(1, 20))
    calls = np.minimum(rng.integers(1, slices + 1, n), update.evaluated)  # a call has at least one row
    tried_ns = int(rng.choice([0, 0, 1, 10**6]))
    shared = rng.random((int(rng.choice([0, 1, 40, 600])), 2 * n)) < 0.5
    return replace(
        update,
        known=update.profile | (rng.random((rows, n)) < 0.7),
        costs=costs,
        slices=slices,
        calls=calls,
        batch_rows=int(rng.choice([1, 100, 10_000])),
        working_ns=int(rng.choice([0, 10**4, 10**8, 10**11])),
        profiling_ns=int(rng.choice([0, 10**5, 10**9])),
        reoptimizing_ns=int(rng.choice([0, 10**5])),
        trial_ns=tried_ns,
        trial_loss_ns=tried_ns // 2,
        siblings=(shared, rng.random(len(shared)) < 0.5) if rng.random() < 0.5 else None,
    )
