"""All plans of a join of a few streams: every way to keep connected sub-joins, none to all of them.

>>> graph = JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")])
>>> [plan_of(shape) for shape in all_shapes(graph)]
['multiway', '(a (b c))', '((a b) c)']
"""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape, of_text, to_text

MULTIWAY = "multiway"


def all_shapes(graph: JoinGraph) -> list[Shape]:
    """Return every shape whose joins are connected, with inputs of any number; the multiway join first."""
    found = list(_shapes(graph, graph.aliases))
    return sorted(found, key=lambda shape: sum(isinstance(part, tuple) for part in shape) > 0)


def plan_of(shape: Shape) -> str:
    """Return a shape as `plan=` takes it."""
    return MULTIWAY if all(isinstance(part, str) for part in shape) else to_text(shape)


def same_plan(text: str) -> str:
    """Return one text for all texts of a plan: the order in which inputs are written does not matter.

    >>> same_plan("((c b) a)") == same_plan("(a (b c))")
    True
    """
    return text if text == MULTIWAY else to_text(_sorted(of_text(text)))


def _sorted(shape: Shape) -> Shape:
    return shape if isinstance(shape, str) else tuple(sorted(map(_sorted, shape), key=to_text))


def _shapes(graph: JoinGraph, aliases: tuple[str, ...]) -> Iterator[Shape]:
    if len(aliases) == 1:
        yield aliases[0]
        return
    for parts in _partitions(graph, aliases):
        if len(parts) > 1:
            yield from _combined(graph, parts)


def _combined(graph: JoinGraph, parts: list[tuple[str, ...]]) -> Iterator[tuple[Shape, ...]]:
    if not parts:
        yield ()
        return
    for first in _shapes(graph, parts[0]):
        for rest in _combined(graph, parts[1:]):
            yield (first, *rest)


def _partitions(graph: JoinGraph, aliases: tuple[str, ...]) -> Iterator[list[tuple[str, ...]]]:
    """Yield the ways to divide streams into connected groups; the first stream is in the first group."""
    if not aliases:
        yield []
        return
    first, others = aliases[0], aliases[1:]
    for chosen in range(2 ** len(others)):
        group = (first, *(alias for n, alias in enumerate(others) if chosen >> n & 1))
        if _connected(graph, group):
            rest = tuple(alias for alias in others if alias not in group)
            for parts in _partitions(graph, rest):
                yield [group, *parts]


def _connected(graph: JoinGraph, aliases: tuple[str, ...]) -> bool:
    reached = {aliases[0]}
    while True:
        more = {a for a in aliases if a not in reached and any(graph.shared(a, b) for b in reached)}
        if not more:
            return len(reached) == len(aliases)
        reached |= more
