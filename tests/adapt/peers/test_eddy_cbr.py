"""Content-based routing: the attribute of each filter, shares by value, and what that saves."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapt.routed_stream import run
from tests.long_run import examples
from tests.optimizer.mesh.streams_of_classes import SHIFTED, SOURCES, Stream, stream
from thalweg.adapt.peers.eddy_cbr import EddyCbr, category, gain_ratio
from thalweg.kernels import fabric
from thalweg.kernels.lottery import Lottery
from thalweg.plan import Pipeline
from thalweg.stats.training_set import Axis


def entropy(counts: list[int]) -> float:
    total = sum(counts)
    return -sum(count / total * math.log(count / total) for count in counts if count)


@examples(50, long=1_000)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=200))
def test_the_gain_ratio_is_the_textbook_s_or_zero(rows: list[tuple[int, bool]]) -> None:
    codes, dropped = (np.array(column) for column in zip(*rows, strict=True))
    found = gain_ratio(codes.astype(np.int64), dropped.astype(np.float64))
    values = sorted(set(codes.tolist()))
    inside = sum(
        (codes == v).sum() / len(rows) * entropy([int((dropped[codes == v] == b).sum()) for b in (True, False)])
        for v in values
    )
    gain = entropy([int(dropped.sum()), int((~dropped).sum())]) - inside
    of_values = entropy([int((codes == v).sum()) for v in values])
    if found:
        assert found == pytest.approx(gain / of_values, abs=1e-6)
    else:
        assert 2.0 * len(rows) * gain <= len(values) - 1 + 3.0 * (2.0 * (len(values) - 1)) ** 0.5 + 1e-6


def test_noise_is_rarely_taken_for_an_attribute() -> None:
    rng = np.random.default_rng(1)
    found = [gain_ratio(rng.integers(4, size=500), (rng.random(500) < 0.4).astype(float)) for _ in range(1_000)]
    assert sum(ratio > 0.0 for ratio in found) < 20


@pytest.mark.parametrize("seed", [1, 2])
def test_on_classes_it_needs_fewer_evaluations_than_an_eddy(seed: int) -> None:
    rows = stream("classes", 60_000, seed)
    eddy, cbr = (run(policy, rows, seed=seed) for policy in ("eddy", "eddy-cbr"))
    expected = rows.passes.all(axis=1).tolist()
    assert eddy.kept == cbr.kept == expected
    assert cbr.evaluations < 0.8 * eddy.evaluations
    assert cbr.evaluations / 60_000 > rows.clairvoyant()


def test_each_filter_gets_the_column_that_tells_most() -> None:
    """Filters 0 and 1 depend on `source`, 2 and 3 on `size`, and 4 on nothing."""
    rng, rows = np.random.default_rng(4), 20_000
    source, size = rng.integers(4, size=rows), rng.random(rows)
    shares = np.stack(
        [SHIFTED[source, 0], SHIFTED[source, 2], np.where(size > 0.5, 0.2, 0.9), np.where(size > 0.5, 0.9, 0.2),
         np.full(rows, 0.5)],
        axis=1,
    )  # fmt: skip
    values = {"size": pa.array(size), "noise": pa.array(rng.random(rows)), "source": pa.array(SOURCES[source])}
    passes = (rng.random(shares.shape) < shares).astype(np.float64)
    done = run("eddy-cbr", Stream(values, passes, np.zeros(rows, np.int64), shares[:1]))
    mesh = done.policy.mesh
    columns = [None if at is None else mesh.axes[at].column for at in mesh.axis_of]
    assert columns == ["source", "source", "size", "size", None]
    _, slices = mesh.slices_of({"size": pa.array([0.1, 0.9]), "source": pa.array(["web", "web"])}, 2)
    assert slices[0, 3] > slices[0, 2]
    assert slices[1, 2] > slices[1, 3]
    assert done.kept == passes.all(axis=1).tolist()


def test_null_unseen_and_mistyped_values_are_routed_too() -> None:
    rows = stream("classes", 6_000, seed=6)
    done = run("eddy-cbr", rows)
    mesh = done.policy.mesh
    assert mesh.columns == ("source",)
    for odd in (pa.array([None, "nobody"]), pa.array([1.5, 2.5]), pa.array([[1], [2]])):
        classes, slices = mesh.slices_of({"source": odd}, 2)
        assert len(classes) == 2
        assert slices.shape == (int(classes.max()) + 1, 8)
        assert (slices > 0.0).all()


def test_decisions_are_made_by_value_and_counted() -> None:
    rows = stream("classes", 20_000, seed=7)
    done = run("eddy-cbr", rows)
    work = done.loop.take_work()
    assert work.chain.profile_tuples > 100
    assert work.routes is not None
    assert work.routes.decisions > 20_000 // 100 * 2, "one or more for each ruster of up to 100 rows"
    assert sum(called for _, called in done.calls) == sum(work.chain.evaluated) + sum(work.chain.profiled)
    assert "by source based on" in work.in_force.standing


@pytest.mark.parametrize(("name", "batch"), [("classes", 100), ("many", 100), ("many", 7), ("classes", 10_000)])
def test_a_decision_is_for_as_many_rows_of_one_class_as_asked(
    name: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slice has so many rows per class, and the first decisions about them are for a class each."""
    first_decisions: list[int] = []

    def drawn(ruster: fabric.Ruster, lottery: Lottery) -> int:
        if not ruster.passed:
            first_decisions.append(len(ruster.rows))
        return draw(ruster, lottery)

    draw = fabric._drawn
    monkeypatch.setattr(fabric, "_drawn", drawn)
    rows = stream(name, 20_000, seed=7)
    done = run("eddy-cbr", rows, batch=batch)
    assert done.kept == rows.passes.all(axis=1).tolist()
    assert sum(first_decisions) == 20_000
    assert max(first_decisions) <= batch
    later = first_decisions[len(first_decisions) // 2 :]
    # a stream of this test has batches of 2,000 rows, which no slice exceeds
    most = min(batch, 2_000 // done.policy.mesh.classes)
    assert np.mean(later) > most / 3, "frequent classes have more rows than others, and the rest is less than a batch"
    assert batch < done.policy.wants().slice_rows <= 16_384


def test_categories_of_ranges_and_truth_values() -> None:
    assert category(Axis("x", "number", cuts=(1.0, 2.0)), pa.array([0.5, 1.5, 9.0, None])).tolist() == [0, 1, 2, 3]
    both = Axis("b", "bool", groups=((False,), (True,)))
    assert category(both, pa.array([True, False, None])).tolist() == [1, 0, 2]


def test_a_restored_policy_learns_anew() -> None:
    done = run("eddy-cbr", stream("classes", 12_000, seed=8))
    policy = done.policy
    assert policy.mesh.rates
    other = EddyCbr(Pipeline(tuple(f"f{k}" for k in range(8))))
    other.restore(policy.snapshot())
    policy.restore(policy.snapshot())
    assert not policy.mesh.rates
    assert policy.wants().p == other.wants().p
    assert policy.snapshot() == other.snapshot()
