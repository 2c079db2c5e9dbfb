"""What a loop would show a policy, made up: profile tuples, counters of ordinary work, costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from thalweg.adapt import Seen


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
