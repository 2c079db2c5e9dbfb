"""An error about a column that a predicate reads names the predicate, in whatever way the filters are applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import thalweg as tw

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = pa.table({"line": ["a"], "size": [1]})
MISSING = "predicate 'wide': there is no column 'lines' (did you mean 'line'?); there are line, size"


def two() -> tw.Filters:
    return tw.filters(tw.predicate(bool, "size", name="sized"), tw.predicate(bool, "lines", name="wide"))


@pytest.mark.parametrize(
    "apply",
    [
        lambda: two().over(DATA),
        lambda: list(two().over(iter(DATA.to_batches()))),
        lambda: two().explain(DATA),
    ],
)
def test_the_predicate_is_named(apply: Callable[[], object]) -> None:
    with pytest.raises(tw.PlanError) as caught:
        apply()
    assert str(caught.value) == MISSING


def test_all_predicates_that_read_the_column_are_named() -> None:
    keep = tw.filters(tw.predicate(bool, "lines", name="wide"), tw.predicate(len, "lines", name="long"))
    with pytest.raises(tw.PlanError, match=r"^predicates 'wide', 'long': there is no column 'lines'"):
        keep.over(DATA)


def test_an_ambiguous_column_names_the_predicate() -> None:
    keep = tw.filters(tw.predicate(bool, "LINE", name="wide"))
    with pytest.raises(tw.PlanError, match=r"^predicate 'wide': column 'LINE' is ambiguous"):
        keep.over(pa.table({"line": ["a"], "Line": ["b"]}))


def test_on_spark(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1)], "line string, size int")
    with pytest.raises(tw.PlanError) as caught:
        df.transform(two())
    assert str(caught.value) == MISSING
    with pytest.raises(tw.PlanError) as caught:
        two().explain(df)
    assert str(caught.value) == MISSING
