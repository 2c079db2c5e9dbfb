"""A mesh is judged by what its routing takes, not by what it was assumed to take."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from thalweg.adapt.mesh import MeshPolicy
from thalweg.adapt.policy import Observation, ObservedRoutes
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.tree import Leaf, RouteTree, ValueNode
from thalweg.plan.filters.pipeline import Pipeline

ROWS, COST_NS = 1_000, 300.0


@pytest.mark.parametrize(("routing_ns", "is_kept"), [(10.0, True), (2_000.0, False)])
def test_a_mesh_is_given_up_if_routing_takes_more_than_it_saves(routing_ns: float, is_kept: bool) -> None:
    """Each source is dropped by another filter, so that a row saves half an evaluation in the mean."""
    policy = MeshPolicy(Pipeline(("a", "b")))
    tree = RouteTree(ValueNode("source", "text", (((b"x",), Leaf(0, 0.5)),), Leaf(1), Leaf(1, 0.5)))
    policy._adopt(Mesh(tree, ((0, 1), (1, 0)), version=1))
    half = ROWS // 2
    dropped = np.repeat([[True, False], [False, True]], half, axis=0)
    counts = np.array([[half, 0], [0, half]])
    rows, none = np.array([half, half]), np.zeros((2, 2), np.int64)
    policy.update(
        Observation(
            rows, np.zeros(2, np.int64), rows * int(COST_NS), np.full(2, COST_NS), dropped,
            known=np.ones_like(dropped), working_ns=int(ROWS * (COST_NS + routing_ns)), batch_rows=10_000,
            values={"source": pa.array(["x"] * half + ["y"] * half)},
            routes=ObservedRoutes(1, rows, counts, none, int(routing_ns * ROWS)),
        )
    )  # fmt: skip
    assert (policy.mesh is not None) == is_kept
    assert policy.savings_ns[1] == pytest.approx(COST_NS / 2 - routing_ns, rel=0.15, abs=30)
