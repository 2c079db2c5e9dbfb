"""The compiled tree gives every row the route that walking the tree gives it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.optimizer.mesh.column_values import key_of, number_of
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.tree import CutNode, Leaf, Node, RouteTree, ValueNode
from thalweg.stats.training_set import LONGEST_KEY, Kind

LONG = "long " * 20_000
TEXTS = ["", "web", "app", "é" * 30, "a" * LONGEST_KEY, "a" * (LONGEST_KEY + 1), LONG, LONG[:-1] + "x", "unseen"]
NUMBERS = [-np.inf, -1.5, -0.0, 0.0, 1.0, 1.5, 2.0, 1e300, np.inf]
TIMES = [datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(2024, 2, 29, 12), datetime(2024, 2, 29, 12, 0, 0, 1)]
VALUES: dict[str, list[Any]] = {"text": TEXTS, "bool": [False, True], "number": NUMBERS, "time": TIMES}
COLUMNS: dict[str, Kind] = {"source": "text", "flag": "bool", "size": "number", "at": "time", "other": "text"}


@st.composite
def nodes(draw: st.DrawFn, depth: int = 3) -> Node:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return Leaf(draw(st.integers(0, 7)), 0.5)
    column = draw(st.sampled_from(sorted(COLUMNS)))
    kind = COLUMNS[column]
    below = nodes(depth - 1)
    if kind in ("number", "time"):
        cut = number_of(draw(st.sampled_from(VALUES[kind])))
        return CutNode(column, kind, cut, draw(below), draw(below), draw(below), draw(below))
    known = draw(st.lists(st.sampled_from(VALUES[kind][:8]), unique=True, max_size=6))
    cuts = sorted(draw(st.lists(st.integers(0, len(known)), max_size=2)))
    groups = [known[a:b] for a, b in zip([0, *cuts], [*cuts, len(known)], strict=True)]
    branches = tuple((tuple(map(key_of, group)), draw(below)) for group in groups)
    return ValueNode(column, kind, branches, draw(below), draw(below))


@st.composite
def columns(draw: st.DrawFn, rows: int) -> dict[str, pa.Array | pa.ChunkedArray]:
    """Columns of the kinds that trees expect, or of other ones; plain, chunked or dictionary-encoded."""
    found: dict[str, pa.Array | pa.ChunkedArray] = {}
    for name, kind in COLUMNS.items():
        if draw(st.integers(0, 9)) == 0:
            continue  # missing
        here = draw(st.sampled_from(["text", "number", "nested", "null"])) if draw(st.integers(0, 9)) == 0 else kind
        known = {**VALUES, "nested": [[1], []], "null": [None]}[here]
        values = draw(st.lists(st.sampled_from([*known, None]), min_size=rows, max_size=rows))
        if here == "number":
            values = [np.nan if value is not None and draw(st.integers(0, 9)) == 0 else value for value in values]
        array = pa.array(values, {"text": pa.string(), "number": pa.float64()}.get(here))
        form = draw(st.sampled_from(["plain", "chunked", "dictionary", "large"]))
        if form == "dictionary" and here not in ("nested", "null"):
            array = array.dictionary_encode()
        elif form == "large" and here == "text":
            array = array.cast(pa.large_string())
        elif form == "chunked":
            array = pa.chunked_array([array.slice(0, rows // 2), array.slice(rows // 2)])
        found[name] = array
    return found


def walked(tree: RouteTree, found: dict[str, pa.Array | pa.ChunkedArray], rows: int) -> list[int]:
    lists = {name: column.to_pylist() for name, column in found.items()}
    return [tree.route_of({name: values[i] for name, values in lists.items()}) for i in range(rows)]


@examples(150, long=5_000)
@given(nodes(), st.data(), st.integers(0, 12))
def test_the_compiled_tree_is_the_walked_tree(root: Node, data: st.DataObject, rows: int) -> None:
    tree = RouteTree(root)
    found = data.draw(columns(rows))
    expected = walked(tree, found, rows)
    assert tree.compiled().classify(found, rows).tolist() == expected
    stored = RouteTree.from_dict(json.loads(json.dumps(tree.to_dict())))
    assert stored == tree
    assert stored.compiled().classify(found, rows).tolist() == expected


@pytest.mark.parametrize("type_", [pa.int8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(9, 2)])
def test_numbers_of_all_types_are_compared_with_thresholds(type_: pa.DataType) -> None:
    number = Decimal if pa.types.is_decimal(type_) else np.float16 if type_ == pa.float16() else int
    tree = RouteTree(CutNode("n", "number", 2.0, Leaf(1), Leaf(2), Leaf(3), Leaf(4)))
    column = pa.array([None if n is None else number(n) for n in (1, 2, 3, None)], type_)
    assert tree.compiled().classify({"n": column}, 4).tolist() == [1, 1, 2, 3]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_times_of_all_units_are_compared_as_instants(unit: str, zone: str | None) -> None:
    cut = number_of(datetime(2024, 1, 1, tzinfo=UTC))
    tree = RouteTree(CutNode("t", "time", cut, Leaf(1), Leaf(2), Leaf(3), Leaf(4)))
    seconds = [int(datetime(2024, 1, 1, 0, 0, s, tzinfo=UTC).timestamp()) for s in (0, 1)]
    column = pa.array([*seconds, None], pa.timestamp("s")).cast(pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
    assert tree.compiled().classify({"t": column}, 3).tolist() == [1, 2, 3]
    assert walked(tree, {"t": column}, 3) == [1, 2, 3]


def test_dates_are_times() -> None:
    tree = RouteTree(CutNode("d", "time", number_of(date(2024, 1, 1)), Leaf(1), Leaf(2), Leaf(3), Leaf(4)))
    column = pa.array([date(2024, 1, 1), date(2024, 1, 2), None])
    assert tree.compiled().classify({"d": column}, 3).tolist() == [1, 2, 3]


def test_texts_that_are_not_utf_8_have_a_route() -> None:
    raw = pa.array([b"\xff\xfe", b"\xff" * 100, b"ok"])
    column = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    tree = RouteTree(
        ValueNode("s", "text", (((key_of(b"\xff\xfe"), key_of(b"\xff" * 100)), Leaf(1)),), Leaf(2), Leaf(3))
    )
    stored = RouteTree.from_dict(json.loads(json.dumps(tree.to_dict())))
    assert stored.compiled().classify({"s": column}, 3).tolist() == [1, 1, 3]


def test_long_texts_take_little_room_and_keep_their_routes() -> None:
    texts = [f"{i}" + "x" * 100_000 + f"{i}" for i in range(50)]
    branches = tuple(((key_of(text),), Leaf(i % 5)) for i, text in enumerate(texts))
    tree = RouteTree(ValueNode("s", "text", branches, Leaf(5), Leaf(6)))
    stored = json.dumps(Mesh(tree, ((0,),)).to_dict())
    assert len(stored) < 10_000
    again = Mesh.from_dict(json.loads(stored)).tree
    expected = [i % 5 for i in range(50)]
    assert again.compiled().classify({"s": pa.array(texts)}, 50).tolist() == expected
    assert [again.route_of({"s": text}) for text in texts] == expected


def test_the_size_of_a_tree_is_counted() -> None:
    inner = CutNode("size", "number", 1.0, Leaf(0, 0.25), Leaf(1, 0.25), Leaf(0), Leaf(0))
    tree = RouteTree(ValueNode("source", "text", (((b"a",), inner), ((b"b",), Leaf(2, 0.5))), Leaf(0), Leaf(0)))
    assert (tree.depth, tree.nodes, tree.leaves, tree.columns) == (2, 2, 3, ("source", "size"))
    mesh = Mesh(tree, ((0, 1), (1, 0), (0, 1)), 3)
    assert Mesh.from_dict(json.loads(json.dumps(mesh.to_dict()))) == mesh
