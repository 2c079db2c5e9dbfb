"""The file in a checkpoint that describes the join whose results tasks have written, so that another join is refused
when it starts.

The state of each bucket has the same description, and is refused too. But that happens in the first micro-batch with
rows, in a task, and Spark reports it inside the error of its micro-batch. Queries of a session have their own file.
"""

from __future__ import annotations

import json
import uuid

from pyspark.sql import SparkSession

from thalweg.runtime.joins.join_state import refuse_another_join
from thalweg.runtime.spark.sql.checkpoint_folders import file_errors, lines_of, opened_path, parsed

NAME = "thalweg-join"


class PinnedJoin:
    """The description of a join in its checkpoint. `tick_ns`: the unit of its windows."""

    def __init__(self, spark: SparkSession, checkpoint: str, query: str, tick_ns: int | None) -> None:
        self._spark, self._query, self._tick_ns = spark, query, tick_ns
        self._folder = checkpoint.rstrip("/")
        self._is_kept = False

    def check(self) -> None:
        """Raise a CheckpointError if another join has committed micro-batches with this checkpoint."""
        path = f"{self._folder}/{NAME}"
        lines = lines_of(self._spark, path)
        if lines is None:
            return
        begun = parsed(path, "\n".join(lines)).get("query")
        if begun != self._query:
            refuse_another_join(str(begun), self._query, self._tick_ns)

    def keep(self) -> None:
        """Write the file unless it exists. Only after a commit: then the state is that of this join, and not of another
        one that was started with the same checkpoint and has not read anything."""
        if self._is_kept:
            return
        draft, files = opened_path(self._spark, f"{self._folder}/.{NAME}-{uuid.uuid4().hex}")
        path, _ = opened_path(self._spark, f"{self._folder}/{NAME}")
        with file_errors(f"{self._folder}/{NAME}"):
            if not files.exists(path):
                opened = files.create(draft, False)
                try:
                    opened.write(bytearray(json.dumps({"query": self._query}).encode()))
                finally:
                    opened.close()
                files.rename(draft, path)  # whole, or not at all
        self._is_kept = True
