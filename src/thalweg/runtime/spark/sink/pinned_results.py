"""The file in a checkpoint that describes the results that tasks have written: their columns, and the join that they
are results of. A start with other ones is refused, because readers would find both in one folder.

The state of each bucket has the same description of the join, and is refused too. But that happens in the first
micro-batch with rows, in a task, and Spark reports it inside the error of its micro-batch. So a file that was lost or
damaged is written again. Queries of a session describe their join in their own file.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from thalweg.errors import CheckpointError
from thalweg.runtime.joins.join_state import refuse_another_join
from thalweg.runtime.spark.sql.checkpoint_folders import cannot_write, file_errors, lines_of, opened_path, parsed

NAME = "thalweg-results"
Columns = list[list[str]]
"""The name and the type of each column."""


class PinnedResults:
    """The description of results in a checkpoint. `join`: that of their join, as its state has it, with `tick_ns` as
    the unit of its windows; None for queries of a session."""

    def __init__(
        self, spark: SparkSession, checkpoint: str, join: str | None = None, tick_ns: int | None = None
    ) -> None:
        self._spark, self._checkpoint = spark, checkpoint.rstrip("/")
        self._now: dict[str, Any] = {"join": join}
        self._begun = self._read()
        begun = None if self._begun is None else self._begun["join"]
        if join is not None and begun is not None and begun != join:
            refuse_another_join(begun, join, tick_ns)

    def check(self, columns: StructType, partition_by: Sequence[str], *, case_sensitive: bool) -> None:
        """Raise a CheckpointError if the results have other columns than earlier ones, or are in folders by other
        columns. Their order does not matter. These are described from now on."""

        def compared(described: dict[str, Any]) -> tuple[Columns, list[str]]:
            def folded(name: str) -> str:
                return name if case_sensitive else name.lower()

            found: Columns = sorted([folded(name), kind] for name, kind in described["columns"])
            return found, [folded(name) for name in described["partitionBy"]]

        fields: Columns = [[field.name, field.dataType.simpleString()] for field in columns]
        self._now |= {"columns": fields, "partitionBy": list(partition_by)}
        if self._begun is None or compared(self._begun) == compared(self._now):
            return
        before, now = (_sentence(each) for each in (self._begun, self._now))
        raise CheckpointError(
            f"the checkpoint {self._checkpoint} belongs to results with the columns {before}, and not with {now}; "
            "start the query with the same columns, or give it its own checkpoint and folder"
        )

    def keep(self) -> None:
        """Write the file unless it exists. Only before results become visible: their tasks have succeeded, so the state
        is that of this query, and not of another one that was started with the same checkpoint and has no results."""
        if self._begun is None:
            self._write()
            self._begun = self._now

    def _read(self) -> dict[str, Any] | None:
        """Return the content of the file; None if there is none, or if it is damaged."""
        path = f"{self._checkpoint}/{NAME}"
        with suppress(CheckpointError):
            found = parsed(path, "\n".join(lines_of(self._spark, path) or ()))
            match found:
                case {"join": str() | None, "columns": [*columns], "partitionBy": [*by]} if all(
                    isinstance(each, list) and [*map(type, each)] == [str, str] for each in columns
                ) and all(isinstance(each, str) for each in by):
                    return found
        return None

    def _write(self) -> None:
        draft, files = opened_path(self._spark, f"{self._checkpoint}/.{NAME}-{uuid.uuid4().hex}")
        path, _ = opened_path(self._spark, f"{self._checkpoint}/{NAME}")
        with file_errors(f"{self._checkpoint}/{NAME}", writes=True):
            opened = files.create(draft, False)
            try:
                opened.write(bytearray(json.dumps(self._now).encode()))
            finally:
                opened.close()
            files.delete(path, False)  # a damaged one
            if not files.rename(draft, path):  # whole, or not at all
                raise cannot_write(f"{self._checkpoint}/{NAME}", "the file cannot be moved to this name")


def _sentence(described: dict[str, Any]) -> str:
    columns = ", ".join(map(" ".join, described["columns"]))
    return f"{columns} (partitionBy={described['partitionBy']!r})" if described["partitionBy"] else columns
