"""What is read of a Column without Spark: its text, a name made from it, and whether it calls Python."""

from __future__ import annotations

import pytest
from pyspark.sql import Column
from pyspark.sql.connect import functions as F

from thalweg.runtime.spark.read_column import python_udf_in, short_name, text_of


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (F.col("a").isin("b, c", 1) & ~(F.col("a") == "(x)"), "and(in(a, 'b, c', 1), not(=(a, '(x)')))"),
        (F.exists("a", lambda x: x > 3), "exists(a, lambda(>(x, 3), x))"),
        (F.call_function("mine", "a"), "mine(a)"),
    ],
)
def test_texts_of_connect_are_those_of_classic_spark(column: Column, text: str) -> None:
    assert text_of(column) == text


def test_a_long_expression_gets_a_short_name() -> None:
    assert len(short_name(f"rlike(line, '{'x' * 100}')")) == 48


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("f(columnnodeexpression(UnresolvedAttribute(x)))", "f"), ("<lambda>(x)", ""),
        ("and(>(a, 1), <lambda>(x))", ""), ("contains(line, '<lambda>(x)')", None),
    ],
)  # fmt: skip
def test_the_texts_of_python_udfs(text: str, name: str | None) -> None:
    """As classic Spark prints them."""
    assert python_udf_in(F.col("x"), text) == name
