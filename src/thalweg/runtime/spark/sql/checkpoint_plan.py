"""What a checkpoint belongs to: a text file in its folder, which Spark writes and reads wherever the checkpoint is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from thalweg.errors import CheckpointError, warn_user
from thalweg.plan.plan_state import PlanState
from thalweg.plan.query import Query
from thalweg.plan.query_plan import FilterPlaces, QueryPlan
from thalweg.runtime.spark.sql.changed_words import changed_words
from thalweg.runtime.spark.sql.checkpoint_folders import damaged, lines_of, newest, parsed
from thalweg.runtime.spark.sql.format_1 import plan_hash, state_of
from thalweg.stats.batch_time import BatchTimes

FORMAT = 2
READ = (1, FORMAT)
TIMES = "thalweg-batches"
"""The file of the times of micro-batches."""


@dataclass(frozen=True)
class CheckpointPlan:
    """A query, and how its plan stores rows. The order is a hint, and is not compared."""

    question: str
    text: str
    args: Mapping[str, str]
    """The values of the parameters."""
    state: PlanState
    order: tuple[str, ...] = ()
    """The sources of a join in the order it started with."""

    def to_json(self) -> str:
        """Return the text of the file."""
        query = {"query": self.question, "text": self.text, "args": dict(self.args), "order": list(self.order)}
        return json.dumps({"format": FORMAT, **query, "state": self.state.parts}, sort_keys=True)

    @classmethod
    def read(cls, found: Mapping[str, Any], plan: QueryPlan) -> CheckpointPlan:
        """Read the content of any format. `plan` is a plan of the same query."""
        state = state_of(found, plan) if found["format"] == 1 else PlanState.read(found["state"])
        return cls(found["query"], found["text"], found["args"], state, tuple(found.get("order", ())))


def content_of(spark: SparkSession, checkpoint: str, query: Query, args: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Return what is written in a checkpoint; None if it is new. Raise a CheckpointError if it belongs to another
    question than that of this query with these values of parameters, or if what was written is damaged or lost."""
    found = _content(spark, checkpoint)
    if found is None and newest(spark, f"{checkpoint.rstrip('/')}/offsets") is not None:
        raise CheckpointError(
            f"the checkpoint {checkpoint} belongs to an unknown Spark query that was started without a session, or has "
            f"lost its folder `thalweg`; restore that folder, or give this query its own checkpoint and its own folder "
            "for results"
        )
    if found is not None and found["query"] != query.question:
        texts = (found["text"] + _with_values(found["args"]), query.text + _with_values(args))
        changed = changed_words(*texts) or "its text is the same, but its streams have other times, columns or types"
        raise _another_query(checkpoint, found, f"  ({changed})\n")
    return found


def refuse_query(spark: SparkSession, checkpoint: str) -> None:
    """Raise a CheckpointError if a checkpoint belongs to a query of a session."""
    if (found := _content(spark, checkpoint)) is not None:
        raise _another_query(checkpoint, found)


def _content(spark: SparkSession, checkpoint: str) -> Mapping[str, Any] | None:
    """Return what is written in a checkpoint; None if there is nothing, or if the query did not start. Raise a
    CheckpointError if it is damaged, or gone although there are micro-batches."""
    path = _path(checkpoint)
    lines = lines_of(spark, path)
    if lines is None:
        return None
    if not lines:
        if newest(spark, f"{checkpoint.rstrip('/')}/offsets") is not None:
            raise damaged(path, "is empty")
        return None
    match found := parsed(path, lines[0]):
        case {"format": int(number)} if number not in READ:
            raise CheckpointError(
                f"the checkpoint {checkpoint} has format {number}, but this version reads formats {READ[0]} to "
                f"{READ[-1]}; use the version that created it, or give this query its own checkpoint"
            )
        case {"format": 1, "query": str(), "text": str(), "args": dict(), "plan": _, "order": list(), "buckets": _}:
            return found
        case {"format": 2, "query": str(), "text": str(), "args": dict(), "state": dict()}:
            return found
    raise damaged(path)


