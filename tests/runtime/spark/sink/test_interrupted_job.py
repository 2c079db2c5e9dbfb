"""A query that is stopped interrupts what it does, and Spark recognizes the error by its text."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

import thalweg as tw
from thalweg.errors import QueryError
from thalweg.runtime.spark.sink.interrupted_job import InterruptedJobError, recognizable_errors
from thalweg.runtime.spark.sql.checkpoint_folders import file_errors

OF_SPARK = (
    r"(?s)py4j.protocol.Py4JJavaError: An error occurred while calling(.|\r\n|\r|\n)*"
    r"java.(lang.InterruptedException|io.InterruptedIOException|nio.channels.ClosedByInterruptException)"
)
"""The pattern of StreamExecution.isInterruptionException in Spark 4.3, for the errors that it names."""
INTERRUPTIONS = [
    "java.lang.InterruptedException",
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedByInterruptException",
]


def thrown(spark: SparkSession, name: str) -> Py4JJavaError:
    """An error of Java, as py4j raises it."""
    jvm: Any = spark._jvm
    made: Callable[[], Any] = jvm
    for part in name.split("."):
        made = getattr(made, part)
    return Py4JJavaError("An error occurred while calling o1.collectToPython.\n", made())


@pytest.mark.parametrize("name", INTERRUPTIONS)
def test_interruptions_are_recognized(spark: SparkSession, name: str) -> None:
    with pytest.raises(InterruptedJobError) as raised, recognizable_errors(), file_errors("/checkpoint/file"):
        raise thrown(spark, name)
    assert re.search(OF_SPARK, str(raised.value)) is not None
    assert len(str(raised.value)) < 200  # the pattern needs stack for each character


@pytest.mark.parametrize("writes", [False, True])
def test_other_errors_are_errors_of_the_query(spark: SparkSession, writes: bool) -> None:
    error = thrown(spark, "java.io.FileNotFoundException")
    with pytest.raises(QueryError, match=r"java\.io\.FileNotFoundException"), recognizable_errors():
        raise error
    of_files: AbstractContextManager[None] = file_errors("/checkpoint/file", writes=writes)
    said = f"Spark cannot {'write' if writes else 'open'} '/checkpoint/file': java.io.FileNotFoundException; "
    with pytest.raises(tw.PlanError, match=said), recognizable_errors(), of_files:
        raise error
