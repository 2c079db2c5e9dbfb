"""The shape of a tree of binary joins: left-deep `((a, b), c)` or bushy `((a, b), (c, d))`.

>>> shape = (("a", "b"), "c")
>>> streams_of(shape), to_text(shape), left_deep(["a", "b", "c"]) == shape
(('a', 'b', 'c'), '((a b) c)', True)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from thalweg.errors import PlanError
from thalweg.plan.join_graph import JoinGraph

Shape = str | tuple["Shape", "Shape"]


def streams_of(shape: Shape) -> tuple[str, ...]:
    """Return the streams of a tree, from left to right."""
    return (shape,) if isinstance(shape, str) else (*streams_of(shape[0]), *streams_of(shape[1]))


def nodes_of(shape: Shape) -> Iterator[tuple[Shape, Shape]]:
    """Yield the joins of a tree, from the leaves up."""
    if not isinstance(shape, str):
        for part in shape:
            yield from nodes_of(part)
        yield shape


def to_text(shape: Shape) -> str:
    """Return a tree as readable text."""
    return shape if isinstance(shape, str) else f"({to_text(shape[0])} {to_text(shape[1])})"


def left_deep(order: Sequence[str]) -> Shape:
    """Return the tree that joins the first two streams, and then one stream after the other."""
    shape: Shape = order[0]
    for alias in order[1:]:
        shape = (shape, alias)
    return shape


def check_shape(shape: Shape, graph: JoinGraph) -> None:
    """Check that a tree has every stream once, and an equality between the inputs of every join."""
    streams = streams_of(shape)
    if sorted(streams) != sorted(graph.aliases):
        raise PlanError(f"the tree {to_text(shape)} must have each of {', '.join(graph.aliases)} once")
    _check_connected(shape, graph)


def _check_connected(shape: Shape, graph: JoinGraph) -> None:
    if isinstance(shape, str):
        return
    left, right = (streams_of(part) for part in shape)
    if not any(graph.shared(one, other) for one in left for other in right):
        one, other = ("{" + ", ".join(side) + "}" for side in (left, right))
        raise PlanError(f"the tree {to_text(shape)} joins {one} with {other}, which have no equality between them")
    for part in shape:
        _check_connected(part, graph)
