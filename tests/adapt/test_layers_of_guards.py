"""Many filters in layers, each guarded by the whole layer before it: the guards of a filter are found only once."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tests.adapt.seen import seen
from thalweg.adapt import make_policy
from thalweg.cost.pipeline import greedy_order
from thalweg.plan import Pipeline

LAYERS, WIDTH = 30, 2
N = LAYERS * WIDTH
SECONDS = 5.0


def layers() -> Pipeline:
    guards = tuple(tuple(range(k - k % WIDTH - WIDTH, k - k % WIDTH)) if k >= WIDTH else () for k in range(N))
    return Pipeline(tuple(f"F{k}" for k in range(N)), guards)


def rows_dropped(rows: int) -> np.ndarray:
    """Draw rows that the last layer drops most, although all other layers must come before it."""
    rng = np.random.default_rng(1)
    dropped = rng.random((rows, N)) < np.linspace(0.01, 0.6, N)
    dropped[~dropped.any(axis=1), N - 1] = True
    return dropped


@pytest.mark.timeout(30)
def test_auto_decides_in_a_bounded_time() -> None:
    pipeline = layers()
    policy = make_policy("auto", pipeline, None, np.random.default_rng(1))
    dropped = rows_dropped(256)
    costs = np.linspace(2_000.0, 100.0, N)
    begun = time.process_time()
    for part in np.split(dropped, 4):
        policy.update(seen(N, part.tolist(), costs.tolist(), [len(part)] * N, [1] * N))
        assert pipeline.respects(policy.order)
    assert time.process_time() - begun < SECONDS


@pytest.mark.timeout(30)
def test_the_greedy_order_is_found_in_a_bounded_time() -> None:
    pipeline = layers()
    begun = time.process_time()
    assert pipeline.respects(greedy_order(rows_dropped(256), [1.0] * N, pipeline=pipeline))
    assert time.process_time() - begun < SECONDS


def test_guards_of_guards_come_first_each_once() -> None:
    """For a small chain in any written order, the order is valid and begins with the layers that are needed."""
    guards = ((2, 3), (2, 3), (), (), (0, 1), (0, 1))
    pipeline = Pipeline(tuple("abcdef"), guards)
    dropped = np.zeros((100, 6), bool)
    dropped[:, 4] = True
    order = greedy_order(dropped, [1.0] * 6, pipeline=pipeline)
    assert sorted(order) == list(range(6))
    assert pipeline.respects(order)
    assert order[4] == 4
    policy = make_policy("auto", pipeline, None, np.random.default_rng(1))
    policy.update(seen(6, dropped.tolist(), [1.0] * 6))
    assert pipeline.respects(policy.order)
    assert policy.order.index(4) < policy.order.index(5)
