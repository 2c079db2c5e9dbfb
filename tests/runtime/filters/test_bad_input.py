"""Unusual input and predicates: empty, null, nested, huge, odd, rude. An oracle evaluates everything."""

from __future__ import annotations

import datetime
import decimal
import itertools
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thalweg as tw
from thalweg.adapt import POLICIES, setting_names


def rows(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


def always(*values: Any) -> bool:
    return True


@pytest.mark.parametrize("batches", [[], [pa.record_batch({"x": pa.array([], pa.int64())})] * 3], ids=["no", "empty"])
def test_an_empty_stream(batches: list[pa.RecordBatch]) -> None:
    keep = tw.filters(tw.predicate(always, "x"), tw.predicate(lambda x: 1 / 0, "x", name="raises"))
    assert rows(keep.over(batches)) == []
    assert keep.report().sections == ()


def test_empty_batches_between() -> None:
    batches = [pa.record_batch({"x": pa.array(v, pa.int64())}) for v in ([], [1, 2], [], [3], [])]
    assert [b.num_rows for b in tw.filters(tw.predicate(lambda x: x != 2, "x", name="p")).over(batches)] == [
        0,
        1,
        0,
        1,
        0,
    ]


@pytest.mark.parametrize("kind", [pa.null(), pa.int64(), pa.string(), pa.list_(pa.int64()), pa.bool_()], ids=str)
def test_a_column_of_nulls(kind: pa.DataType) -> None:
    table = pa.table({"x": pa.nulls(5, kind)})
    assert len(rows(tw.filters(tw.predicate(lambda x: x is None, "x", name="null")).over(table))) == 5
    assert rows(tw.filters(tw.predicate(lambda x: x, "x", name="truth")).over(table)) == []
    valid = tw.predicate(lambda x: x.is_valid(), "x", name="valid", vectorized=True)
    assert rows(tw.filters(valid).over(table)) == []


def test_no_columns() -> None:
    with pytest.raises(tw.PlanError, match="reads no column: name its columns"):
        tw.predicate(always)
    keep = tw.filters(tw.predicate(always, "x"))
    with pytest.raises(tw.PlanError, match="no column 'x'; there are none"):
        keep.over(pa.table({}))
    with pytest.raises(tw.PlanError, match="no column 'x'; there are none"):
        list(keep.over(iter([pa.RecordBatch.from_arrays([], [])])))


def test_long_strings_and_binary() -> None:
    long = ["x" * 10**5, "y" * 10**5 + "!", ""] * 20
    table = pa.table({"s": long, "b": [s.encode() for s in long]})
    keep = tw.filters(
        tw.predicate(lambda s: s.endswith("!"), "s", name="text"),
        tw.predicate(lambda b: isinstance(b, bytes) and b[:1] == b"y", "b", name="bytes"),
    )
    assert len(rows(keep.over(table))) == 20
    failing = tw.filters(tw.predicate(lambda s: s[10**6], "s", name="far"))
    with pytest.raises(tw.FailedRowError) as caught:
        list(failing.over(table))
    assert len(str(caught.value)) < 1000


def test_batches_of_one_row() -> None:
    batches = [pa.record_batch({"x": [i]}) for i in range(300)]
    keep = tw.filters(
        tw.predicate(lambda x: x % 2, "x", name="odd"),
        tw.predicate(lambda x: x % 3, "x", name="thirds"),
        policy="a-greedy(p=1.0)",
    )
    assert [r["x"] for r in rows(keep.over(batches))] == [i for i in range(300) if i % 2 and i % 3]


ANSWERS: list[tuple[Any, bool]] = [
    (None, False), (math.nan, True), (np.True_, True), (np.False_, False), (re.match("a", "a"), True),
    (re.match("a", "b"), False), (0, False), ("", False), ("false", True), ([], False), (np.float64("nan"), True),
    (np.int64(0), False), (decimal.Decimal(0), False), (pa.scalar(1).as_py(), True), (b"", False), (Ellipsis, True),
]  # fmt: skip


@pytest.mark.parametrize("answer", range(len(ANSWERS)))
def test_whatever_a_function_of_one_row_returns_has_its_truth(answer: int) -> None:
    value, passes = ANSWERS[answer]
    keep = tw.filters(tw.predicate(lambda x: value, "x", name="p"))
    assert len(rows(keep.over(pa.table({"x": [1, 2]})))) == (2 if passes else 0)


def test_a_value_without_a_truth_fails_the_row() -> None:
    keep = tw.filters(tw.predicate(lambda x: pd.NA, "x", name="p"), on_error="dead-letter")
    (row,) = rows(keep.tagged_over(pa.table({"x": [1]})))
    assert [e["predicate"] for e in row["thalweg_errors"]] == ["p"]


@pytest.mark.parametrize("value", [np.array([1, 2]), pa.scalar(True)], ids=["array", "Arrow scalar"])
@pytest.mark.parametrize("on_error", ["raise", "dead-letter"])
def test_an_array_or_an_arrow_scalar_is_no_answer_in_either_mode(value: Any, on_error: str) -> None:
    keep = tw.filters(tw.predicate(lambda x: value, "x", name="p"), on_error=on_error)
    with pytest.raises(tw.PredicateError, match="did you forget vectorized=True"):
        list(keep.over(pa.table({"x": [1]})))


def test_a_predicate_that_prints(capsys: pytest.CaptureFixture[str]) -> None:
    keep = tw.filters(tw.predicate(lambda x: print("row", x) is None, "x", name="prints"))
    assert len(rows(keep.over(pa.table({"x": [1, 2]})))) == 2
    assert capsys.readouterr().out == "row 1\nrow 2\n"


NESTED = {
    "list": pa.array([[3, 1, 2], [], [5]] * 20),
    "struct": pa.array([{"a": 1, "b": [2]}, {"a": None, "b": []}, {"a": 5, "b": None}] * 20),
    "map": pa.array([[("k", 1)], [], [("k", 2), ("l", 3)]] * 20, pa.map_(pa.string(), pa.int64())),
    "list of structs": pa.array([[{"a": 1}], [], [{"a": 2}, {"a": 3}]] * 20),
}


def rude(value: Any) -> bool:
    passes = len(value) != 1
    inner = value if isinstance(value, list) else value["b"]
    for item in inner or ():
        if isinstance(item, dict):
            item.clear()
    if inner is not None:
        inner.clear()
    value.clear()
    return passes


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("policy", ["static", "a-greedy"])
def test_a_predicate_that_changes_its_input_affects_no_other(kind: str, policy: str) -> None:
    table = pa.table({"v": NESTED[kind]})
    before = table.to_pylist()
    shown: list[Any] = []

    def looks(value: Any) -> bool:
        shown.append(value)
        return True

    keep = tw.filters(
        tw.predicate(rude, "v", name="first"),
        tw.predicate(looks, "v"),
        tw.predicate(rude, "v", name="again"),
        policy="a-greedy(p=1.0)" if policy == "a-greedy" else policy,
        slice_rows=7,
    )
    expected = [row for row in before if len(row["v"]) != 1]
    assert rows(keep.over(table)) == expected
    assert table.to_pylist() == before
    assert all(value in NESTED[kind].to_pylist() for value in shown)


def test_a_vectorized_predicate_cannot_change_its_input() -> None:
    def rude_array(x: pa.Array) -> pa.Array:
        x.to_numpy()[:] = 0  # raises: the view is read-only
        return x.is_valid()

    keep = tw.filters(tw.predicate(rude_array, "x", vectorized=True), on_error="dead-letter")
    table = pa.table({"x": [1, 2, 3]})
    assert [r["x"] for r in rows(keep.failed_over(table))] == [1, 2, 3]
    assert table["x"].to_pylist() == [1, 2, 3]


VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int": (pa.int64(), st.integers(-3, 3)),
    "uint8": (pa.uint8(), st.integers(0, 255)),
    "float": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf, 1e308])),
    "bool": (pa.bool_(), st.booleans()),
    "text": (pa.string(), st.sampled_from(["", "a", "7", "ü", "\x00", "\U0001f30a", "x" * 300])),
    "large text": (pa.large_string(), st.text(max_size=3)),
    "binary": (pa.binary(), st.binary(max_size=3)),
    "decimal": (pa.decimal128(6, 2), st.sampled_from([decimal.Decimal("1.10"), decimal.Decimal("-0.00")])),
    "date": (pa.date32(), st.dates()),
    "time": (pa.timestamp("us", "UTC"), st.just(datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC))),
    "list": (pa.list_(pa.int64()), st.lists(st.none() | st.integers(0, 9), max_size=3)),
    "struct": (pa.struct([("a", pa.int64()), ("b", pa.string())]),
               st.fixed_dictionaries({"a": st.none() | st.integers(0, 5), "b": st.none() | st.text(max_size=2)})),
    "map": (pa.map_(pa.string(), pa.int64()), st.lists(st.tuples(st.text(max_size=1), st.integers(0, 3)), max_size=2)),
    "null": (pa.null(), st.none()),
}  # fmt: skip

