"""Condensing: every row belongs to a training tuple, sizes are bounded, and the routes are right on other rows."""

from __future__ import annotations

import json
import tracemalloc
import zlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tests.long_run import examples
from tests.optimizer.mesh.streams_of_classes import EIGHT, Stream, stream
from thalweg.cost.mesh import MeshCosts
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.mesh_search import mesh_search
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.optimizer.mesh.training import Sample, condense
from thalweg.stats.training_set import TrainingSet

HELD_OUT = 20_000


def found_mesh(training: TrainingSet, seed: int = 0) -> Mesh:
    """The mesh for eight filters of 1 µs."""
    meshes = PricedMeshes(MeshCosts(training, EIGHT, np.full(8, 1_000.0), np.full(8, 10_000.0), 8_192))
    return mesh_search(meshes, np.random.default_rng(seed)).run().mesh


def saved(mesh: Mesh, held_out: Stream, single: tuple[int, ...]) -> float:
    """The share of the possible saving in evaluations."""
    rows = len(held_out.passes)
    ours = held_out.evaluations(mesh.routes, mesh.tree.compiled().classify(held_out.values, rows))
    one = held_out.evaluations([single], np.zeros(rows, np.int64))
    return (one - ours) / (one - held_out.clairvoyant())


def best_single(held_out: Stream) -> tuple[int, ...]:
    """The greedy order of all rows, computed on them."""
    order: list[int] = []
    alive = np.ones(len(held_out.passes), bool)
    while len(order) < 8:
        left = [k for k in range(8) if k not in order]
        order.append(min(left, key=lambda k: held_out.passes[alive, k].mean()))
        alive &= held_out.passes[:, order[-1]] > 0.5
    return tuple(order)


