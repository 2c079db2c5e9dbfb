"""Made-up observations for policies: profile tuples, counters of ordinary work, costs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from thalweg.adapt import Observation
from thalweg.testing.random_observations import draw_full_history, draw_history, seen

__all__ = ["costs_of", "full_histories", "histories", "profile_tuples", "seen"]


def profile_tuples(n: int, most: int = 12) -> st.SearchStrategy[list[tuple[bool, ...]]]:
    """Draw the outcomes of dropped rows: at least one filter drops each. A few patterns are repeated, so that filters
    are correlated."""
    pattern = st.tuples(*[st.booleans()] * n).filter(any)
    few = st.lists(pattern, min_size=1, max_size=4)
    return few.flatmap(lambda patterns: st.lists(st.sampled_from(patterns), max_size=most))


def full_histories(n: int, most: int = 10) -> st.SearchStrategy[list[Observation]]:
    """Draw a history with everything else a loop may observe: bounds on costs, calls, times, trials, siblings' rows."""
    return st.tuples(st.integers(0, 2**32), st.integers(1, most)).map(
        lambda drawn: draw_full_history(np.random.default_rng(drawn[0]), n, drawn[1])
    )


def costs_of(n: int) -> st.SearchStrategy[list[float]]:
    """Draw costs from that of a regular expression to that of a model."""
    return st.lists(st.sampled_from([1.0, 2.0, 3.0, 7.5, 100.0, 12345.6]), min_size=n, max_size=n)


def histories(n: int, most: int = 10) -> st.SearchStrategy[list[Observation]]:
    """Draw a sequence of updates that a stream could produce. It is drawn from one seed, because drawing each number
    takes too long."""
    return st.tuples(st.integers(0, 2**32), st.integers(1, most)).map(
        lambda drawn: draw_history(np.random.default_rng(drawn[0]), n, drawn[1])
    )