FUNCTIONS: dict[str, Any] = {
    # of one value of any type: some raise on some types, some on nulls, some answer with odd things
    "valid": lambda v: v is not None,
    "itself": lambda v: v,
    "length": lambda v: len(v) != 1,
    "small": lambda v: v < 2,
    "number": lambda v: int(v) < 5,
    "match": lambda v: re.search("[a7]", v),
    "first": lambda v: v[0],
    "text": lambda v: len(str(v)) % 3,
    "inverse": lambda v: 1 / v > 0,
    "pops": lambda v: v.pop() if isinstance(v, list) else True,
}


Asked = list[tuple[str, str]]  # predicates, and the column each of them reads
After = dict[str, set[str]]  # predicates, and the guards of each
Case = tuple[pa.RecordBatch, Asked, After]


@st.composite
def chains_over_types(draw: st.DrawFn) -> Case:
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3))
    fields = [pa.field(f"c{i}", VALUES[kind][0]) for i, kind in enumerate(kinds)]
    row = st.fixed_dictionaries({f"c{i}": st.none() | VALUES[kind][1] for i, kind in enumerate(kinds)})
    some = draw(st.lists(row, min_size=1, max_size=5))
    data = pa.RecordBatch.from_pylist(draw(st.lists(st.sampled_from(some), max_size=30)), schema=pa.schema(fields))
    names = draw(st.lists(st.sampled_from(sorted(FUNCTIONS)), min_size=1, max_size=4, unique=True))
    asked = [(name, draw(st.sampled_from([f.name for f in fields]))) for name in names]
    after = {name: draw(st.sets(st.sampled_from(names[:i]), max_size=1)) for i, name in enumerate(names) if i}
    return data, asked, after


