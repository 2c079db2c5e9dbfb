"""What a loop would show a policy, made up: profile tuples, counters of ordinary work, costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from thalweg.adapt import Seen
from thalweg.adapt.policy import Costs


def seen(
    n: int,
    tuples: Sequence[Sequence[bool]] = (),
    costs: Sequence[float] | None = None,
    evaluated: Sequence[int] | None = None,
    passed: Sequence[int] | None = None,
    busy_ns: Sequence[int] | None = None,
) -> Seen:
    """Whatever is not given is nothing, and costs are alike."""

    def counts(values: Sequence[int] | None) -> np.ndarray:
        return np.array([0] * n if values is None else values, dtype=np.int64)

    return Seen(
        counts(evaluated),
        counts(passed),
        counts(busy_ns),
        np.array([1.0] * n if costs is None else costs, dtype=np.float64),
        np.array(tuples, dtype=bool).reshape(len(tuples), n),
    )


def profile_tuples(n: int, most: int = 12) -> st.SearchStrategy[list[tuple[bool, ...]]]:
    """Of dropped rows: at least one filter drops each. A few patterns repeated, so that filters are correlated."""
    pattern = st.tuples(*[st.booleans()] * n).filter(any)
    few = st.lists(pattern, min_size=1, max_size=4)
    return few.flatmap(lambda patterns: st.lists(st.sampled_from(patterns), max_size=most))


def full_histories(n: int, most: int = 10) -> st.SearchStrategy[list[Seen]]:
    """The same with all that a loop may show besides: bounds on costs, calls, times, trials, siblings' rows."""
    return st.tuples(st.integers(0, 2**32), st.integers(1, most)).map(lambda drawn: _full_history(n, *drawn))


def _full_history(n: int, seed: int, length: int) -> list[Seen]:
    rng = np.random.default_rng(seed)
    return [_full(update, rng) for update in _history(n, seed, length)]


def _full(update: Seen, rng: np.random.Generator) -> Seen:
    n, rows = len(update.cost_ns), len(update.profile)
    # no call was timed: nothing is known, and the bounds say so; as `CallCost` before the first call
    timed = ~np.isnan(update.cost_ns)
    cost = np.where(timed, update.cost_ns, 1.0)
    costs = Costs(
        np.where(timed, cost * rng.choice([0.01, 0.5, 1.0], n), 0.0),
        np.where(timed, cost * rng.choice([1.0, 2.0, 50.0], n), np.inf),
        np.where(timed, rng.choice([0.0, 2e4, 1e6], n), np.nan),
        np.where(timed, rng.choice([1, 16, 4_000], n), 0),
    )
    slices = int(rng.integers(1, 20))
    calls = np.minimum(rng.integers(1, slices + 1, n), update.evaluated)  # a call has a row at least
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


def costs_of(n: int) -> st.SearchStrategy[list[float]]:
    """From a regular expression's to a model's."""
    return st.lists(st.sampled_from([1.0, 2.0, 3.0, 7.5, 100.0, 12345.6]), min_size=n, max_size=n)


def histories(n: int, most: int = 10) -> st.SearchStrategy[list[Seen]]:
    """A run of updates as any stream could bring them. Drawn from one seed: number by number takes too long."""
    return st.tuples(st.integers(0, 2**32), st.integers(1, most)).map(lambda drawn: _history(n, *drawn))


def _history(n: int, seed: int, length: int) -> list[Seen]:
    rng = np.random.default_rng(seed)
    updates = []
    for _ in range(length):
        evaluated = rng.integers(0, 1000, n)
        passed = (evaluated * rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], n)).astype(np.int64)
        costs = np.where(rng.random(n) < 0.2, np.nan, rng.choice([1.0, 2.0, 3.0, 7.5, 100.0, 12345.6], n))
        patterns = rng.integers(1, 2**n, rng.integers(1, 5))
        drawn = rng.choice(patterns, rng.choice([0, 1, 10, 100]))  # from nothing to enough for those that wait
        tuples = [[bool(pattern >> k & 1) for k in range(n)] for pattern in drawn]
        updates.append(seen(n, tuples, costs, evaluated, passed, rng.integers(0, 10**9, n)))
    return updates
