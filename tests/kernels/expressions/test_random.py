"""Random expressions, with the analyser's types: the values and failures of Spark and of a model, row by row."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.kernels.expressions.nasty import COLUMNS, RAISED, TABLE, SparkSide, check, ours, ours_by_row, python_values
from tests.kernels.expressions.row_model import RowError, UnmodelledError, value_of
from tests.long_run import examples
from tests.plan.sql.nasty_texts import TEXTS, like_pattern
from thalweg.errors import ExpressionError
from thalweg.plan.expressions.expression import Expression, Value, text_of
from thalweg.plan.expressions.functions import ARITHMETIC, COMPARISONS, TRUNCATED, typed
from thalweg.plan.expressions.type_rules import type_named
from thalweg.plan.sql.expressions import cast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

is_ = pa.types
NUMBERS = ["t", "h", "i", "j", "l", "f", "d", "e", "a", "n", "m"]
FAMILIES = {"number": NUMBERS, "whole": ["t", "h", "i", "j"], "text": ["s", "u", "w", "v", "o"], "truth": ["b", "c"],
            "zoned": ["z"], "local": ["q"], "day": ["y"], "length": ["g"]}  # fmt: skip
LITERALS: dict[str, list[Value]] = {
    "number": [Value(0, pa.int32()), Value(-3, pa.int32()), Value(2.5, pa.float64()), Value(2**40, pa.int64()),
               Value(Decimal("0.25"), pa.decimal128(2, 2)), Value(float("nan"), pa.float64()), Value(None, pa.int32())],
    "whole": [Value(0, pa.int32()), Value(2, pa.int32()), Value(-2, pa.int32()), Value(None, pa.int32())],
    "text": [Value(text, pa.string()) for text in ("", "a", "本", "7", *TEXTS[::4])],
    "truth": [Value(True, pa.bool_()), Value(False, pa.bool_()), Value(None, pa.bool_())],
    "zoned": [Value(datetime(1969, 12, 31, 23, tzinfo=UTC), pa.timestamp("us", "UTC"))],
    "local": [Value(datetime(2000, 2, 29, 1, 2, 3, 4), pa.timestamp("us"))],
    "day": [Value(date(1900, 3, 1), pa.date32())],
    "length": [Value(timedelta(hours=-25), pa.duration("us"))],
}  # fmt: skip


class _RefusedError(Exception):
    pass


def _refuse(why: str) -> NoReturn:
    raise _RefusedError(why)


class Writer:
    """Writes expressions of a family, up to a given depth."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def write(self, family: str, depth: int) -> Expression:
        """Return an expression of this family; a column if the attempt has no type."""
        if depth <= 0 or self.chance.random() < 0.1:
            return self._leaf(family)
        for _ in range(4):
            try:
                return self.chance.choice(_WAYS[family])(self, depth - 1)
            except _RefusedError:
                continue
        return self._leaf(family)

    def _leaf(self, family: str) -> Expression:
        if self.chance.random() < 0.25:
            return self.chance.choice(LITERALS[family])
        return COLUMNS[self.chance.choice(FAMILIES[family])]

    def call(self, name: str, *families: str, depth: int) -> Expression:
        """Return a call of a function on arguments of these families."""
        return typed(name, [self.write(family, depth) for family in families], _refuse)


Way = Callable[[Writer, int], Expression]


def _of(name: str, *families: str) -> Way:
    return lambda writer, depth: writer.call(name, *families, depth=depth)


def _any_of(names: tuple[str, ...], *families: str) -> Way:
    return lambda writer, depth: writer.call(writer.chance.choice(names), *families, depth=depth)


def _cast(family: str, *kinds: str) -> Way:
    def way(writer: Writer, depth: int) -> Expression:
        wanted = type_named(writer.chance.choice(kinds))
        assert wanted is not None
        return cast(writer.write(family, depth), wanted, _refuse)

    return way


def _case(family: str) -> Way:
    return lambda writer, depth: typed(
        "case",
        [writer.write("truth", depth), writer.write(family, depth), writer.write("truth", depth),
         writer.write(family, depth), writer.write(family, depth)],
        _refuse,
    )  # fmt: skip


def _with(name: str, family: str, *literals: Value) -> Way:
    return lambda writer, depth: typed(name, [writer.write(family, depth), writer.chance.choice(literals)], _refuse)


def _guarded(writer: Writer, depth: int) -> Expression:
    """Return an expression that can raise, twice, after a condition that prevents this on most rows."""

    def made(name: str, *arguments: Expression) -> Expression:
        return typed(name, arguments, _refuse)

    if writer.chance.random() < 0.3:
        text = writer.write("text", 0)
        guard, raising = made("rlike", text, Value("^[0-9]{1,4}$", pa.string())), cast(text, pa.int32(), _refuse)
    else:
        by = writer.write("whole", depth - 1)
        guard = made("ne", by, Value(0, pa.int32()))
        raising = made(writer.chance.choice(["int_divide", "mod", "divide"]), writer.write("whole", 0), by)
    sides = [made(writer.chance.choice(COMPARISONS), raising, writer.write("whole", 0)) for _ in range(2)]
    if writer.chance.random() < 0.5:
        return made("and", made("and", guard, sides[0]), sides[1])
    return made("or", made("not", guard), made("or", *sides))


def _trunc(family: str) -> Way:
    return lambda writer, depth: typed(
        "date_trunc", [Value(writer.chance.choice(TRUNCATED), pa.string()), writer.write(family, depth)], _refuse
    )


def _words(*texts: str) -> tuple[Value, ...]:
    return tuple(Value(text, pa.string()) for text in texts)