def _another_query(checkpoint: str, found: Mapping[str, Any], differences: str = "") -> CheckpointError:
    return CheckpointError(
        f"the checkpoint {checkpoint} belongs to another query, whose state this one cannot use:\n"
        f"  {found['text']}{_with_values(found['args'])}\n{differences}"
        "Give this query its own checkpoint and its own folder for results, or start the other one again"
    )


def filter_places(found: Mapping[str, Any]) -> FilterPlaces | None:
    """Return where a plan must evaluate conditions to continue from a checkpoint; None if its state does not depend on
    it."""
    if found["format"] == 1:
        return "before"
    conditions = found["state"].get("conditions")
    return {alias: tuple(texts) for alias, texts in conditions} if conditions else None


def pinned(found: Mapping[str, Any], checkpoint: str, mine: CheckpointPlan, plan: QueryPlan) -> CheckpointPlan:
    """Return what the checkpoint was created with, from its content. Raise a CheckpointError if its state is that of a
    plan of the same query whose state `plan` cannot use."""
    if found["format"] == 1 and found["plan"] != plan_hash(plan):
        raise _another_plan(checkpoint, ["an earlier version created it, and evaluated conditions in other places"])
    if found["format"] == 1 and any(scan.errors for scan in plan.scans):
        raise _another_plan(checkpoint, ["an earlier version created it, without a column for errors in its windows"])
    try:
        begun = CheckpointPlan.read(found, plan)
    except CheckpointError as error:
        raise CheckpointError(f"the checkpoint {checkpoint} cannot be used: {error}") from None
    if differences := list(begun.state.differences(mine.state)):
        raise _another_plan(checkpoint, differences)
    return begun


def _another_plan(checkpoint: str, differences: Sequence[str]) -> CheckpointError:
    return CheckpointError(
        f"the checkpoint {checkpoint} was created by this query with another plan, so its state has other rows: "
        f"{'; '.join(differences)}. Start the query as it was started then, with the same on_error= and with functions "
        "declared safe= as they were, or give it its own checkpoint"
    )


def _with_values(args: Mapping[str, Any]) -> str:
    """Return a line with the values of parameters; empty if there are none."""
    if not args:
        return ""
    return "\n  with " + ", ".join(f":{name} = {value}" for name, value in args.items())


def pin(spark: SparkSession, checkpoint: str, mine: CheckpointPlan) -> None:
    """Write the file of a new checkpoint."""
    _write(spark, checkpoint, [(mine.to_json(),)])


def unpin(spark: SparkSession, checkpoint: str) -> None:
    """Empty the file, because the query did not start."""
    _write(spark, checkpoint, [])


def stored_times(spark: SparkSession, checkpoint: str) -> BatchTimes | None:
    """Return the times of micro-batches that are stored in a checkpoint; None if there are none, or with a warning if
    they cannot be read. Results do not depend on them."""
    try:
        lines = lines_of(spark, _path(checkpoint, TIMES))
        return BatchTimes.read(json.loads(lines[0])) if lines else None
    except (ValueError, CheckpointError) as error:  # a PlanError is a ValueError
        warn_user(
            f"the times of micro-batches in {_path(checkpoint, TIMES)} cannot be read, and are counted anew: {error}"
        )
        return None


def store_times(spark: SparkSession, checkpoint: str, times: BatchTimes) -> None:
    """Store the times of micro-batches in a checkpoint."""
    _write(spark, checkpoint, [(json.dumps(times.to_dict()),)], TIMES)


def _path(checkpoint: str, name: str = "thalweg") -> str:
    return f"{checkpoint.rstrip('/')}/{name}"


def _write(spark: SparkSession, checkpoint: str, rows: list[tuple[str]], name: str = "thalweg") -> None:
    spark.createDataFrame(rows, "value string").coalesce(1).write.mode("overwrite").text(_path(checkpoint, name))
