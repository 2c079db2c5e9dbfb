"""The file in a checkpoint that says that tasks write the results, and where. Without it, Spark's sink writes them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from thalweg.errors import CheckpointError, PlanError
from thalweg.runtime.spark.sql.checkpoint_folders import (
    damaged,
    file_errors,
    identity_in,
    lines_of,
    newest,
    opened_path,
    parsed,
)

NAME = "thalweg-sink"
FORMAT = 1


@dataclass(frozen=True)
class PinnedSink:
    """The sink that a checkpoint was created with."""

    folder: str
    partition_by: tuple[str, ...]


def pinned_sink(spark: SparkSession, checkpoint: str) -> PinnedSink | None:
    """Return the sink of a checkpoint; None if it is new, if Spark's sink writes its results, or if the file is empty
    because a start was killed. Raise a CheckpointError if the file is damaged."""
    lines = lines_of(spark, _path(checkpoint))
    if not lines:
        return None
    found = parsed(_path(checkpoint), "\n".join(lines))
    if "format" in found and found["format"] != FORMAT:
        raise CheckpointError(
            f"the checkpoint {checkpoint} has a sink of format {found.get('format')}, but this version reads format "
            f"{FORMAT}; use the version that created it, or give this query its own checkpoint"
        )
    match found:
        case {"format": _, "folder": str(folder), "partitionBy": [*columns]} if all(
            isinstance(c, str) for c in columns
        ):
            return PinnedSink(folder, tuple(columns))
    raise damaged(_path(checkpoint))


def refuse_lost_pin(spark: SparkSession, checkpoint: str) -> None:
    """Raise a CheckpointError if the file is empty although tasks have written results: a disk has lost its power."""
    if lines_of(spark, _path(checkpoint)) == []:
        raise damaged(_path(checkpoint))


def pin_sink(spark: SparkSession, checkpoint: str, sink: PinnedSink, *, replaces: bool = False) -> None:
    """Write the file of a checkpoint. Raise a PlanError if another start has written it meanwhile, unless this one
    replaces it."""
    content = {"format": FORMAT, "folder": sink.folder, "partitionBy": list(sink.partition_by)}
    place, files = opened_path(spark, _path(checkpoint))
    with file_errors(_path(checkpoint)):
        # a process that was killed while it wrote the file has left it empty
        is_empty = bool(files.exists(place)) and not files.getFileStatus(place).getLen()
    try:
        opened = files.create(place, is_empty or replaces)
    except Py4JJavaError as error:
        raise PlanError(
            f"the checkpoint {checkpoint} cannot be created ({error.java_exception.getMessage()}): another query is "
            "being started with it, or it cannot be written; give this query its own checkpoint"
        ) from error
    with file_errors(_path(checkpoint), writes=True):
        try:
            opened.write(bytearray(json.dumps(content).encode()))
        finally:
            opened.close()


def unpin_sink(spark: SparkSession, checkpoint: str) -> None:
    """Remove the file, because the query did not start."""
    place, files = opened_path(spark, _path(checkpoint))
    files.delete(place, False)


def query_id(spark: SparkSession, checkpoint: str) -> str:
    """Return the id of the query that a checkpoint belongs to, which Spark writes before the first micro-batch."""
    if (found := identity_in(spark, checkpoint)) is None:
        raise damaged(f"{checkpoint.rstrip('/')}/metadata", "is missing")
    return found


def is_begun(spark: SparkSession, checkpoint: str) -> bool:
    """Whether a micro-batch of the checkpoint has begun."""
    return newest(spark, f"{checkpoint.rstrip('/')}/offsets") is not None


def _path(checkpoint: str) -> str:
    return f"{checkpoint.rstrip('/')}/{NAME}"
