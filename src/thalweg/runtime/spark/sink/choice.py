"""Who writes the results of a streaming query: the tasks that find them, or Spark's own sink.

Results that tasks write need not go back through the JVM. That is only possible for Parquet files on a disk that the
driver and all workers have, and if nothing after the join needs Spark. A checkpoint continues as it was created.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from thalweg.errors import CheckpointError, PlanError
from thalweg.runtime.checkpoint_parts import FOLDER, SINK, Sink
from thalweg.runtime.sink.batch_commit import disown_unused, forget_emptied, owner_of
from thalweg.runtime.sink.parquet_form import CODECS
from thalweg.runtime.sink.sink_log import NAME as LOG_NAME
from thalweg.runtime.sink.sink_log import SinkLog
from thalweg.runtime.sink.staged_files import remedy_of
from thalweg.runtime.spark.joins.task_sink import NeedsSparkSinkError
from thalweg.runtime.spark.sink.request import SPARK, TASKS, SinkRequest
from thalweg.runtime.spark.sink.shared_folder import not_shared
from thalweg.runtime.spark.sql.checkpoint_folders import hadoop_path, running_query
from thalweg.runtime.spark.sql.requirements import spark_errors

_PLAIN = (
    BinaryType, BooleanType, ByteType, DateType, DayTimeIntervalType, DecimalType, DoubleType, FloatType, IntegerType,
    LongType, ShortType, TimestampNTZType, TimestampType,
)  # fmt: skip
_OPTIONS = {"compression", "parquet.compression", "maxrecordsperfile"}
"""The options of Spark's sink that tasks understand, in lower case."""
_SPELLED = ("compression", "maxRecordsPerFile", "partitionBy", "path", "checkpointLocation")
"""The names that a misspelled option is compared with."""
_CODECS_OF_SPARK = ("lz4", "lzo", "brotli")
FILE_FORMATS = {"parquet", "orc", "json", "csv", "text", "avro"}
"""The formats that Spark's file sink writes."""
ENCRYPTION = ("parquet.crypto.factory.class", "parquet.encryption.kms.client.class")
"""Settings of Hadoop by which files are encrypted."""
CODEC, MAX_ROWS = "spark.sql.parquet.compression.codec", "spark.sql.files.maxRecordsPerFile"
TIMESTAMPS, INT96, MICROS = "spark.sql.parquet.outputTimestampType", "int96", "timestamp_micros"
_SETTINGS = {
    TIMESTAMPS: (INT96, MICROS),
    "spark.sql.parquet.writeLegacyFormat": ("false",),
    "spark.sql.parquet.datetimeRebaseModeInWrite": ("corrected",),
    "spark.sql.parquet.int96RebaseModeInWrite": ("corrected",),
    "spark.sql.parquet.fieldId.write.enabled": ("true",),
    "spark.sql.parquet.int96TimestampConversion": ("false",),  # shifts INT96 that Spark has not written
}
"""Settings that change what Spark writes or reads, and the values that a task can follow if a user has set them."""


@dataclass(frozen=True)
class SinkChoice:
    """Who writes the results, and why."""

    by_tasks: bool
    why: str
    folder: str = ""
    """The folder of the results, if they are files on a local disk."""
    pinned: Sink | None = None
    """What the checkpoint was created with; None if it is new."""


def choose_sink(spark: SparkSession, request: SinkRequest, obstacle: str | None) -> SinkChoice:
    """Choose who writes. `obstacle`: why the tasks of this query cannot compute its results; None if they can. Raise an
    error if the user or the checkpoint asks for what is not possible."""
    _refuse_wrong_options(spark, request)
    pinned = None if request.checkpoint is None else request.checkpoint.read(SINK)
    reason = obstacle or _obstacle(spark, request)
    if pinned is not None:
        return _continued(spark, request, pinned, reason)
    local = _folder_on_disk(spark, request)
    if request.asked == SPARK:
        return SinkChoice(False, "sink='spark' asks for it", local)
    or_new = ""
    if reason is None:
        assert request.checkpoint is not None
        if request.checkpoint.is_begun():
            or_new = ", or give this query a new checkpoint and a new folder"
            lacks = f"{FOLDER}/{SINK.name}"
            reason = f"its checkpoint has no file {lacks}, so it was created with Spark's sink, and continues with it"
        elif not on_one_machine(spark):  # last, because it runs a job
            reason = not_shared(spark, folder_of(spark, request))
    if reason is not None:
        if request.asked == TASKS:
            raise PlanError(
                f"sink='tasks' is not possible: {reason}; leave sink= out to let Spark write the results{or_new}"
            )
        return SinkChoice(False, reason, local)
    with readable(request):
        if SinkLog(local).latest() is not None:
            raise other_results(request)
    disk = "a local disk" if on_one_machine(spark) else "a disk that the driver and the workers share"
    return SinkChoice(True, f"they are Parquet files on {disk}, and nothing after the join needs Spark", local)


