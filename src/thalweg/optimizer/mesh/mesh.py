"""A query mesh: the classifier and the routes that its leaves name.

A route may be uncertain: the order of some of its neighbors is open, and a lottery picks the next one for each ruster
(`thalweg.kernels.lottery`). `routes` has these filters in any order that respects the guards.

Reference: Nehme et al. 2013, sections 3 and 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thalweg.optimizer.mesh.tree import Leaf, RouteTree

OpenSets = tuple[tuple[int, int], ...]
"""The sets of a route: the first position of each, and the one after its last."""


@dataclass(frozen=True)
class Mesh:
    """A classifier, and by number of route an order of filters.

    >>> Mesh.one_route((1, 0)).routes
    ((1, 0),)
    """

    tree: RouteTree
    routes: tuple[tuple[int, ...], ...]
    version: int = 0
    default: int = 0
    """The route of rows whose own route has too few rows in a slice."""
    least_rows: int = 1
    """The fewest rows of a slice that are worth a route of their own."""
    open_sets: tuple[OpenSets, ...] = ()
    """By route, the sets of neighbors whose order is open. Empty if all routes are certain."""
    slices: tuple[tuple[float, ...], ...] = ()
    """By route and filter, its slice of the lottery in an open set: what it drops there per ns. Empty: equal slices."""

    def __post_init__(self) -> None:
        assert len(self.open_sets) in (0, len(self.routes)), "one entry per route"
        for route, sets in zip(self.routes, self.open_sets, strict=False):
            edges = [edge for begin, end in sets for edge in (begin, end)]
            assert [0, *edges, len(route)] == sorted([0, *edges, len(route)]), (
                "sets are in the route, and do not overlap"
            )

    @property
    def uncertain(self) -> bool:
        """Whether the order of some filters is open."""
        return any(self.open_sets)

    def token(self, route: int) -> str:
        """Return a route as the paper writes it.

        >>> Mesh(RouteTree(Leaf(0, 1.0)), ((2, 3, 1, 4),), open_sets=(((1, 3),),)).token(0)
        '<2, 3|1, 4>'
        """
        order = self.routes[route]
        ends = dict(self.open_sets[route]) if self.open_sets else {}
        parts, at = [], 0
        while at < len(order):
            end = ends.get(at, at + 1)
            parts.append("|".join(str(k) for k in order[at:end]))
            at = end
        return f"<{', '.join(parts)}>"

    @classmethod
    def one_route(cls, order: tuple[int, ...], version: int = 0) -> Mesh:
        """Return the mesh that sends all rows along one route."""
        return cls(RouteTree(Leaf(0, 1.0)), (tuple(order),), version)

    @property
    def columns(self) -> tuple[str, ...]:
        """The classifier columns that the tree reads."""
        return self.tree.columns

    def to_dict(self) -> dict[str, Any]:
        """Return the mesh as JSON values."""
        stored = {
            "tree": self.tree.to_dict(), "routes": [list(route) for route in self.routes], "version": self.version,
            "default": self.default, "least_rows": self.least_rows,
        }  # fmt: skip
        if self.uncertain:
            stored["open_sets"] = [[list(edges) for edges in sets] for sets in self.open_sets]
            stored["slices"] = [list(slices) for slices in self.slices]
        return stored

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Mesh:
        """Return the mesh that `to_dict` described."""
        routes = tuple(tuple(int(k) for k in route) for route in stored["routes"])
        return cls(
            RouteTree.from_dict(stored["tree"]), routes, int(stored["version"]), int(stored["default"]),
            int(stored["least_rows"]),
            tuple(tuple((int(begin), int(end)) for begin, end in sets) for sets in stored.get("open_sets", ())),
            tuple(tuple(float(each) for each in slices) for slices in stored.get("slices", ())),
        )  # fmt: skip
