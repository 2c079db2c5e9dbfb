"""Join graphs: classes of equal columns, the tree below each stream, and which stream must come before which."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.joins.generated import graphs
from thalweg.errors import PlanError
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.shape import check_shape, left_deep, streams_of, to_text


def graph_of(on: str) -> JoinGraph:
    return JoinPlan.of(on, 1, "t", 0).graph


def test_columns_that_are_equal_through_others_are_one_class() -> None:
    graph = graph_of("a.k = b.m AND b.m = c.n")
    assert graph.column_of == ({"a": "k", "b": "m", "c": "n"},)
    assert graph.tree("a").parents == {"b": "a", "c": "a"}
    assert graph.tree("c").parents == {"a": "c", "b": "c"}


def test_classes_that_are_connected_later_are_merged() -> None:
    graph = graph_of("a.k = b.k AND c.k = d.k AND b.k = c.k")
    assert [set(members) for members in graph.column_of] == [set("abcd")]


def test_a_star_a_chain_and_the_precedence_of_windows() -> None:
    star = graph_of("a.x = b.x AND a.y = c.y AND a.z = d.z")
    assert star.tree("a").parents == dict.fromkeys("bcd", "a")
    assert star.tree("a").pipeline().guards == ((), (), ())
    assert star.tree("b").parents == {"a": "b", "c": "a", "d": "a"}
    assert star.tree("b").pipeline().guards == ((), (0,), (0,))  # c and d after a
    chain = graph_of("a.x = b.x AND b.y = c.y AND c.z = d.z")
    assert chain.tree("a").path("d") == ("b", "c", "d")
    assert chain.tree("b").pipeline().guards == ((), (), (1,))  # of a, c and d: d after c


def test_a_cycle_leaves_a_class_to_be_checked() -> None:
    graph = graph_of("a.x = b.x AND b.y = c.y AND c.z = a.z")
    tree = graph.tree("a")
    assert tree.parents == {"b": "a", "c": "a"}
    assert (tree.key("b"), tree.key("c")) == ((0,), (2,))
    assert (tree.unused("b"), tree.unused("c")) == ((1,), (1,))
    assert set(graph.keys_of("b")) == {(0,), (1,)}


def test_several_columns_per_edge_are_one_key() -> None:
    graph = graph_of("a.x = b.x AND a.y = b.y AND b.z = c.z")
    assert graph.shared("a", "b") == (0, 1)
    assert graph.keys_of("a") == ((0, 1),)
    assert set(graph.keys_of("b")) == {(0, 1), (2,)}


def test_two_columns_of_a_stream_in_one_class_are_compared() -> None:
    graph = graph_of("a.k = b.k AND a.m = b.k AND a.n = a.k")
    assert graph.column_of == ({"a": "k", "b": "k"},)
    assert graph.within == (("a", "k", "m"), ("a", "k", "n"))
    assert graph_of("a.k = b.k AND a.n = a.n").within == (("a", "n", "n"),)


def test_the_error_names_every_part_of_an_unconnected_graph() -> None:
    with pytest.raises(PlanError, match=r"no equality .* links \{a, b\} and \{c, d\} and \{e\}; add one"):
        JoinGraph.of([("a", "k", "b", "k"), ("c", "k", "d", "k")], ["a", "b", "c", "d", "e"])


@settings(max_examples=200)
@given(drawn=graphs(), order=st.randoms(use_true_random=False))
def test_trees_of_any_graph(drawn: tuple[list[str], list[tuple[str, str, int]]], order: Random) -> None:
    """Each stream is below one with which it shares its key, as near to the root as the graph allows. Every class is
    part of the key of an edge, or left to be checked."""
    aliases, edges = drawn
    equalities = [(one, f"k{c}", other, f"k{c}") for one, other, c in edges]
    order.shuffle(equalities)
    graph = JoinGraph.of(equalities, aliases)
    assert {frozenset(members) for members in graph.column_of} == components(edges)
    for root in aliases:
        tree = graph.tree(root)
        distance = distances(graph, root)
        assert set(tree.parents) == set(aliases) - {root} == set(tree.others)
        for alias, parent in tree.parents.items():
            assert tree.key(alias) == graph.shared(alias, parent) != ()
            assert distance[parent] == distance[alias] - 1
            assert sorted(tree.key(alias) + tree.unused(alias)) == list(graph.classes_of(alias))
            assert tree.key(alias) in graph.keys_of(alias)
            assert tree.key(alias) in graph.keys_of(parent)
            for c in tree.unused(alias):
                for other in graph.column_of[c]:  # compared when both are chosen, unless the one is found by the other
                    if other != alias and (other == root or alias not in tree.path(other)):
                        assert (c,) in graph.keys_of(alias)
                        assert (c,) in graph.keys_of(other)
        pipeline = tree.pipeline()
        for k, guards in enumerate(pipeline.guards):
            parent = tree.parents[pipeline.names[k]]
            assert [pipeline.names[g] for g in guards] == ([] if parent == root else [parent])


def components(edges: list[tuple[str, str, int]]) -> set[frozenset[str]]:
    """Return the sets of streams whose columns with the same number are connected by equalities, each set once."""
    found = []
    for c in {c for *_, c in edges}:
        parts = [{one, other} for one, other, number in edges if number == c]
        while True:
            pair = next(((p, q) for p, q in itertools.combinations(parts, 2) if p & q), None)
            if pair is None:
                break
            parts = [part for part in parts if part not in pair] + [pair[0] | pair[1]]
        found += parts
    return {frozenset(part) for part in found}


def distances(graph: JoinGraph, root: str) -> dict[str, int]:
    """Return the depth of each stream by breadth-first search, implemented independently."""
    found, at = {root: 0}, 0
    while len(found) < len(graph.aliases):
        near = [alias for alias, steps in found.items() if steps == at]
        at += 1
        for alias in graph.aliases:
            if alias not in found and any(graph.shared(alias, other) for other in near):
                found[alias] = at
    return found


def test_shapes_of_trees() -> None:
    graph = graph_of("a.x = b.x AND b.y = c.y AND c.z = d.z")
    check_shape(left_deep(["a", "b", "c", "d"]), graph)
    check_shape((("a", "b"), ("c", "d")), graph)
    assert streams_of((("a", "b"), ("c", "d"))) == ("a", "b", "c", "d")
    assert to_text((("a", "b"), "c")) == "((a b) c)"
    with pytest.raises(PlanError, match=r"\(a c\).*\{a\} with \{c\}"):
        check_shape((("a", "c"), ("b", "d")), graph)
    with pytest.raises(PlanError, match=r"each of a, b, c, d once"):
        check_shape((("a", "b"), "c"), graph)
    with pytest.raises(PlanError, match="once"):
        check_shape(((("a", "b"), "c"), ("d", "a")), graph)
