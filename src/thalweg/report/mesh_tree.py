"""The classifier of a mesh as a tree to be drawn: conditions on the way down, routes at the leaves.

Leaves below one test that have the same route are drawn as one, so null and unseen values usually add no lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.draw.plan_tree import TreeItem
from thalweg.formatting import duration, few_digits, listed, percent, plural
from thalweg.printable import printable
from thalweg.report.mesh_values import below, condition, cut_texts, others_text, value_text

ARROW = " → "
"""Between the predicates of a route."""


@dataclass(frozen=True, slots=True)
class MeshWords:
    """The words for the rows and the predicates of a mesh."""

    rows: str = ""
    """Which rows take its routes, such as "a" for those of stream a; empty for all."""
    evaluation: str = "evaluation"
    """What is counted: an evaluation of a predicate, or a probe of a join."""

    def counted(self, per_row: float) -> str:
        """Return a number of evaluations per row.

        >>> MeshWords().counted(1.0), MeshWords(evaluation="probe").counted(1.234)
        ('1 evaluation', '1.23 probes')
        """
        number = few_digits(per_row)
        return f"{number} {self.evaluation}{'' if number == '1' else 's'}"


OF_FILTERS = MeshWords()


@dataclass(frozen=True, slots=True)
class RouteReport:
    """An order of predicates that some of the rows follow, and what was counted on these rows."""

    order: tuple[str, ...]
    rows: int = 0
    evaluated: int = 0
    """Evaluations of predicates on these rows by regular processing."""
    ns: float | None = None
    """The time of these evaluations; None if it is not known."""

    @property
    def evaluations_per_row(self) -> float | None:
        """Evaluations per row; None if the route has no rows."""
        return self.evaluated / self.rows if self.rows else None

    @property
    def ns_per_row(self) -> float | None:
        """Time per row; None if it is not known."""
        return self.ns / self.rows if self.rows and self.ns is not None else None

    def __str__(self) -> str:
        return ARROW.join(map(printable, self.order))


def routes_of(tree: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the routes to which a tree leads, in the order of their numbers."""
    return tuple(sorted({leaf["route"] for leaf in _leaves(tree)}))


def columns_of(tree: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that a tree tests, in the order of their first test."""
    found: dict[str, None] = {}
    if "route" not in tree:
        found[tree["column"]] = None
        for node in below(tree):
            found |= dict.fromkeys(columns_of(node))
    return tuple(found)


def mesh_tree(
    tree: Mapping[str, Any], routes: Sequence[RouteReport], version: int, words: MeshWords = OF_FILTERS
) -> TreeItem:
    """Return what is to be drawn of a mesh. `tree`: what `RouteTree.to_dict` or `redacted_tree` returned."""
    used = routes_of(tree)
    of = f" of {printable(words.rows)}" if words.rows else ""
    if len(used) == 1:
        route = routes[used[0]]
        return TreeItem(f"One route{of}:", (str(route), *_counted(route, sum(each.rows for each in routes), words)))
    by = listed([printable(column) for column in columns_of(tree)])
    branches, routed = _Drawing(tree, routes, words).branches(tree), f"{len(used)} routes by {by}"
    if words.rows:
        return TreeItem(f"Mesh{of}:", (f"version {version}, {routed}",), branches)
    return TreeItem("Mesh", (f"version {version}: {routed}",), branches)


class _Drawing:
    """Draws the nodes of one tree."""

    def __init__(self, tree: Mapping[str, Any], routes: Sequence[RouteReport], words: MeshWords) -> None:
        self.routes, self.words = routes, words
        self.rows = sum(route.rows for route in routes)
        self.cuts = cut_texts(tree)
        self.drawn: dict[int, int] = {}
        """By route, the number of leaves that are drawn."""
        waiting = [tree]
        while waiting:
            node = waiting.pop()
            for each in _merged(self._conditions(node)):
                if isinstance(each, _Leaves):
                    self.drawn[each.route] = self.drawn.get(each.route, 0) + 1
                else:
                    waiting.append(each.node)

    def branches(self, node: Mapping[str, Any]) -> tuple[TreeItem, ...]:
        """Return the branches below a test."""
        items = []
        for each in _merged(self._conditions(node)):
            words = condition(node["column"], each.values, each.others)
            if isinstance(each, _Leaves):
                items.append(TreeItem(f"{words}:", tuple(self._leaf(each))))
            else:
                items.append(TreeItem(words, (), self.branches(each.node)))
        return tuple(items)

    def _leaf(self, leaves: _Leaves) -> list[str]:
        route = self.routes[leaves.route]
        counted = _counted(route, self.rows, self.words)
        sampled = f"{percent(leaves.share)} of the sampled rows"
        if not counted:
            numbers = [sampled]
        elif self.drawn[leaves.route] == 1:
            numbers = counted
        else:
            numbers = [sampled, f"route {leaves.route + 1} in all: {counted[0]}"]
        return [f"route {leaves.route + 1}", str(route), *numbers]

    def _conditions(self, node: Mapping[str, Any]) -> list[_Branch]:
        if "route" in node:
            return []
        hidden = bool(node.get("redacted"))
        others = [_Branch([], ["null"], node["null"]), _Branch([], [others_text(node["kind"])], node["other"])]
        if "cut" in node:
            if node["cut"] is None:
                return [_Branch([f"a {node['kind']}"], [], node["low"]), *others]
            cut = str(node["cut"]) if hidden else self.cuts[node["column"], float(node["cut"])]
            low, high = _Branch([f"at most {cut}"], [], node["low"]), _Branch([f"above {cut}"], [], node["high"])
            return [low, high, *others]
        word = str if hidden else value_text
        known = [_Branch([word(value) for value in group], [], child) for group, child in node["branches"] if group]
        return [*known, *others]


@dataclass
class _Branch:
    """Values of a column, and the node that follows."""

    values: list[str]
    others: list[str]
    node: Mapping[str, Any]


@dataclass
class _Leaves:
    """Values of a column after which rows take the same route."""

    values: list[str]
    others: list[str]
    route: int
    share: float


def _merged(branches: Sequence[_Branch]) -> list[_Branch | _Leaves]:
    """Return the branches, with one for all leaves of a route."""
    found: list[_Branch | _Leaves] = []
    leaves: dict[int, _Leaves] = {}
    for each in branches:
        if "route" not in each.node:
            found.append(each)
            continue
        route, share = each.node["route"], float(each.node.get("share", 0.0))
        if (known := leaves.get(route)) is None:
            leaves[route] = _Leaves(list(each.values), list(each.others), route, share)
            found.append(leaves[route])
        else:
            known.values += each.values
            known.others += each.others
            known.share += share
    return found


def _leaves(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [node] if "route" in node else [leaf for child in below(node) for leaf in _leaves(child)]


def _counted(route: RouteReport, rows: int, words: MeshWords) -> list[str]:
    """Return the numbers of a route; none if no rows were counted."""
    if not rows:
        return []
    each, ns = route.evaluations_per_row, route.ns_per_row
    if each is None:
        return ["0 % of the rows"]
    cost = f" and {duration(ns)}" if ns is not None else ""
    return [f"{percent(route.rows / rows)} of the rows, {words.counted(each)}{cost} per row"]


def unreached(tree: Mapping[str, Any], routes: Sequence[RouteReport]) -> list[str]:
    """Return a line for each route that rows took although no leaf leads to it."""
    reached = set(routes_of(tree))
    return [
        f"{plural(route.rows, 'row')} took route {number + 1}, to which no branch leads: {route}"
        for number, route in enumerate(routes)
        if route.rows and number not in reached
    ]
