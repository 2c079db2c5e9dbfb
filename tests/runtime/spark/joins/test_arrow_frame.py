"""Lists, maps and structs reach the JVM with the values that they have in Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql.types import DataType, DoubleType, UserDefinedType

from tests.drawn_columns import columns
from tests.exact_values import exact_values
from tests.long_run import examples
from tests.runtime.spark.joins.nested_columns import COLUMNS, converted


@pytest.mark.parametrize("name", COLUMNS)
def test_pyspark_sends_the_values_of_arrow(name: str) -> None:
    found = converted(COLUMNS[name])
    assert exact_values(found) == exact_values(COLUMNS[name])
    assert len(found) == len(COLUMNS[name])


def test_a_part_of_a_column() -> None:
    """Batches are cut, so that a column may begin within its buffers."""
    column = pa.array([[i, None] for i in range(9)])
    assert converted(column.slice(4, 3)).to_pylist() == [[4, None], [5, None], [6, None]]


@examples(50, long=5_000)
@given(columns(4))
def test_pyspark_sends_the_values_of_any_column(column: pa.Array) -> None:
    assert exact_values(converted(column)) == exact_values(column)


class Angle(UserDefinedType):
    """Numbers for which Python has a class of its own."""

    @classmethod
    def sqlType(cls) -> DataType:  # noqa: N802 - PySpark's name
        return DoubleType()

    def serialize(self, obj: Any) -> Any:
        raise AssertionError("values are not converted")


def test_a_user_defined_type_is_not_converted() -> None:
    column = pa.array([1.5, None, float("nan")])
    assert exact_values(converted(column, Angle())) == exact_values(column)
