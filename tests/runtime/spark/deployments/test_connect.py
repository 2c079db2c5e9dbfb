"""Spark Connect: the same rows, the same counts, and a program that ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runtime.spark.deployments import (
    changing_values,
    mesh_over_connect,
    native_over_connect,
    types_over_connect,
)
from tests.runtime.spark.deployments.processes import FEWER_PROGRAMS, QUIET, environment
from tests.runtime.spark.deployments.query_and_join import told_by
from tests.runtime.spark.deployments.same_answer import check_answer, check_join, check_sql

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def over_connect(folder: Path) -> dict[str, Any]:
    settings = {**QUIET, **FEWER_PROGRAMS, "spark.connect.grpc.binding.address": "127.0.0.1"}
    # SPARK_TESTING: Spark's own switch for a port that is free
    told = told_by(folder, "remote:local[2]", settings, environment(folder, SPARK_TESTING="1"))
    assert {told[name]["session"] for name in ("query", "join")} == {"pyspark.sql.connect.session"}
    return told


@pytest.mark.slow
def test_the_same_query_over_connect(over_connect: dict[str, Any], folder: Path) -> None:
    check_answer(over_connect["query"], folder / "query")


@pytest.mark.slow
def test_the_same_join_over_connect(over_connect: dict[str, Any], folder: Path) -> None:
    check_join(over_connect["join"], folder / "join")
    said = over_connect["join"]["stream"].pop("sink")
    assert said == (
        "Spark's own sink writes the results: on Spark Connect, files cannot be committed with a micro-batch"
    )


@pytest.mark.slow
def test_sql_over_connect(over_connect: dict[str, Any], folder: Path) -> None:
    check_sql(over_connect["sql"], folder / "join")


@pytest.mark.slow
def test_native_predicates_over_connect(over_connect: dict[str, Any]) -> None:
    native_over_connect.check(over_connect["native"])


@pytest.mark.slow
def test_captured_values_over_connect(over_connect: dict[str, Any]) -> None:
    changing_values.check(over_connect["captured"])


@pytest.mark.slow
def test_a_mesh_over_connect(over_connect: dict[str, Any]) -> None:
    mesh_over_connect.check(over_connect["mesh"])


@pytest.mark.slow
def test_columns_of_all_types_over_connect(over_connect: dict[str, Any]) -> None:
    types_over_connect.check(over_connect["types"])
