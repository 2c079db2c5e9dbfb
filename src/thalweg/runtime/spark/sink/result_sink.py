"""Starts a streaming query whose results are written by its tasks, or by Spark's own sink."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from thalweg.errors import PlanError, warn_user
from thalweg.formatting import plural
from thalweg.plan.joins.window import length_of
from thalweg.runtime.checkpoint_parts import RESULTS, SINK, Results, Sink
from thalweg.runtime.joins.join_state import refuse_another_join
from thalweg.runtime.sink.batch_commit import BatchCommit, withdraw_interrupted
from thalweg.runtime.sink.earlier_results import continue_spark, continue_tasks, refuse_old_checkpoint
from thalweg.runtime.sink.hidden_folder import make_folders, try_to_write
from thalweg.runtime.sink.parquet_form import ParquetForm
from thalweg.runtime.sink.partition_folders import can_partition
from thalweg.runtime.sink.sink_log import NAME as LOG
from thalweg.runtime.sink.sink_log import LogSettings, SinkLog
from thalweg.runtime.sink.staged_files import StagedFile, StagedFiles
from thalweg.runtime.spark.joins.arrow_schema import arrow_type
from thalweg.runtime.spark.joins.task_sink import FILE, NeedsSparkSinkError, SinkFor, TaskSink
from thalweg.runtime.spark.sink.choice import (
    FILE_FORMATS,
    SinkChoice,
    choose_sink,
    compression,
    max_rows,
    other_results,
    readable,
    refuse_unknown_types,
    writes_int96,
)
from thalweg.runtime.spark.sink.interrupted_job import recognizable_errors
from thalweg.runtime.spark.sink.request import TASKS, SinkRequest
from thalweg.runtime.spark.sql.checkpoint_folders import newest, refuse_source_folder

ROW_METADATA, VERSION = "org.apache.spark.sql.parquet.row.metadata", "org.apache.spark.version"
"""The keys in the footer of a file from which Spark reads its own types, and how old dates are stored."""


class ResultSink:
    """The sink of one start of a query."""

    def __init__(
        self, spark: SparkSession, request: SinkRequest, obstacle: str | None, join: str | None = None,
        tick_ns: int | None = None,
    ) -> None:  # fmt: skip
        """Choose who writes. `obstacle`: why the tasks of this query cannot compute its results. `join`: the
        description of a join without a session, as its state has it, with `tick_ns` as the unit of its windows."""
        self._spark, self._request, self._join = spark, request, join
        place = request.checkpoint
        self._begun = None
        if place is not None and hasattr(spark, "_jvm"):  # otherwise Spark's sink writes
            self._begun = place.read(RESULTS)
        if self._begun is not None and join is not None and self._begun.join not in (None, join):
            refuse_another_join(str(self._begun.join), join, tick_ns)
        self.choice: SinkChoice = choose_sink(spark, request, obstacle)

    def writer(
        self,
        made: Callable[[SinkFor | None], DataFrame],
        after: Callable[[StructType], tuple[StructType, Any]],
    ) -> Any:
        """Return the DataStreamWriter. `made` returns the DataFrame of the results, or of the files that tasks write.
        `after` returns the columns of the results, given those of joined rows, and the function that computes them."""

        def sink_for(joined: StructType) -> TaskSink:
            columns, compute = after(joined)
            if compute is not None:
                refuse_unknown_types(joined)  # conditions and expressions would see other values than in Spark
            form = self._form(columns)
            names = tuple((field.name, field.dataType.simpleString()) for field in columns)
            results = Results(self._join, names, self._request.partition_by)
            if self._begun is not None:
                self._begun.refuse_other(str(self._request.checkpoint), results, case_sensitive=self._case_sensitive())
            found.append((form, results))
            return TaskSink(form, compute)

        found: list[tuple[ParquetForm, Results]] = []
        if self.choice.by_tasks:
            try:
                files = made(sink_for)
            except NeedsSparkSinkError as error:
                if self._request.asked == TASKS or self.choice.pinned is not None:
                    instead = "leave sink= out" if self.choice.pinned is None else "use a new checkpoint and folder"
                    raise PlanError(f"tasks cannot write these results: {error}; {instead}") from None
                self.choice = replace(self.choice, by_tasks=False, why=str(error))
            else:
                self._refuse_source_folder(files)
                return self._committing(files, *found[-1])
        results = made(None)
        self._refuse_source_folder(results)
        request = self._resolved(results.columns)
        writer = results.writeStream.format(request.kind).options(**request.options).outputMode("append")
        if request.partition_by:
            writer = writer.partitionBy(*request.partition_by)
        return self._checkpointed(writer)

    def _refuse_source_folder(self, results: DataFrame) -> None:
        request = self._request
        if request.path is not None and request.kind.lower() in FILE_FORMATS:
            refuse_source_folder(results, request.path)

    def _checkpointed(self, writer: Any) -> Any:
        place = self._request.checkpoint
        return writer if place is None else writer.option("checkpointLocation", place.folder)

    def _committing(self, files: DataFrame, form: ParquetForm, results: Results) -> Any:
        commit = BatchCommit(self.choice.folder, _log_settings(self._spark), self._batches()[0])
        place = self._request.checkpoint
        assert place is not None, "tasks write only with a checkpoint"
        query: list[str] = []

        def batch_ended(df: DataFrame, batch: int) -> None:
            with recognizable_errors():  # only rows of the successful attempt of each task arrive
                found = [StagedFile.from_json(row[0]) for row in df.select(FILE).collect()]
                query[:] = query or [str(place.identity())]
            is_first = not found and commit.is_first()
            if is_first:  # so that readers find columns, as in files of Spark's sink
                found = StagedFiles(form, query[0], batch, 0).close(also_empty=True)
            # only before results become visible: their tasks have succeeded, so the state is that of this query, and
            # not of another one that was started with the same checkpoint and has no results
            if self._begun is None and (found or is_first):
                with recognizable_errors():
                    place.write(RESULTS, results)
                self._begun = results
            commit.commit(query[0], batch, found)

        return self._checkpointed(files.writeStream.foreachBatch(batch_ended).outputMode("append"))

    def _form(self, columns: StructType) -> ParquetForm:
        request, spark = self._resolved(columns.names), self._spark
        fields = []
        refuse_unknown_types(columns)
        for field in columns:
            kind = arrow_type(field.dataType._as_nullable())
            assert kind is not None, field
            fields.append(pa.field(field.name, kind, field.nullable))
            if field.name in request.partition_by and not can_partition(kind):
                raise NeedsSparkSinkError(f"results are partitioned by {field.name}, which is {kind}")
        stored = StructType([stored_column(field) for field in columns if field.name not in request.partition_by])
        metadata = ((VERSION, spark.version), (ROW_METADATA, stored.json()))
        return ParquetForm(
            self.choice.folder, pa.schema(fields), metadata, compression(spark, request), request.partition_by,
            writes_int96(spark, stored), max_rows(spark, request),
        )  # fmt: skip

    def _resolved(self, columns: Sequence[str]) -> SinkRequest:
        self._request = self._request.resolved(columns, case_sensitive=self._case_sensitive())
        return self._request

    def _case_sensitive(self) -> bool:
        return is_on(self._spark, "spark.sql.caseSensitive", default="false")

    @contextmanager
    def pinned(self) -> Any:
        """Pin the choice in a new checkpoint, or other columns of `partitionBy` in one without results. A new one is
        removed again if the query does not start."""
        choice, place = self.choice, self._request.checkpoint
        if not choice.by_tasks:
            yield
            return
        assert place is not None
        sink = Sink(choice.folder, self._request.partition_by)
        if choice.pinned is not None:
            if choice.pinned != sink:  # there were no results yet
                place.write(SINK, sink)
            yield
            return
        with readable(self._request):
            os.makedirs(choice.folder, exist_ok=True)
            try_to_write(choice.folder)
            make_folders(choice.folder, LOG)  # from now on Spark's readers do not list the files
        place.create(SINK, sink)
        try:
            yield
        except Exception:  # not if the user interrupts, when the query may run already
            place.remove(SINK)
            raise

    def start(self, writer: Any) -> Any:
        """Return the running query of a writer."""
        folder, path = self.choice.folder, self._request.path
        if folder:
            self._continue(folder)
        elif path is not None and self._request.kind.lower() in FILE_FORMATS and hasattr(self._spark, "_jvm"):
            place = self._request.checkpoint  # on Connect, Spark shows no files of its log
            is_new = place is None or not place.is_begun()
            if is_new and newest(self._spark, f"{path.rstrip('/')}/{LOG}") is not None:
                raise other_results(self._request)
        query = writer.start() if self.choice.by_tasks or path is None else writer.start(path)
        if folder:
            try:  # so that another query is refused at its start, and not at its first commit
                with readable(self._request):
                    os.makedirs(folder, exist_ok=True)
                    BatchCommit(folder).claim(str(query.id))
            except Exception:
                query.stop()
                raise
        return query

    def _continue(self, folder: str) -> None:
        """Compare the folder with the checkpoint, and complete what an interrupted commit has left."""
        log, (planned, committed) = SinkLog(folder, _log_settings(self._spark)), self._batches()
        with readable(self._request):
            if not self.choice.by_tasks:
                continue_spark(log, folder, planned, committed)
                withdraw_interrupted(folder)  # Spark's sink runs this micro-batch again
            elif planned is None:
                refuse_old_checkpoint(log, folder, planned)
            else:
                assert self._request.checkpoint is not None
                query = str(self._request.checkpoint.identity())
                if files := continue_tasks(log, folder, query, planned, committed):
                    warn_user(f"{folder}/{LOG} was missing, and was written anew from {plural(files, 'file')} there")

    def _batches(self) -> tuple[int | None, int | None]:
        """Return the last micro-batch of the checkpoint that was planned, and the last one that was committed."""
        place = self._request.checkpoint
        return (None, None) if place is None else place.batches()

    def sentences(self, buckets: int, trigger: str | Mapping[str, Any] | None) -> tuple[str, ...]:
        """Return who writes the results and why, and how many files there will be."""
        choice, by = self.choice, self._request.partition_by
        if not choice.by_tasks:
            return (f"Spark's own sink writes the results: {choice.why}",)
        each = f" for each {'value' if len(by) == 1 else 'combination of values'} of {' and '.join(by)}" if by else ""
        most = max_rows(self._spark, self._request)
        more = f", more if a file would have more than {plural(most, 'row')}" if most else ""
        per_hour = files_per_hour(buckets, trigger)
        often = "" if per_hour is None else f"; with this trigger, up to {per_hour:,} per hour{each}"
        return (
            f"the tasks that find results write them to {choice.folder}: {choice.why}",
            f"at most {plural(buckets, 'file')} per micro-batch{each}, one per bucket{more}{often}",
        )


def files_per_hour(buckets: int, trigger: str | Mapping[str, Any] | None) -> int | None:
    """Return the most files that a trigger makes per hour; None if it has no fixed interval.

    >>> files_per_hour(2, "10 seconds"), files_per_hour(2, {"availableNow": True})
    (720, None)
    """
    interval = trigger.get("processingTime") if isinstance(trigger, Mapping) else trigger
    if not isinstance(interval, str) or not re.match(r"\s*\d", interval):
        return None
    try:
        length = length_of(interval, "ms")
    except ValueError:  # Spark decides whether it is a valid one
        return None
    return round(buckets * 3_600_000 / length) if length else None


def stored_column(field: Any) -> Any:
    """Return a column as Spark's sink describes it in a file: without the mark of a watermark, which belongs to the
    query, and nullable within."""
    return type(field)(field.name, field.dataType._as_nullable(), field.nullable)


def is_on(spark: SparkSession, setting: str, default: str) -> bool:
    """Whether a setting of Spark is true, as Spark reads it."""
    return (spark.conf.get(setting) or default).strip().lower() == "true"


def _log_settings(spark: SparkSession) -> LogSettings:
    prefix = "spark.sql.streaming.fileSink.log"
    jvm: Any = spark._jvm
    delay = spark.conf.get(f"{prefix}.cleanupDelay") or "10m"
    interval = int(spark.conf.get(f"{prefix}.compactInterval") or 10)
    if interval < 1:
        raise PlanError(f"{prefix}.compactInterval is {interval}; set it to a positive number")
    return LogSettings(
        interval=interval,
        deletes=is_on(spark, f"{prefix}.deletion", default="true"),
        cleanup_delay_s=jvm.org.apache.spark.network.util.JavaUtils.timeStringAsMs(delay) / 1000,
        retained=int(spark.conf.get("spark.sql.streaming.minBatchesToRetain") or 100),
    )
