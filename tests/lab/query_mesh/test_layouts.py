"""Streams have the partitions, selectivities and costs that their layouts promise."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from thalweg.lab.query_mesh.layouts import LAYOUTS, PROBES, Layout


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_poisson_data_have_selectivities_by_partition(layout: Layout) -> None:
    stream = layout.stream("poisson", 60_000, np.random.default_rng(0))
    partition = layout.partition_of(stream.values)
    for number, share in enumerate(layout.shares()):
        here = partition == number
        assert here.mean() == pytest.approx(share, abs=0.01)
        assert stream.passes[here].mean(axis=0) == pytest.approx(np.array(layout.selectivities[number]), abs=0.02)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_uniform_values_say_nothing(layout: Layout) -> None:
    stream = layout.stream("uniform", 60_000, np.random.default_rng(0))
    assert (stream.values.min(), stream.values.max()) == (0, 100)
    expected = layout.shares() @ np.array(layout.selectivities)
    for half in (stream.values[:, 0] < 50, stream.values[:, 1] >= 50):
        assert stream.passes[half].mean(axis=0) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_partitions_have_other_best_orders_than_the_stream(layout: Layout) -> None:
    """Independent probes are best in the order of what they drop per cost."""
    costs = layout.costs_ns()
    overall = layout.shares() @ np.array(layout.selectivities)
    first = {int(np.argmax((1.0 - np.array(chances)) / costs)) for chances in layout.selectivities}
    assert len(first) == 3
    orders = [tuple(np.argsort((1.0 - np.array(chances)) / costs)) for chances in (*layout.selectivities, overall)]
    assert all(one != other for one, other in permutations(orders, 2))
    assert costs.mean() == pytest.approx(10_000.0)
    assert len(costs) == PROBES
