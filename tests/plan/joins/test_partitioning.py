"""The class that spreads a join over buckets: which is chosen, and that the rows of a result are in one bucket."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.joins.generated import Case, cases, graphs
from thalweg.errors import PlanError
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.partitioning import Partitioning


def graph_of(on: str) -> JoinGraph:
    return JoinPlan.of(on, 1, "t", 0).graph


def test_one_class_covers_a_star_of_equal_keys() -> None:
    by = Partitioning.of(graph_of("a.k = b.m AND a.k = c.n"))
    assert (by.key, by.columns, by.replicated, by.broadcast) == (0, {"a": "k", "b": "m", "c": "n"}, (), ())
    assert by.reason == "the only columns that must be equal"


def test_the_class_with_the_most_streams_is_chosen() -> None:
    by = Partitioning.of(graph_of("a.x = b.x AND b.y = c.y AND c.y = d.y"))
    assert (by.columns, by.replicated) == ({"b": "y", "c": "y", "d": "y"}, ("a",))
    assert by.reason == "3 of 4 streams have such a column, more than for any other"


def test_the_first_written_of_equal_classes_is_chosen() -> None:
    chain = Partitioning.of(graph_of("a.x = b.x AND b.y = c.y AND c.z = d.z"))
    assert (chain.columns, chain.replicated) == ({"a": "x", "b": "x"}, ("c", "d"))
    assert chain.reason == "2 of 4 streams have such a column, as many as for others, and it is written first"
    # also where a class grows later than the other
    late = Partitioning.of(graph_of("a.x = b.x AND b.y = c.y AND c.y = d.y AND a.x = e.x"))
    assert late.columns == {"a": "x", "b": "x", "e": "x"}
    both = Partitioning.of(graph_of("a.x = b.x AND a.y = b.y"))
    assert both.columns == {"a": "x", "b": "x"}
    assert both.reason == "all streams have such a column, and it is the first written of those"


def test_classes_that_are_merged_later_keep_the_first_position() -> None:
    graph = graph_of("a.k = b.k AND b.m = c.m AND d.k = e.k AND b.k = d.k")
    assert [set(members) for members in graph.column_of] == [set("abde"), set("bc")]


def test_sizes_count_if_they_are_known_for_all_streams() -> None:
    graph = graph_of("a.x = b.x AND b.y = c.y AND c.y = d.y")
    large = {"a": 10**6, "b": 5, "c": 10, "d": 10}
    by = Partitioning.of(graph, sizes=large)
    assert (by.columns, by.replicated) == ({"a": "x", "b": "x"}, ("c", "d"))
    assert by.reason == "streams with such a column have 1,000,005 of 1,000,025 rows, more than for any other"
    assert "1,000,005 of 1,000,025 bytes, more" in Partitioning.of(graph, sizes=large, unit="bytes").reason
    del large["d"]
    assert Partitioning.of(graph, sizes=large) == Partitioning.of(graph)
    assert Partitioning.of(graph, ["d"], large).columns == {"a": "x", "b": "x"}  # a table's size is not asked for
    assert Partitioning.of(graph, sizes=dict.fromkeys("abcd", 0)).columns == Partitioning.of(graph).columns


def test_tables_are_broadcast_and_cover_nothing() -> None:
    graph = graph_of("a.x = b.x AND b.y = c.y AND c.y = d.y")
    by = Partitioning.of(graph, ["d", "c"])
    assert (by.columns, by.replicated, by.broadcast) == ({"a": "x", "b": "x"}, (), ("c", "d"))
    # two streams that meet only through a table
    apart = Partitioning.of(graph_of("a.x = t.x AND t.y = b.y"), ["t"])
    assert (apart.columns, apart.replicated, apart.broadcast) == ({"a": "x"}, ("b",), ("t",))
    with pytest.raises(PlanError, match="a, b are all tables"):
        Partitioning.of(graph_of("a.x = b.x"), "ab")


@given(drawn=graphs(), data=st.data())
def test_no_other_class_covers_more(drawn: tuple[list[str], list[tuple[str, str, int]]], data: st.DataObject) -> None:
    aliases, edges = drawn
    graph = JoinGraph.of([(one, f"k{c}", other, f"k{c}") for one, other, c in edges], aliases)
    tables = data.draw(st.lists(st.sampled_from(aliases), unique=True, max_size=len(aliases) - 1))
    sizes = data.draw(st.none() | st.fixed_dictionaries({alias: st.integers(0, 9) for alias in aliases}))
    by = Partitioning.of(graph, tables, sizes)
    streams = [alias for alias in graph.aliases if alias not in tables]
    assert sorted([*by.columns, *by.replicated]) == sorted(streams)
    assert by.columns == {a: column for a, column in graph.classes[by.key] if a in streams}
    assert set(by.columns), "something is spread"
    weights = [
        sum(1 if sizes is None else sizes[alias] for alias, _ in members if alias in streams)
        for members in graph.classes
    ]
    assert weights[by.key] == max(weights)


@settings(max_examples=60)
@given(case=cases(), buckets=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_the_rows_of_a_result_are_in_one_bucket(case: Case, buckets: int, seed: int) -> None:
    """Whichever function spreads the keys, the results are those of DuckDB."""
    binding = case.binding
    by = Partitioning.of(binding.plan.graph, binding.plan.tables)
    places: dict[str, list[set[int]]] = {}
    for alias, stream in case.streams.items():
        table = stream.table.combine_chunks()
        if alias not in by.columns:
            places[alias] = [set(range(buckets))] * table.num_rows
            continue
        rows = [binding.plain(alias, batch) for batch in table.to_batches()]
        words = [w for batch in rows for w in binding.kinds[by.key].words(batch.column(by.columns[alias]))[0].tolist()]
        places[alias] = [{hash((word, seed)) % buckets} for word in words]
    for result in case.expected_ids():
        ids = dict(zip(case.streams, result[:-1], strict=True))
        meeting = set.intersection(*(places[alias][row] for alias, row in ids.items()))
        assert len(meeting) == 1