@pytest.mark.parametrize(
    ("name", "rows", "least"),
    [("classes", 500, 0.95), ("classes", 2_000, 0.97), ("numbers", 1_000, 0.93), ("numbers", 4_000, 0.97),
     ("many", 1_000, 0.6), ("many", 4_000, 0.85)],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_meshes_save_what_is_possible_on_other_rows(name: str, rows: int, least: float, seed: int) -> None:
    mesh = found_mesh(condense(stream(name, rows, seed).sample), seed)
    held_out = stream(name, HELD_OUT, seed + 1_000)
    assert saved(mesh, held_out, best_single(held_out)) >= least
    assert 2 <= len(mesh.routes) <= 8


@pytest.mark.parametrize("seed", range(10))
def test_sources_that_mean_nothing_have_one_route(seed: int) -> None:
    assert len(found_mesh(condense(stream("none", 1_000, seed).sample)).routes) == 1


@pytest.mark.parametrize("seed", range(10))
def test_values_are_not_grouped_by_what_is_chance(seed: int) -> None:
    """Filters that all pass half of the rows: thirty values, grouped by their outcomes, would seem to differ."""
    rng = np.random.default_rng(seed)
    values = {"user": pa.array([f"u{u}" for u in rng.integers(30, size=1_000)]), "x": pa.array(rng.random(1_000))}
    passes = (rng.random((1_000, 8)) < 0.5).astype(np.float64)
    assert len(condense(Sample(values, passes, np.ones(1_000)))) == 1


@pytest.mark.parametrize("name", ["classes", "numbers", "many"])
def test_columns_that_mean_nothing_are_left_out(name: str) -> None:
    made = stream(name, 1_000, 5)
    rng = np.random.default_rng(6)
    noise = {"noise": pa.array(rng.random(1_000)), "day": pa.array([f"d{d}" for d in rng.integers(7, size=1_000)])}
    training = condense(Sample({**noise, **made.values}, made.passes, np.ones(1_000)))
    assert {axis.column for axis in training.axes} == set(made.values)


VALUES = st.one_of(
    st.lists(st.sampled_from(["a", "b", "c", "", None]), min_size=8, max_size=60).map(pa.array),
    st.lists(st.one_of(st.none(), st.floats(), st.sampled_from([1.0, 2.0])), min_size=8, max_size=60).map(
        lambda values: pa.array(values, pa.float64())
    ),
    st.lists(st.sampled_from([True, False, None]), min_size=8, max_size=60).map(lambda v: pa.array(v, pa.bool_())),
    st.lists(st.sampled_from(["a", "b", None]), min_size=8, max_size=60).map(lambda v: pa.array(v).dictionary_encode()),
)


@examples(60, long=2_000)
@given(st.lists(VALUES, min_size=1, max_size=3), st.integers(0, 10**6), st.integers(1, 20))
def test_densities_add_up_and_trees_find_the_tuples(columns: list[pa.Array], seed: int, most: int) -> None:
    """The outcomes depend on the values of the first column, with some noise; the others mean nothing."""
    rng = np.random.default_rng(seed)
    least = min(map(len, columns))
    rows = 20 * least
    values = {f"c{i}": pa.concat_arrays([column.slice(0, least)] * 20) for i, column in enumerate(columns)}
    depends = [zlib.crc32(repr(value).encode()) for value in values["c0"].to_pylist()]
    passes = np.array([[value >> k & 1 for k in range(3)] for value in depends], np.float64)
    noisy = np.where(rng.random((rows, 3)) < 0.1, rng.choice([0.0, 0.4, 1.0], (rows, 3)), passes)
    sample = Sample(values, noisy, rng.uniform(0.1, 9.0, rows))
    training = condense(sample, most)
    event(f"tuples: {len(training)}")
    n = len(training)
    assert 1 <= n <= most
    assert sorted(set(training.tuple_of_row.tolist())) == list(range(n))
    assert training.density.sum() == pytest.approx(sample.weights.sum())
    assert np.bincount(training.tuple_of_cell, training.cell_density, n) == pytest.approx(training.density)
    for t in range(n):
        rows_of = training.rows_of(t)
        expected = sample.weights[rows_of] @ sample.passes[rows_of] / sample.weights[rows_of].sum()
        assert training.means[t] == pytest.approx(expected)
    # a route per tuple: every sampled row gets the route of its tuple
    costs = MeshCosts(training, EIGHT, np.ones(8), np.zeros(8), 1_024)
    tree = PricedMeshes(costs, most_routes=n).induction.tree([1 << t for t in range(n)])
    assert tree.compiled().classify(values, rows).tolist() == training.tuple_of_row.tolist()


def test_a_million_values_make_few_tuples_in_bounded_memory() -> None:
    """The memory of Python and NumPy; that of Arrow is not counted."""
    rows = 1_000_000
    rng = np.random.default_rng(0)
    values = {"user": pa.array(np.arange(rows)).cast(pa.string()), "number": pa.array(rng.random(rows))}
    passes = (rng.random((rows, 2)) < 0.5).astype(np.float64)
    tracemalloc.start()
    training = condense(Sample(values, passes, np.ones(rows)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300 * rows  # bytes
    assert len(training) <= 16
    assert sum(len(group) for axis in training.axes for group in axis.groups) == 0  # no value is frequent


def test_texts_of_100_000_characters_make_a_small_tree() -> None:
    rng = np.random.default_rng(0)
    source = rng.integers(20, size=2_000)
    texts = pa.array([f"{i}" + "x" * 100_000 for i in range(20)])
    values = {"text": pa.DictionaryArray.from_arrays(pa.array(source), texts)}
    passes = (rng.random((2_000, 8)) < rng.uniform(0.1, 0.9, (20, 8))[source]).astype(np.float64)
    training = condense(Sample(values, passes, np.ones(2_000)))
    mesh = found_mesh(training)
    assert len(mesh.routes) > 1
    assert len(json.dumps(mesh.to_dict())) < 4_096
    costs = MeshCosts(training, EIGHT, np.ones(8), np.zeros(8), 1_024)
    tree = PricedMeshes(costs).induction.tree([1 << t for t in range(len(training))])
    plain = {"text": texts.take(pa.array(source[:200]))}
    assert tree.compiled().classify(plain, 200).tolist() == training.tuple_of_row[:200].tolist()


def test_many_frequent_texts_make_a_small_tree() -> None:
    """Two hundred sources, of which each may need its own route: the stored mesh fits into a few kilobytes."""
    made = stream("many", 20_000, 1)
    mesh = found_mesh(condense(made.sample))
    assert len(json.dumps(mesh.to_dict())) < 16_384


@pytest.mark.parametrize("values", [{}, {"nested": pa.array([[1], [2]] * 30)}])
def test_without_columns_there_is_one_tuple(values: dict[str, pa.Array]) -> None:
    training = condense(Sample(values, np.ones((60, 2)), np.ones(60)))
    assert (len(training), training.density.tolist(), training.axes) == (1, [60.0], ())


def test_without_rows_there_is_one_tuple_of_density_0() -> None:
    training = condense(Sample({"source": pa.array([], pa.string())}, np.ones((0, 8)), np.ones(0)))
    assert training.density.tolist() == [0.0]
    assert sorted(found_mesh(training).routes[0]) == list(range(8))


def test_a_threshold_is_found_where_outcomes_change() -> None:
    rng = np.random.default_rng(3)
    size = rng.exponential(100.0, 4_000)
    shares = np.where((size > 37.0)[:, None], [0.1, 0.9], [0.9, 0.1])
    passes = (rng.random((4_000, 2)) < shares).astype(np.float64)
    training = condense(Sample({"size": pa.array(size)}, passes, np.ones(4_000)))
    assert min(abs(cut - 37.0) for cut in training.axes[0].cuts) < 3.0
