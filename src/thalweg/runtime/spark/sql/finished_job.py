"""The Spark job that writes the results of finished data. Another thread can cancel it."""

from __future__ import annotations

import uuid
from typing import Any

from pyspark.sql import SparkSession

from thalweg.runtime.spark.sql.failures import run


class FinishedJob:
    """A job that saves a DataFrameWriter to a path."""

    def __init__(self, spark: SparkSession, writer: Any, path: str | None, redact: bool) -> None:
        self._spark, self._writer, self._path, self._redact = spark, writer, path, redact
        self._tag = f"thalweg-{uuid.uuid4()}"
        self.cancelled = False
        """Whether `cancel` was called; the job may have ended before."""

    def save(self) -> None:
        """Write the results and wait. The tag belongs to this thread, which must not run anything else later."""
        if hasattr(self._spark, "_jvm"):  # interruptTag() does not find the job there
            self._spark.sparkContext.addJobTag(self._tag)
            self._spark.sparkContext.setInterruptOnCancel(True)
        else:
            self._spark.addTag(self._tag)
        run(lambda: self._writer.save(self._path), self._redact)

    def cancel(self) -> None:
        """Cancel the job. A job that has not started cannot be canceled, so this may have to be called again."""
        self.cancelled = True
        if hasattr(self._spark, "_jvm"):
            self._spark.sparkContext.cancelJobsWithTag(self._tag)
        else:
            self._spark.interruptTag(self._tag)