_NUMBER_NAMES = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10, 2)", "decimal(20, 5)")
_EVERY = ("coalesce", "greatest", "least")
_WAYS: dict[str, list[Way]] = {
    "number": [
        *[_any_of(ARITHMETIC, "number", "number")] * 4,
        _any_of(("abs", "negate"), "number"),
        _any_of(_EVERY, "number", "number"),
        _any_of(("floor", "ceil", "sqrt", "ln"), "number"),
        _case("number"),
        _cast("number", *_NUMBER_NAMES),
        _cast("text", *_NUMBER_NAMES),
        _cast("truth", "int"),
        _any_of(("length",), "text"),
        _of("instr", "text", "text"),
        _with("round", "number", *(Value(n, pa.int32()) for n in (-3, -1, 0, 1, 2, 5))),
        _of("year", "day"),
        _any_of(("year", "month", "day", "hour", "minute", "second"), "zoned"),
        _any_of(("month", "hour", "second"), "local"),
    ],
    "whole": [
        _any_of(("add", "subtract", "multiply", "mod"), "whole", "whole"),
        _of("length", "text"),
        _case("whole"),
        _cast("number", "int", "tinyint"),
        _of("instr", "text", "text"),
        _any_of(_EVERY, "whole", "whole"),
    ],
    "text": [
        _any_of(("upper", "lower", "trim", "ltrim", "rtrim"), "text"),
        _of("concat", "text", "text"),
        _of("substring", "text", "whole"),
        _of("substring", "text", "whole", "whole"),
        _of("replace", "text", "text", "text"),
        _case("text"),
        _any_of(_EVERY, "text", "text"),
        _cast("whole", "string"),
        _cast("truth", "string"),
    ],
    "truth": [
        *[
            _any_of(COMPARISONS, family, family)
            for family in ("number", "number", "text", "truth", "zoned", "local", "day", "length")
        ],
        *[_any_of(("and", "or"), "truth", "truth")] * 4,
        *[_guarded] * 3,
        _of("not", "truth"),
        _case("truth"),
        _of("coalesce", "truth", "truth"),
        _of("in", "number", "number", "number"),
        _of("in", "text", "text", "text"),
        _of("is_null", "number"),
        _of("is_null", "text"),
        _any_of(("startswith", "endswith", "contains"), "text", "text"),
        _cast("whole", "boolean"),
        _cast("text", "boolean"),
        _with(
            "like",
            "text",
            *_words("a%", "%b", "%", "_", "%\n%", "a\\%%", "__%", "%本%", *map(like_pattern, TEXTS[::6])),
        ),
        _with("rlike", "text", *_words("a+", "^.b", "[0-9]$")),
        _of("in", "zoned", "zoned", "zoned"),
        _of("same", "zoned", "day"),
    ],
    "zoned": [
        _any_of(("add", "subtract"), "zoned", "length"),
        _trunc("zoned"),
        _case("zoned"),
        _cast("day", "timestamp"),
        _any_of(_EVERY, "zoned", "zoned"),
    ],
    "local": [
        _any_of(("add", "subtract"), "local", "length"),
        _trunc("local"),
        _case("local"),
        _cast("day", "timestamp_ntz"),
    ],
    "day": [_cast("zoned", "date"), _cast("local", "date"), _case("day"), _any_of(_EVERY, "day", "day")],
    "length": [
        _of("subtract", "zoned", "zoned"),
        _of("subtract", "local", "local"),
        _any_of(("add", "subtract"), "length", "length"),
        _case("length"),
    ],
}


@pytest.mark.slow
def test_same_as_spark(spark: SparkSession) -> None:
    """Many expressions per query, because a query costs more than an expression."""
    side = SparkSide(spark)

    @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
    @given(st.integers(0, 2**32))
    def same(seed: int) -> None:
        writer = Writer(random.Random(seed))
        families = ["number", "truth", "text", "truth", "number", "zoned", "local", "day", "length", "whole"]
        check(side, [writer.write(family, 3) for family in families * 2])

    same()


def modelled(expression: Expression) -> list[Any] | None:
    """Return the values of the model, or None if it does not know what an expression means."""
    made: list[Any] = []
    try:
        for row in TABLE.to_pylist():
            try:
                made.append(value_of(expression, row))
            except RowError:
                made.append(RAISED)
    except UnmodelledError:
        return None
    return made


def shown(values: list[Any]) -> list[str]:
    """As texts in which every NaN and both zeros are equal."""
    return [repr(value + 0.0 if isinstance(value, float) else value) for value in values]


@examples(300, long=20_000)
@given(st.integers(0, 2**64))
def test_same_as_a_model_row_by_row(seed: int) -> None:
    """On all rows at once, and on each alone; a row raises if it raises in the model."""
    writer = Writer(random.Random(seed))
    expression = writer.write(writer.chance.choice(["whole", "truth", "text", "truth", "number"]), 3)
    expected = modelled(expression)
    assume(expected is not None)
    assert expected is not None
    assert shown(ours_by_row(expression)) == shown(expected), text_of(expression)
    if RAISED in expected:
        with pytest.raises(ExpressionError):
            ours(expression)
    else:
        assert shown(python_values(ours(expression))) == shown(expected), text_of(expression)


def test_writer_writes_every_function() -> None:
    """A function that is never written is never compared."""
    from thalweg.kernels.expressions.branches import BRANCHES
    from thalweg.kernels.expressions.evaluation import KERNELS
    from thalweg.plan.expressions.expression import Call, walk

    writer = Writer(random.Random(1))
    made = [writer.write(family, 3) for family in list(FAMILIES) * 150]
    written = {part.function for expression in made for part in walk(expression) if isinstance(part, Call)}
    assert {*KERNELS, *BRANCHES} - written <= {"exp", "power"}  # their last digits differ, and differ more in sums
