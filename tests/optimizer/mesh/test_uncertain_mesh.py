"""Meshes with uncertain routes: how they are written and stored."""

from __future__ import annotations

import json

import pytest

from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.tree import CutNode, Leaf, RouteTree

TREE = RouteTree(CutNode("size", "number", 10.0, Leaf(0, 0.5), Leaf(1, 0.5), null=Leaf(0), other=Leaf(0)))
ROUTES = ((2, 3, 1, 0), (0, 1, 2, 3))


def test_a_mesh_with_open_sets_is_stored_and_read_again() -> None:
    mesh = Mesh(TREE, ROUTES, 3, 1, 20, (((1, 3),), ()), ((0.0, 2.0, 1.0, 4.5), (0.0,) * 4))
    assert Mesh.from_dict(json.loads(json.dumps(mesh.to_dict()))) == mesh
    assert mesh.uncertain
    assert [mesh.token(route) for route in range(2)] == ["<2, 3|1, 0>", "<0, 1, 2, 3>"]


def test_a_certain_mesh_is_stored_as_before() -> None:
    mesh = Mesh(TREE, ROUTES)
    assert set(mesh.to_dict()) == {"tree", "routes", "version", "default", "least_rows"}
    assert Mesh.from_dict(mesh.to_dict()) == mesh
    assert not mesh.uncertain
    assert not Mesh(TREE, ROUTES, open_sets=((), ())).uncertain


@pytest.mark.parametrize("sets", [((1, 3), (2, 4)), ((3, 1),), ((0, 5),)])
def test_sets_that_overlap_or_leave_the_route_are_refused(sets: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(AssertionError, match="do not overlap"):
        Mesh(TREE, ROUTES, open_sets=(sets, ()))
