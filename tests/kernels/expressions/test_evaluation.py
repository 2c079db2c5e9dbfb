"""Inputs and results of expressions: encodings, slices, empty batches, times of all units, and error messages."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from tests.kernels.expressions.nasty import COLUMNS, TABLE, ours, python_values, read
from thalweg.errors import ExpressionError, PlanError
from thalweg.kernels.expressions import VectorizedCondition, evaluate
from thalweg.plan.expressions.expression import Ref
from thalweg.plan.expressions.functions import typed
from thalweg.plan.expressions.type_rules import plain_type

LINES = [
    line for path in sorted((Path(__file__).parent / "cases").glob("*.sql")) for line in path.read_text().splitlines()
]
WORDS = ["a", None, "été", "a"]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pa.array(WORDS).dictionary_encode(), pa.string()),
        (pa.array(WORDS, pa.large_string()), pa.string()),
        (pa.array(WORDS, pa.string_view()), pa.string()),
        (pa.array(WORDS, pa.string_view()).cast(pa.string()).dictionary_encode().slice(1), pa.string()),
        (pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4], pa.array(WORDS)), pa.string()),
        (pa.array([0, None, 2**32 - 1], pa.uint32()), pa.int64()),
        (pa.array([0, None, 2**64 - 1], pa.uint64()), pa.decimal128(20, 0)),
        (pa.array([0.5, None], pa.float16()), pa.float32()),
        (pa.array([0, None, 86_400_000], pa.date64()), pa.date32()),
        (pa.array([b"ab", None], pa.binary(2)), pa.binary()),
        (pa.chunked_array([[1, None], [3]]), pa.int64()),
    ],
    ids=str,
)
def test_columns_come_in_any_encoding(given: Any, kind: pa.DataType) -> None:
    ref = Ref("s", "x", kind)
    assert plain_type(given.type) == kind
    made = evaluate(ref, lambda _: given, len(given), {})
    assert made.type == kind
    assert made.to_pylist() == given.to_pylist()
    same = evaluate(typed("same", [ref, ref], print), lambda _: given, len(given), {})
    assert same.to_pylist() == [True] * len(given)


def test_no_rows() -> None:
    """Every case, including those that raise on every row."""
    for line in LINES:
        expression = read(line)
        made = ours(expression, TABLE.slice(0, 0))
        assert (len(made), made.type) == (0, expression.type), line


def test_slices_are_read_where_they_begin() -> None:
    """Code that reads bytes easily forgets the offset of an array."""
    for line in LINES:
        expression = read(line)
        parts = []
        for table in (TABLE.slice(7, 3), TABLE.take([7, 8, 9])):
            try:
                parts.append(str(python_values(ours(expression, table))))
            except ExpressionError as error:
                parts.append(str(error))
        assert parts[0] == parts[1], line


DROP = "filter out such rows with a condition written before it"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("i / j", "division by zero in r.i / r.j; write nullif(r.j, 0) to get null instead"),
        ("i % 0", "division by zero in r.i % 0; write nullif(0, 0) to get null instead"),
        ("i + 1", "r.i + 1 overflows INT; CAST to a wider type first"),
        ("l * 2", "r.l * 2 overflows BIGINT; CAST to DOUBLE first"),
        ("CAST(w AS INT)", f"'abc' is not a valid INT in CAST(r.w AS INT); {DROP}"),
        ("CAST(i AS TINYINT)", f"2147483647 does not fit in TINYINT in CAST(r.i AS TINYINT); {DROP}"),
        ("CAST(d AS INT)", f"nan does not fit in INT in CAST(r.d AS INT); {DROP}"),
        (
            "CAST(m AS DECIMAL(6, 4))",
            f"10000000000000.0000 does not fit in DECIMAL(6, 4) in CAST(r.m AS DECIMAL(6, 4)); {DROP}",
        ),
        ("round(t, -1)", "round(r.t, -1) overflows TINYINT; CAST to a wider type first"),
    ],
)
def test_errors_name_the_place_and_the_remedy(text: str, words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        ours(read(text))
    assert str(caught.value) == words
    assert isinstance(caught.value, ArithmeticError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == words


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
def test_times_of_all_units_and_zones(unit: str, zone: str | None) -> None:
    """Spark only has microseconds. A zone only affects how a time is displayed; parts are those of UTC."""
    kind = pa.timestamp(unit, zone)
    moments = [datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(2024, 2, 29, 4, 5, 6, tzinfo=UTC)]
    given = pa.array([m if zone else m.replace(tzinfo=None) for m in moments], kind)
    ref = Ref("s", "ts", kind)

    def asked(name: str) -> list[Any]:
        found: list[Any] = evaluate(typed(name, [ref], print), lambda _: given, 2, {}).to_pylist()
        return found

    for name in ("year", "month", "day", "hour", "minute", "second"):
        assert asked(name) == [getattr(m, name) for m in moments]
    tick = read("INTERVAL '1' MICROSECOND")
    later = typed("add", [ref, tick], print)
    assert later.type.unit == ("us" if unit != "ns" else "ns")
    apart = typed("subtract", [later, ref], print)
    ticks = evaluate(apart, lambda _: given, 2, {}).cast(pa.int64()).to_pylist()
    assert ticks == [1000 if unit == "ns" else 1] * 2
    day = evaluate(typed("date_trunc", [read("'day'"), ref], print), lambda _: given, 2, {})
    assert day.type == kind
    begins = pa.array([datetime(1969, 12, 31), datetime(2024, 2, 29)], pa.timestamp(unit))
    assert day.view(pa.timestamp(unit)).equals(begins)


@pytest.mark.parametrize(("pattern", "words"), [("a\\b", "comes before 'b'"), ("a\\", "it ends with")])
def test_patterns_spark_would_fail_on_are_refused(pattern: str, words: str) -> None:
    def refuse(why: str) -> None:
        raise PlanError(why)

    from thalweg.plan.expressions.expression import Value

    with pytest.raises(PlanError, match=words):
        typed("like", [COLUMNS["s"], Value(pattern, pa.string())], refuse)


def test_conditions_are_predicates() -> None:
    condition = VectorizedCondition(read("i > 0 AND 10 / i > 1"), {}, (COLUMNS["i"],))
    batch = TABLE.select(["i"]).combine_chunks()
    made = condition(batch["i"].combine_chunks())
    assert made.type == pa.bool_()
    expected = [None if i is None else i > 0 and 10 / i > 1 for i in batch["i"].to_pylist()]
    assert made.to_pylist() == expected
    assert tw.predicate(condition, "i", vectorized=True, name="positive").columns == ("i",)
