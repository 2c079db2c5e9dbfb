"""What a loop would show a policy, made up: profile tuples, counters of ordinary work, costs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from thalweg.adapt import Seen
from thalweg.testing.drawn import draw_full_history, draw_history, seen

__all__ = ["costs_of", "full_histories", "histories", "profile_tuples", "seen"]


def profile_tuples(n: int, most: int = 12) -> st.SearchStrategy[list[tuple[bool, ...]]]:
    """Of dropped rows: at least one filter drops each. A few patterns repeated, so that filters are correlated."""
    pattern = st.tuples(*[st.booleans()] * n).filter(any)
    few = st.lists(pattern, min_size=1, max_size=4)
    return few.flatmap(lambda patterns: st.lists(st.sampled_from(patterns), max_size=most))


def full_histories(n: int, most: int = 10) -> st.SearchStrategy[list[Seen]]:
    """The same with all that a loop may show besides: bounds on costs, calls, times, trials, siblings' rows."""
    return st.tuples(st.integers(0, 2**32), st.integers(1, most)).map(
        lambda drawn: draw_full_history(np.random.default_rng(drawn[0]), n, drawn[1])
    )


def costs_of(n: int) -> st.SearchStrategy[list[float]]:
    """From a regular expression's to a model's."""
    return st.lists(st.sampled_from([1.0, 2.0, 3.0, 7.5, 100.0, 12345.6]), min_size=n, max_size=n)


def histories(n: int, most: int = 10) -> st.SearchStrategy[list[Seen]]:
    """A run of updates as any stream could bring them. Drawn from one seed: number by number takes too long."""
    return st.tuples(st.integers(0, 2**32), st.integers(1, most)).map(
        lambda drawn: draw_history(np.random.default_rng(drawn[0]), n, drawn[1])
    )
