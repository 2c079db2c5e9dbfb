"""What policy mesh spends on collecting rows, and what it says it saves."""

from __future__ import annotations

import numpy as np
import pytest

from tests.adapt.classified_stream import ClassifiedStream
from tests.adapt.test_mesh import exchanged
from tests.optimizer.mesh.streams_of_classes import stream
from thalweg.adapt.mesh import COLLECTING, MeshPolicy
from thalweg.adapt.policy import Observation, Verdict
from thalweg.cost.mesh import saving, saving_over
from thalweg.optimizer.mesh.mesh import Mesh


def test_the_budget_scales_what_is_spent_on_collecting_rows() -> None:
    """A row that is dropped takes about 40 µs, and profiling it 120 µs more: that bounds how many can be profiled."""
    rows, profiled = 30_000, {}
    for budget in (0.001, 0.005, 0.02):
        run = ClassifiedStream(("source",), 0, budget=budget)
        run.run(stream("classes", rows, 0))
        profiled[budget] = run.policy.samples.added
    assert profiled[0.001] < profiled[0.005] < profiled[0.02]
    first = profiled[0.001]  # `auto` profiles so many at the start, whatever the budget is
    for budget in (0.005, 0.02):
        assert profiled[budget] - first <= COLLECTING * budget * rows


def test_the_realized_saving_is_that_of_the_routes_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the sources have exchanged their outcomes, the routes in force lose, until they are ordered anew."""
    run = ClassifiedStream(("source",), 0)
    run.run(stream("classes", 60_000, 0))
    seen: list[tuple[float, int | None]] = []
    mend = MeshPolicy._mended

    def spy(policy: MeshPolicy, observed: Observation, mesh: Mesh) -> Verdict | None:
        sample = policy.samples.sample()
        route = mesh.tree.compiled().classify(sample.values, len(sample.weights))
        single = policy._best(sample.passes, policy.order, observed, 1.0)
        saved, _ = saving(sample.passes, sample.weights, route, mesh.routes, single, np.array(observed.cost_ns))
        verdict = mend(policy, observed, mesh)
        if verdict is not None and "another order" in verdict.reason:
            seen.append((saved, policy.savings_ns[1]))
        return verdict

    monkeypatch.setattr(MeshPolicy, "_mended", spy)
    run.run(exchanged(40_000, 0))
    first, reported = seen[0]
    assert first < 0
    assert reported is None or reported < 0


def test_the_error_of_a_difference_of_meshes_is_that_of_the_same_rows() -> None:
    """Brute force: each row's own difference. Two meshes that send all rows the same way differ by nothing."""
    rng = np.random.default_rng(4)
    passes = (rng.random((500, 3)) < [0.2, 0.5, 0.8]).astype(np.float64)
    cost_ns, routes = np.array([10.0, 20.0, 30.0]), [(0, 1, 2), (2, 1, 0)]
    one, other = rng.integers(0, 2, 500), rng.integers(0, 2, 500)

    def row_ns(row: np.ndarray, order: tuple[int, ...]) -> float:
        total = 0.0
        for k in order:
            total += cost_ns[k]
            if not row[k]:
                break
        return total

    each = np.array(
        [row_ns(row, routes[b]) - row_ns(row, routes[a]) for row, a, b in zip(passes, one, other, strict=True)]
    )
    mean, error = saving_over(passes, np.ones(500), (one, routes), (other, routes), cost_ns)
    assert mean == pytest.approx(each.mean())
    assert error == pytest.approx(each.std() / np.sqrt(500))
    assert saving_over(passes, np.ones(500), (one, routes), (one, routes), cost_ns) == (0.0, 0.0)
