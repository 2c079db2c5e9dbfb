"""Where the tasks of a join write its results, if Spark does not write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.types import StructType

from thalweg.runtime.sink.parquet_form import ParquetForm, fitting
from thalweg.runtime.sink.staged_files import StagedFile, StagedFiles

FILE, ROWS, BYTES, FILTER_WORK = "file", "rows", "bytes", "__thalweg_filter_work"
FILE_SCHEMA = pa.schema([(FILE, pa.string()), (ROWS, pa.int64()), (BYTES, pa.int64()), (FILTER_WORK, pa.string())])
"""The columns of the rows that a task returns instead of results: one row per file, and, if joined rows are filtered,
one row with what the filter did."""


class NeedsSparkSinkError(Exception):
    """Raised while a join is applied to DataFrames, if tasks cannot write its results. The message is the reason."""


class ResultRows(Protocol):
    """What happens to the joined rows of one bucket in one micro-batch before they are written."""

    def __call__(self, joined: pa.RecordBatch) -> pa.RecordBatch:
        """Return the results of joined rows."""
        ...

    def take_work(self) -> str | None:
        """Return what a filter of joined rows did, as text; None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class WrittenBucket:
    """What a task did with the results of a bucket."""

    files: Sequence[StagedFile]
    filter_work: str | None = None
    """What the filter of joined rows did, as text."""


@dataclass(frozen=True)
class TaskSink:
    """The files of results, and what happens to joined rows before they are written."""

    form: ParquetForm
    after: Callable[[], AbstractContextManager[ResultRows]] | None = None
    """Opens what computes the results of a bucket; None if joined rows are the results."""

    def write(self, joined: Iterator[pa.RecordBatch], bucket: int, task: Mapping[str, Any]) -> WrittenBucket:
        """Write all results of a bucket in one micro-batch."""
        files = StagedFiles(self.form, str(task["query"]), int(task["batch"]), bucket)
        try:
            if self.after is None:
                return WrittenBucket(self._write(joined, files))
            with self.after() as results:
                made = self._write(map(results, joined), files)
                return WrittenBucket(made, results.take_work())
        except BaseException:  # also if Spark ends the task
            files.discard()
            raise

    def _write(self, results: Iterable[pa.RecordBatch], files: StagedFiles) -> list[StagedFile]:
        for rows in results:
            if rows.num_rows:
                files.write(fitting(rows, self.form.schema))
        return files.close()


SinkFor = Callable[[StructType], TaskSink]
"""Returns where tasks write, given the columns of joined rows."""
