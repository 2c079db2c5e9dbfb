"""Where the tasks of a join write its results, if Spark does not write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from thalweg.runtime.sink.parquet_form import ParquetForm
from thalweg.runtime.sink.staged_files import StagedFile, StagedFiles

FILE, ROWS, BYTES = "file", "rows", "bytes"
FILE_SCHEMA = pa.schema([(FILE, pa.string()), (ROWS, pa.int64()), (BYTES, pa.int64())])
"""The columns of the rows that a task returns instead of results: one row per file."""


class NeedsSparkSinkError(Exception):
    """Raised while a join is applied to DataFrames, if tasks cannot write its results. The message is the reason."""


@dataclass(frozen=True)
class TaskSink:
    """The files of results, and what happens to joined rows before they are written."""

    form: ParquetForm
    after: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None
    """Returns the columns of the results; None if joined rows are the results."""

    def written(
        self, joined: Iterator[pa.RecordBatch], bucket: int, task: dict[str, Any]
    ) -> Iterator[list[StagedFile]]:
        """Write all results of a bucket in one micro-batch, and yield the files."""
        files = StagedFiles(self.form, str(task["query"]), int(task["batch"]), bucket)
        try:
            for rows in joined:
                if rows.num_rows:
                    files.write(_fitting(rows if self.after is None else self.after(rows), self.form.schema))
            made = files.close()
        except BaseException:  # also if Spark ends the task
            files.discard()
            raise
        if made:
            yield made


def _fitting(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows with the types and nullability of the files."""
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(rows.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
