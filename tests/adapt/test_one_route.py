"""Policy mesh with at most one route: the single plan with which meshes are compared."""

from __future__ import annotations

import pytest

from tests.adapt.routed_stream import run
from tests.optimizer.mesh.streams_of_classes import stream


@pytest.mark.parametrize("seed", [1, 2])
def test_one_route_profiles_the_same_sample_in_one_order(seed: int) -> None:
    rows = stream("none", 60_000, seed)  # no mesh pays, so that both stay with one order
    many, one, auto = (
        run("mesh", rows, seed=seed), run("mesh", rows, seed=seed, routes=1), run("auto", rows, seed=seed)
    )  # fmt: skip
    assert many.kept == one.kept == rows.passes.all(axis=1).tolist()
    assert one.policy.mesh is None
    assert one.policy.samples.added == pytest.approx(many.policy.samples.added, rel=0.1)
    assert one.loop.work.chain.profile_tuples > 1.5 * auto.loop.work.chain.profile_tuples


def test_one_route_stays_with_one_order_where_routes_would_pay() -> None:
    rows = stream("classes", 200_000, seed=3)
    many, one = run("mesh", rows), run("mesh", rows, routes=1)
    assert many.policy.mesh is not None
    assert one.policy.mesh is None
    assert one.loop.ledger.on_routes is None
    assert one.loop.work.switches
    assert all(switch.mesh is None for switch in one.loop.work.switches)
    assert many.evaluations < one.evaluations
