"""The file in a checkpoint that describes the join whose results tasks have written, so that another join is refused
when it starts.

The state of each bucket has the same description, and is refused too. But that happens in the first micro-batch with
rows, in a task, and Spark reports it inside the error of its micro-batch. So a file that was lost or damaged is written
again. Queries of a session have their own file.
"""

from __future__ import annotations

import json
import uuid
from contextlib import suppress

from pyspark.sql import SparkSession

from thalweg.errors import CheckpointError
from thalweg.runtime.joins.join_state import refuse_another_join
from thalweg.runtime.spark.sql.checkpoint_folders import cannot_write, file_errors, lines_of, opened_path, parsed

NAME = "thalweg-join"


class PinnedJoin:
    """The description of a join in its checkpoint. `tick_ns`: the unit of its windows."""

    def __init__(self, spark: SparkSession, checkpoint: str, query: str, tick_ns: int | None) -> None:
        self._spark, self._query, self._tick_ns = spark, query, tick_ns
        self._folder = checkpoint.rstrip("/")
        self._is_kept = False

    def check(self) -> None:
        """Raise a CheckpointError if tasks have written results of another join with this checkpoint."""
        begun = self._begun()
        if begun is not None and begun != self._query:
            refuse_another_join(begun, self._query, self._tick_ns)

    def keep(self) -> None:
        """Write the file unless it exists. Only before results become visible: their tasks have succeeded, so the state
        is that of this join, and not of another one that was started with the same checkpoint and has no results."""
        if self._is_kept:
            return
        if self._begun() is None:
            self._write()
        self._is_kept = True

    def _begun(self) -> str | None:
        """Return the description in the file; None if there is none, or if it is damaged."""
        path = f"{self._folder}/{NAME}"
        with suppress(CheckpointError):
            match parsed(path, "\n".join(lines_of(self._spark, path) or ())):
                case {"query": str(query)}:
                    return query
        return None

    def _write(self) -> None:
        draft, files = opened_path(self._spark, f"{self._folder}/.{NAME}-{uuid.uuid4().hex}")
        path, _ = opened_path(self._spark, f"{self._folder}/{NAME}")
        with file_errors(f"{self._folder}/{NAME}", writes=True):
            opened = files.create(draft, False)
            try:
                opened.write(bytearray(json.dumps({"query": self._query}).encode()))
            finally:
                opened.close()
            files.delete(path, False)  # a damaged one
            if not files.rename(draft, path):  # whole, or not at all
                raise cannot_write(f"{self._folder}/{NAME}", "the file cannot be moved to this name")
