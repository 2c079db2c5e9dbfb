"""Checks the files of a checkpoint from which Spark continues to plan micro-batches.

If one of them is damaged or missing, Spark's own errors do not always name it, and Spark may read rows again that it
has read. Files of state are read by tasks, whose errors name them. Logs of very many files of a source are left to
Spark, because reading them here, too, would delay the start by seconds.
"""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from thalweg.runtime.checkpoint_parts import damaged, parsed
from thalweg.runtime.spark.sql.checkpoint_folders import newest, numbered, size_of, text_in

MOST_BYTES = 4_000_000
"""The largest log of a source that is read, of about 30,000 files."""


def refuse_damaged_logs(spark: SparkSession, checkpoint: str) -> None:
    """Raise a CheckpointError if such a file is damaged or missing. On Connect Spark's errors stay as they are."""
    folder = checkpoint.rstrip("/")
    if not hasattr(spark, "_jvm") or (planned := newest(spark, f"{folder}/offsets")) is None:
        return
    if (committed := newest(spark, f"{folder}/commits")) is not None:
        _lines(spark, f"{folder}/commits/{committed}")
    before = _file_offsets(spark, f"{folder}/offsets/{max(planned - 1, 0)}")
    for number, offset in _file_offsets(spark, f"{folder}/offsets/{planned}").items():
        if offset < before.get(number, -1):
            raise damaged(f"{folder}/offsets/{planned}", "is older than the one before it")
        source = f"{folder}/sources/{number}"
        files = numbered(spark, source)
        if offset > max(files, default=-1):
            raise damaged(f"{source}/{offset}", "is missing")
        last = max((batch for batch, name in files.items() if name.endswith(".compact")), default=0)
        for batch, path in ((batch, f"{source}/{name}") for batch, name in files.items() if batch >= last):
            if size_of(spark, path) <= MOST_BYTES and parsed(path, _lines(spark, path)[-1]).get("batchId") != batch:
                raise damaged(path, "lists files of another micro-batch")


def _file_offsets(spark: SparkSession, path: str) -> dict[int, int]:
    """Return how far a micro-batch has read the logs of those sources that are folders of files, by their numbers."""
    version, _, *lines = _lines(spark, path)
    if version != "v1":  # sources may have names instead of numbers
        return {}
    found = (re.fullmatch(r'\{"logOffset":(\d+)\}', line) for line in lines)
    return {number: int(matched[1]) for number, matched in enumerate(found) if matched}


def _lines(spark: SparkSession, path: str) -> list[str]:
    """Return the lines of a file, which has a version and JSON objects. Raise a CheckpointError if it is damaged."""
    text = text_in(spark, path)
    if text is None:
        raise damaged(path, "is missing")
    lines = text.split("\n")
    if len(lines) < 2 or not re.fullmatch(r"v\d+", lines[0]):
        raise damaged(path)
    for line in lines[1:]:
        if line.startswith("{"):
            parsed(path, line)
    return lines