def _refuse_wrong_options(spark: SparkSession, request: SinkRequest) -> None:
    """Raise a PlanError for values that neither tasks nor Spark understand. Spark would fail the first micro-batch with
    files, and the checkpoint would continue with Spark's sink."""
    if request.kind.lower() != "parquet":
        return
    max_rows(spark, request)
    for name in request.options:
        if name.lower() not in _OPTIONS and (meant := _meant(name)) is not None:
            raise PlanError(
                f"options: {name!r} is not an option of Parquet files (did you mean {meant!r}?); correct or remove it"
            )
    if (codec := compression(spark, request)) not in (*CODECS, *_CODECS_OF_SPARK):
        raise PlanError(
            f"compression={codec!r} is not a codec of Parquet files; use one of {', '.join((*CODECS, 'lz4'))}"
        )


def _folder_on_disk(spark: SparkSession, request: SinkRequest) -> str:
    """Return the folder of the results if they are files on a local disk; otherwise an empty text. Raise a PlanError if
    it has results of another query: Spark's sink would take its micro-batches for its own, and leave them out. Raise it
    too if the path is a file."""
    if request.path is None or not hasattr(spark, "_jvm") or request.kind.lower() not in FILE_FORMATS:
        return ""
    folder = folder_of(spark, request)
    if not folder.startswith("/"):
        return ""
    place = request.checkpoint
    if os.path.lexists(folder) and not os.path.isdir(folder):
        kind = "a file" if os.path.exists(folder) else "a link to nothing"
        raise PlanError(f"path={request.path!r} is {kind}; give a folder")
    with readable(request):
        forget_emptied(folder)
        try:
            owner = owner_of(folder)
        except CheckpointError:
            if not disown_unused(folder):
                raise
            owner = None
        if owner is None:  # Spark alone has written the results if there are any
            is_begun_here = place is not None and place.is_begun()
            if not is_begun_here and SinkLog(folder).latest() is not None:
                raise other_results(request)
            return folder
    if (other := running_query(spark, owner)) is not None:
        raise PlanError(
            f"path={request.path!r} is the folder of the query {other}, which is running; give this query another one"
        )
    if place is None or place.identity() != owner:
        with readable(request):
            if disown_unused(folder):
                return folder
        raise other_results(request)
    return folder


def _meant(option: str) -> str | None:
    """Return the option that a name is a misspelling of; None if it is similar to none.

    >>> _meant("compresion"), _meant("partition_by"), _meant("retention")
    ('compression', 'partitionBy', None)
    """
    spelled = {name.lower(): name for name in _SPELLED}
    close = difflib.get_close_matches(option.lower().replace("_", ""), spelled, n=1, cutoff=0.8)
    return spelled[close[0]] if close else None


@contextmanager
def readable(request: SinkRequest) -> Iterator[None]:
    """Raise errors of the disk as a PlanError that names the folder of the results."""
    try:
        yield
    except OSError as error:
        raise PlanError(
            f"path={request.path!r} is a folder that cannot be read and written: {error.strerror}; give another, or "
            f"{remedy_of(error)}"
        ) from error


def other_results(request: SinkRequest) -> PlanError:
    """Return the error for a folder with results of another checkpoint."""
    return PlanError(
        f"path={request.path!r} has results of another query (in {LOG_NAME}), and this one has another checkpoint; "
        "give it a new folder, or the checkpoint of these results"
    )


def _continued(spark: SparkSession, request: SinkRequest, pinned: Sink, reason: str | None) -> SinkChoice:
    """Return the choice of a checkpoint whose results were written by tasks."""
    place = request.checkpoint
    if reason is not None:
        raise CheckpointError(
            f"the checkpoint {place} was created by a query whose tasks write its results, which is not possible now: "
            f"{reason}. Start the query as it was started then, or give it its own checkpoint and folder"
        )
    if request.asked == SPARK:
        raise CheckpointError(
            f"the checkpoint {place} was created by a query whose tasks write its results, and continues that way; "
            "leave sink='spark' out, or give this query its own checkpoint and folder"
        )
    folder = folder_of(spark, request)
    if os.path.realpath(pinned.folder) != os.path.realpath(folder):
        raise CheckpointError(
            f"the checkpoint {place} belongs to results in {pinned.folder}, and not in {folder}; start the query with "
            "the same path, or give it its own checkpoint"
        )
    by, now = (tuple(map(str.lower, names)) for names in (pinned.partition_by, request.partition_by))
    if by != now and SinkLog(folder).latest() is not None:  # otherwise there are no results yet
        raise CheckpointError(
            f"the checkpoint {place} belongs to results with partitionBy={list(pinned.partition_by)}, and not with "
            f"{list(request.partition_by)}; start the query with the same columns, or give it its own checkpoint and "
            "folder"
        )
    if not os.path.isdir(folder):
        raise PlanError(
            f"path={request.path!r} does not exist, but the checkpoint {place} belongs to the results in it; mount or "
            "restore the folder, or create it empty to continue without the earlier results"
        )
    if not on_one_machine(spark) and (reason := not_shared(spark, pinned.folder)) is not None:
        raise PlanError(f"tasks write the results of the checkpoint {place}, but {reason}; mount it there")
    # as it was named first, because Spark's readers see only files with that name in the log: it may be a link
    return SinkChoice(True, "its checkpoint was created this way", pinned.folder, pinned)


