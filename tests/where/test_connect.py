"""Spark Connect: the same rows, the same counts, and a program that ends."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.where import one_join, one_query
from tests.where.input_files import write_files
from tests.where.join_files import write_streams
from tests.where.processes import QUIET, answer, environment
from tests.where.same_answer import check_answer, check_join

pytestmark = pytest.mark.spark


def test_the_same_query_over_connect(tmp_path: Path):
    write_files(tmp_path / "in")
    check_answer(over_connect(one_query, tmp_path), tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_same_join_over_connect(tmp_path: Path):
    write_streams(tmp_path / "in", 2)
    check_join(over_connect(one_join, tmp_path, seconds=170), tmp_path)


def over_connect(script: Any, folder: Path, seconds: float = 120.0) -> dict[str, Any]:
    settings = {**QUIET, "spark.connect.grpc.binding.address": "127.0.0.1"}
    command = [sys.executable, script.__file__, str(folder), "remote:local[2]"]
    # SPARK_TESTING: Spark's own switch for a port that is free
    env = environment(folder, SPARK_TESTING="1")
    words = [*command, *(f"{key}={value}" for key, value in settings.items())]
    told: dict[str, Any] = answer(words, folder / "program.out", env, seconds)
    assert told["session"] == "pyspark.sql.connect.session"
    return told
