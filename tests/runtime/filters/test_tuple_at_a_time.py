"""With slices of one row the loop is the tuple-at-a-time algorithm: the same orders, the same evaluations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.watched import Watched
from tests.plan.filters.pipelines import pipelines
from tests.runtime.filters.reference import ALGORITHMS, process
from thalweg.adapt import ProfileSettings, make_policy
from thalweg.plan import Pipeline
from thalweg.runtime.filters.filter_loop import FilterLoop

TIMES_NS = [1, 2, 4, 8, 16, 64]
"""Powers of two: sums and quotients of them are exact, so that a tie is a tie on both sides."""


def drifting_stream(n: int, rows: int, seed: int) -> np.ndarray:
    """Rows of a few patterns, and of others after a while: correlated filters whose best order changes."""
    rng = np.random.default_rng(seed)
    parts = []
    for length in (rows // 2, rows - rows // 2):
        patterns = rng.integers(0, 2**n, 5)
        drawn = rng.choice(patterns, length, p=rng.dirichlet(np.ones(5)))
        parts.append((drawn[:, None] >> np.arange(n)) & 1)
    return np.concatenate(parts).astype(bool)


def compare(
    name: str,
    pipeline: Pipeline,
    stream: np.ndarray,
    times: list[int],
    p: float,
    window: int,
    alpha: float,
    seed: int,
    cuts: set[int],
) -> set[tuple[int, ...]]:
    """Run both, compare them after every tuple, and return the orders that were used."""
    steps = process(ALGORITHMS[name](pipeline, window, alpha), stream.tolist(), times, p, np.random.default_rng(seed))

    watched = Watched(stream, pipeline, times)
    rng = np.random.default_rng(seed)
    policy = make_policy(name, pipeline, ProfileSettings(p, window, alpha), rng)
    loop = FilterLoop(watched.chain, policy, rng, slice_rows=1)
    kept = []
    for part in np.split(np.arange(len(stream)), sorted(cuts)):
        kept += loop.process(watched.batch(part.tolist())).tolist()

    orders = {row: order for (row,), order in watched.passes}
    processed: dict[int, list[int]] = {e: [] for e in range(len(stream))}
    profiled: dict[int, list[int]] = {e: [] for e in range(len(stream))}
    for call in watched.calls:
        (row,) = call.rows
        (processed if call.work else profiled)[row].append(call.filter)
    for e, step in enumerate(steps):
        assert orders[e] == step.order, f"tuple {e}"
        assert processed[e] == step.processed, f"tuple {e}"
        assert profiled[e] == step.profiled, f"tuple {e}"
        assert kept[e] == step.passed, f"tuple {e}"
    return set(orders.values())


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=50)
@given(data=st.data())
def test_the_loop_does_what_the_plain_algorithm_does(name: str, data: st.DataObject) -> None:
    pipeline = data.draw(pipelines(most=6))
    n, rows = len(pipeline), data.draw(st.integers(1, 250))
    compare(
        name,
        pipeline,
        drifting_stream(n, rows, data.draw(st.integers(0, 2**32))),
        times=data.draw(st.lists(st.sampled_from(TIMES_NS), min_size=n, max_size=n)),
        p=data.draw(st.sampled_from([0.3, 1.0])),
        window=data.draw(st.sampled_from([1, 5, 40, 100])),
        alpha=data.draw(st.sampled_from([0.5, 0.9, 1.0])),
        seed=data.draw(st.integers(0, 2**32)),
        cuts=data.draw(st.sets(st.integers(0, rows), max_size=4)),
    )


@pytest.mark.parametrize("name", ALGORITHMS)
def test_also_over_a_long_stream_in_which_much_moves(name: str) -> None:
    pipeline = Pipeline(tuple("abcde"), guards=((), (), (1,), (), ()))
    stream = np.concatenate([drifting_stream(5, 1000, seed) for seed in (1, 2, 3)])
    orders = compare(name, pipeline, stream, [4, 1, 8, 2, 1], p=0.7, window=60, alpha=0.9, seed=5, cuts={100, 1500})
    assert len(orders) >= 4
