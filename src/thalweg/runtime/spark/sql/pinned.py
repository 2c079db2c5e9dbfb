"""What a checkpoint is bound to: a text file in its folder, written and read by Spark, wherever the checkpoint lies."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession

from thalweg.errors import CheckpointError
from thalweg.runtime.spark.sql.places import lines_of

FORMAT = 1


def pinned(spark: SparkSession, checkpoint: str, mine: dict[str, Any]) -> dict[str, Any] | None:
    """What the checkpoint was begun with; None: it is new. Refuses one that another query began."""
    lines = lines_of(spark, _path(checkpoint))
    if lines is None and lines_of(spark, f"{checkpoint.rstrip('/')}/offsets"):
        raise CheckpointError(
            f"the checkpoint {checkpoint} was begun without a session, by a query of Spark's, and nothing tells which "
            "one; give this query a checkpoint of its own"
        )
    if not lines:
        return None
    found: dict[str, Any] = json.loads(lines[0])
    if found.get("format") != FORMAT:
        raise CheckpointError(
            f"{checkpoint}: its plan has format {found.get('format')}, and this version reads {FORMAT}"
        )
    if found.get("query") != mine["query"]:
        raise CheckpointError(
            f"the checkpoint {checkpoint} was begun by another query, and its state is of no use to this one. It was:\n"
            f"  {found.get('text')}{_told(found.get('args'))}\n"
            "Give this query a checkpoint of its own, or start that one again"
        )
    if found.get("plan") != mine["plan"]:
        raise CheckpointError(
            f"the checkpoint {checkpoint} was begun by this query with another plan: its filters stood elsewhere, "
            "so that its state holds other rows. Declare functions safe= as they were, or give the query a checkpoint "
            "of its own"
        )
    return found


def _told(args: object) -> str:
    """Values of parameters."""
    if not isinstance(args, dict) or not args:
        return ""
    return "\n  with " + ", ".join(f":{name} = {value}" for name, value in args.items())


def pin(spark: SparkSession, checkpoint: str, mine: dict[str, Any]) -> None:
    """Bind a new checkpoint."""
    _write(spark, checkpoint, [(json.dumps({"format": FORMAT, **mine}, sort_keys=True),)])


def unpin(spark: SparkSession, checkpoint: str) -> None:
    """It was not begun after all."""
    _write(spark, checkpoint, [])


def _path(checkpoint: str) -> str:
    return f"{checkpoint.rstrip('/')}/thalweg"


def _write(spark: SparkSession, checkpoint: str, rows: list[tuple[str]]) -> None:
    spark.createDataFrame(rows, "value string").coalesce(1).write.mode("overwrite").text(_path(checkpoint))
