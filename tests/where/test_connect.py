"""Spark Connect: the same rows, the same counts, and a program that ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.where import one_query
from tests.where.input_files import write_files
from tests.where.processes import QUIET, answer, environment
from tests.where.same_answer import check_answer

pytestmark = pytest.mark.spark


def test_the_same_query_over_connect(tmp_path: Path):
    write_files(tmp_path / "in")
    settings = {**QUIET, "spark.connect.grpc.binding.address": "127.0.0.1"}
    command = [sys.executable, one_query.__file__, str(tmp_path), "remote:local[2]"]
    # SPARK_TESTING: Spark's own switch for a port that is free
    env = environment(tmp_path, SPARK_TESTING="1")
    told = answer([*command, *(f"{key}={value}" for key, value in settings.items())], tmp_path / "program.out", env)
    assert told["session"] == "pyspark.sql.connect.session"
    check_answer(told, tmp_path)