def _obstacle(spark: SparkSession, request: SinkRequest) -> str | None:
    """Return why tasks cannot write what was asked for; None if they can."""
    if request.kind.lower() != "parquet":
        return f"the format is {request.kind}, and tasks write only Parquet"
    if request.path is None:
        return "no path= is given"
    if os.name == "nt":
        return "tasks do not write on Windows"
    if not hasattr(spark, "_jvm"):
        return "on Spark Connect, files cannot be committed with a micro-batch"
    if os.environ.get("PYSPARK_PIN_THREAD", "true").lower() != "true":
        return "with PYSPARK_PIN_THREAD=false, jobs inside foreachBatch do not know their query"
    if request.checkpoint is None:
        return "it has no checkpoint= of its own"
    if not folder_of(spark, request).startswith("/"):
        return f"{request.path} is not on a local disk"
    if any(spark._jsparkSession.sessionState().newHadoopConf().get(name) for name in ENCRYPTION):
        return "Parquet encryption is configured, and only Spark can encrypt files"
    for name in request.options:
        if name.lower() not in _OPTIONS:
            return f"tasks do not know the option {name}"
    for name, followed in _SETTINGS.items():
        found = spark.conf.get(name, None)
        if found is not None and found.lower() not in followed:
            return f"{name} is {found}"
    if (codec := compression(spark, request)) not in CODECS:
        return f"tasks cannot compress with {codec}"
    return None


def folder_of(spark: SparkSession, request: SinkRequest) -> str:
    """Return the folder of the results: an absolute path if it is on a local disk, otherwise a URI."""
    assert request.path is not None
    with spark_errors():
        return hadoop_path(spark, request.path)


def on_one_machine(spark: SparkSession) -> bool:
    """Whether the driver and all workers are on one machine."""
    return (spark.conf.get("spark.master", None) or "").startswith("local")


def compression(spark: SparkSession, request: SinkRequest) -> str:
    """Return Spark's name of the codec that was asked for."""
    return str(request.option("compression") or request.option("parquet.compression") or spark.conf.get(CODEC)).lower()


def max_rows(spark: SparkSession, request: SinkRequest) -> int:
    """Return the maximum number of rows per file; 0 for no limit."""
    given: Any = request.option("maxrecordsperfile")
    if given is None:
        return max(0, int(spark.conf.get(MAX_ROWS) or 0))
    text = str(given).strip()
    if isinstance(given, bool) or not re.fullmatch(r"[+-]?\d{1,18}", text):
        raise PlanError(f"maxRecordsPerFile={given!r} is not a whole number; give the maximum number of rows per file")
    return max(0, int(text))


def writes_int96(spark: SparkSession, columns: StructType) -> bool:
    """Whether timestamps are stored as INT96. Raise a `NeedsSparkSinkError` if only some of them are: Spark stores a
    TIMESTAMP_NTZ as 64 bits, and pyarrow stores all timestamps of a file in one way."""
    zoned, plain = (contains(columns, kind) for kind in (TimestampType, TimestampNTZType))
    if not zoned or (spark.conf.get(TIMESTAMPS) or "").lower() != INT96:
        return False
    if plain:
        raise NeedsSparkSinkError(
            f"results have columns of TIMESTAMP and of TIMESTAMP_NTZ, and {TIMESTAMPS} is INT96, in which tasks would "
            f"store both; with TIMESTAMP_MICROS they can write them"
        )
    return True


def contains(kind: DataType, wanted: type[DataType]) -> bool:
    """Whether a type is, or has within it, one of the wanted type."""
    if isinstance(kind, StructType):
        return any(contains(field.dataType, wanted) for field in kind)
    if isinstance(kind, ArrayType):
        return contains(kind.elementType, wanted)
    if isinstance(kind, MapType):
        return contains(kind.keyType, wanted) or contains(kind.valueType, wanted)
    return isinstance(kind, wanted)


def refuse_unknown_types(columns: StructType) -> None:
    """Raise a `NeedsSparkSinkError` for columns that tasks cannot write, or would compare in another way than Spark,
    such as texts with a collation."""
    for field in columns:
        if (unknown := unknown_type(field.dataType)) is not None:
            raise NeedsSparkSinkError(f"{field.name} contains {unknown.simpleString()}, which only Spark can write")


def unknown_type(kind: DataType) -> DataType | None:
    """Return the first type within a type that only Spark can write; None if there is none."""
    if isinstance(kind, StructType):
        if not kind.fields:  # neither pyarrow nor Spark can write it, and Spark says so before anything runs
            return kind
        return next((found for field in kind if (found := unknown_type(field.dataType)) is not None), None)
    if isinstance(kind, ArrayType):
        return unknown_type(kind.elementType)
    if isinstance(kind, MapType):
        return unknown_type(kind.keyType) or unknown_type(kind.valueType)
    return None if type(kind) in _PLAIN or kind == StringType() else kind
