from __future__ import annotations

import functools
from typing import Any

import pytest
from pyspark.sql.connect import functions as F

from thalweg import PlanError, filters, predicate


def is_suspicious(line: str) -> bool:
    return "attack" in line


class Model:
    def __call__(self, value: object) -> bool:
        return True


@pytest.mark.parametrize(
    ("func", "name"),
    [
        (is_suspicious, "is_suspicious"),
        (str.isdigit, "isdigit"),
        (functools.partial(is_suspicious), "is_suspicious"),
        (functools.partial(functools.partial(is_suspicious)), "is_suspicious"),
        (Model(), "Model"),
    ],
)
def test_a_predicate_has_the_name_of_its_function(func: Any, name: str) -> None:
    assert predicate(func, "line").name == name


def test_a_given_name_is_used() -> None:
    assert predicate(is_suspicious, "line", name="attack").name == "attack"


def test_after_takes_one_name_or_several() -> None:
    assert predicate(is_suspicious, "line", after="not_null").after == ("not_null",)
    assert predicate(is_suspicious, "line", after=["a", "b"]).after == ("a", "b")
    assert predicate(is_suspicious, "line", after=(g for g in "ab")).after == ("a", "b")


@pytest.mark.parametrize(
    ("args", "options", "words"),
    [
        ((7, "line"), {}, ["7", "function", "tw.predicate("]),
        ((is_suspicious,), {}, ["'is_suspicious'", "no column", "tw.predicate("]),
        ((is_suspicious, 3), {}, ["'is_suspicious'", "3", "by name"]),
        ((is_suspicious, ""), {}, ["'is_suspicious'", "''", "by name"]),
        ((is_suspicious, "line"), {"name": ""}, ["name", "''", "non-empty"]),
        ((is_suspicious, "line"), {"name": 5}, ["name", "5", "string"]),
        ((is_suspicious, "line"), {"setup": "model"}, ["'is_suspicious'", "setup", "'model'", "function"]),
        ((is_suspicious, "line"), {"after": [7]}, ["'is_suspicious'", "after", "names", "7"]),
        ((is_suspicious, "line"), {"after": None}, ["'is_suspicious'", "after", "names", "None"]),
        ((is_suspicious, "line", "size"), {}, ["2 arguments (line, size)", "takes (line)", "one column per argument"]),
        ((is_suspicious, "line"), {"setup": dict}, ["the value of setup, line", "first argument"]),
        ((lambda model, line: True, "line"), {}, ["1 argument (line)", "(model, line)", "setup="]),
        ((lambda model, line: True, "line"), {"setup": is_suspicious}, ["setup is called without arguments", "(line)"]),
        ((predicate(is_suspicious, "line"), "line"), {}, ["'is_suspicious'", "already"]),
    ],
)
def test_a_bad_argument_is_named_with_its_value_and_the_remedy(
    args: tuple[Any, ...], options: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(PlanError) as caught:
        predicate(*args, **options)
    assert [word for word in words if word not in str(caught.value)] == []


def test_a_spark_column_is_refused_like_any_other_object() -> None:
    class Column:
        def __repr__(self) -> str:
            return "Column<'line'>"

    with pytest.raises(PlanError, match="by name, not as Column<'line'>"):
        predicate(is_suspicious, Column())  # type: ignore[call-overload]


def test_after_takes_predicates_and_functions() -> None:
    guard = predicate(is_suspicious, "line", name="attack")
    assert predicate(len, "line", after=guard).after == ("attack",)
    assert predicate(len, "line", after=[guard, is_suspicious, "c"]).after == ("attack", "is_suspicious", "c")


def test_arguments_are_counted_only_if_the_signature_is_certain() -> None:
    @functools.wraps(is_suspicious)
    def decorated(*values: Any) -> bool:
        return True

    for func in (decorated, int, max, functools.partial(is_suspicious), lambda *values: True, lambda a, b=1: True):
        assert predicate(func, "line", name="p").columns == ("line",)
    assert predicate(decorated, "line", "size").columns == ("line", "size")


def test_a_spark_udf_is_refused_with_the_remedy() -> None:
    def udf(line: str) -> bool:
        return True

    udf.returnType, udf.evalType, udf.func = "boolean", 100, is_suspicious  # type: ignore[attr-defined]
    with pytest.raises(PlanError, match=r"its \.func"):
        predicate(udf, "line")


def test_a_predicate_cannot_be_applied_by_itself() -> None:
    with pytest.raises(PlanError, match=r"df\.transform\(tw\.filters\("):
        predicate(is_suspicious, "line")(object())


SIZE = F.col("size") > 1024
"""Columns of Spark Connect are made without a JVM."""


def test_a_column_is_a_native_predicate_with_a_name() -> None:
    keep = filters(SIZE, predicate(is_suspicious, "line"), SIZE, F.col("payload").isNotNull())
    assert repr(keep) == "tw.filters(size > 1024, size > 1024 (2), payload is not null, is_suspicious)"


def test_a_column_has_the_functions_of_its_tree_and_not_of_its_text() -> None:
    cast = predicate(F.col("code").cast("int") > 5, name="large", after="has")
    assert ([use.word for use in cast.uses], cast.raises, cast.after) == ([">", "cast"], True, ("has",))
    named = predicate(F.col("`cast(code AS INT)`") == 5)
    assert ([use.word for use in named.uses], named.raises, named.after) == (["="], False, ())


def test_options_of_python_functions_are_refused_for_a_column() -> None:
    for wrong in ({"vectorized": True}, {"setup": dict}, {"profile": False}):
        with pytest.raises(PlanError, match="'large' is a Spark expression, which takes only name= and after="):
            predicate(SIZE, name="large", **wrong)
    with pytest.raises(PlanError, match="takes only name= and after="):
        predicate(SIZE, "size")  # type: ignore[call-overload]
    with pytest.raises(PlanError, match="non-empty string"):
        predicate(SIZE, name="")


def test_a_literal_that_looks_like_a_udf_is_accepted() -> None:
    assert predicate(F.contains("line", F.lit("<lambda>(x)"))).name == "line contains '<lambda>(x)'"


def test_random_expressions_are_refused() -> None:
    with pytest.raises(PlanError, match=r"calls rand\(\)"):
        filters(F.rand(5) < 0.5)
