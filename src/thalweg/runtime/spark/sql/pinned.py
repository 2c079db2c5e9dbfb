"""What a checkpoint is bound to: a text file in its folder, written and read by Spark, wherever the checkpoint lies."""

from __future__ import annotations

import json
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from thalweg.errors import CheckpointError

FORMAT = 1


def pin(spark: SparkSession, checkpoint: str, mine: dict[str, Any]) -> dict[str, Any]:
    """What the checkpoint was begun with: `mine` in a new one; refuses one that another query began."""
    path = f"{checkpoint.rstrip('/')}/thalweg"
    found = _read(spark, path)
    if found is None:
        text = json.dumps({"format": FORMAT, **mine}, sort_keys=True)
        spark.createDataFrame([(text,)], "value string").coalesce(1).write.mode("overwrite").text(path)
        return mine
    if found.get("format") != FORMAT:
        raise CheckpointError(
            f"{checkpoint}: its plan has format {found.get('format')}, and this version reads {FORMAT}"
        )
    if found.get("query") != mine["query"]:
        raise CheckpointError(
            f"the checkpoint {checkpoint} was begun by another query, and its state is of no use to this one. It was:\n"
            f"  {found.get('text')}\nGive this query a checkpoint of its own, or start that one again"
        )
    return found


def _read(spark: SparkSession, path: str) -> dict[str, Any] | None:
    try:
        rows = spark.read.text(path).collect()
    except AnalysisException as error:
        if (error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()) == "PATH_NOT_FOUND":
            return None
        raise
    found: dict[str, Any] | None = json.loads(rows[0][0]) if rows else None
    return found