def evaluated_everywhere(row: int, data: pa.RecordBatch, asked: Asked, after: After) -> bool | list[str]:
    """Plain Python: every predicate on a fresh copy of the row's values."""
    status: dict[str, Any] = {}
    for name, column in asked:
        if any(status[guard] is not True for guard in after.get(name, ())):
            status[name] = "not evaluated"
            continue
        try:
            status[name] = bool(FUNCTIONS[name](data.column(column)[row].as_py()))
        except Exception:
            status[name] = "raised"
    if False in status.values():
        return False
    return [name for name in status if status[name] == "raised"] or True


@settings(max_examples=200)
@given(
    case=chains_over_types(),
    policy=st.sampled_from(sorted(POLICIES)),
    slice_rows=st.sampled_from([1, 2, 5, 1024]),
    seed=st.integers(0, 2**32),
    cuts=st.sets(st.integers(0, 30), max_size=3),
)
def test_any_types_slices_and_policy_against_brute_force(
    case: Case, policy: str, slice_rows: int, seed: int, cuts: set[int]
) -> None:
    data, asked, after = case
    keep = tw.filters(
        *(tw.predicate(FUNCTIONS[name], c, name=name, after=after.get(name, ())) for name, c in asked),
        policy=tw.policy(policy, **({"p": 1.0} if "p" in setting_names(policy) else {})),
        slice_rows=slice_rows,
        seed=seed,
        on_error="dead-letter",
    )
    numbered = data.append_column("row", pa.array(range(data.num_rows), pa.int64()))
    edges = [0, *sorted(c for c in cuts if c < data.num_rows), data.num_rows]
    batches = [numbered.slice(a, b - a) for a, b in itertools.pairwise(edges)]
    got: list[bool | list[str]] = [False] * data.num_rows
    for batch in keep.tagged_over(batches):
        for row, errors in zip(batch["row"].to_pylist(), batch["thalweg_errors"].to_pylist(), strict=True):
            got[row] = True if errors is None else [error["predicate"] for error in errors]
        untouched = batch.drop_columns(["thalweg_errors"]).to_pylist()
        assert repr(untouched) == repr(numbered.take(batch["row"]).to_pylist()), "nan is not itself, but looks it"
    assert got == [evaluated_everywhere(row, data, asked, after) for row in range(data.num_rows)]
