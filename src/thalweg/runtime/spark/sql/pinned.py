"""What a checkpoint is bound to: a text file in its folder, written and read by Spark, wherever the checkpoint lies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from thalweg.errors import CheckpointError
from thalweg.plan.plan_state import PlanState
from thalweg.plan.query_plan import QueryPlan
from thalweg.runtime.spark.sql.format_1 import plan_hash, state_of
from thalweg.runtime.spark.sql.places import lines_of

FORMAT = 2
READ = (1, FORMAT)


@dataclass(frozen=True)
class Pinned:
    """A query, and how its plan stores rows. The order is a hint: it is compared with nothing."""

    question: str
    text: str
    args: Mapping[str, str]
    """Values of parameters."""
    state: PlanState
    order: tuple[str, ...] = ()
    """Sources of a join in the order it was begun with."""

    def to_json(self) -> str:
        """As it is written."""
        told = {"query": self.question, "text": self.text, "args": dict(self.args), "order": list(self.order)}
        return json.dumps({"format": FORMAT, **told, "state": self.state.parts}, sort_keys=True)

    @classmethod
    def read(cls, found: Mapping[str, Any], plan: QueryPlan) -> Pinned:
        """As any format wrote it. `plan`: one of the same question."""
        state = state_of(found, plan) if found["format"] == 1 else PlanState.read(found["state"])
        return cls(found["query"], found["text"], found["args"], state, tuple(found.get("order", ())))


def pinned(spark: SparkSession, checkpoint: str, mine: Pinned, plan: QueryPlan) -> Pinned | None:
    """What the checkpoint was begun with; None: it is new. Refuses one that another query began, or this query with a
    plan whose state is of no use to `plan`."""
    lines = lines_of(spark, _path(checkpoint))
    if lines is None and lines_of(spark, f"{checkpoint.rstrip('/')}/offsets"):
        raise CheckpointError(
            f"the checkpoint {checkpoint} was begun without a session, by a query of Spark's, and nothing tells which "
            "one; give this query a checkpoint of its own"
        )
    if not lines:
        return None
    found: dict[str, Any] = json.loads(lines[0])
    if found.get("format") not in READ:
        raise CheckpointError(
            f"{checkpoint}: its plan has format {found.get('format')}, and this version reads {READ[0]} to {READ[-1]}"
        )
    if found.get("query") != mine.question:
        raise CheckpointError(
            f"the checkpoint {checkpoint} was begun by another query, and its state is of no use to this one. It was:\n"
            f"  {found.get('text')}{_told(found.get('args'))}\n"
            "Give this query a checkpoint of its own, or start that one again"
        )
    if found["format"] == 1 and found["plan"] != plan_hash(plan):
        raise _another_plan(checkpoint, ["conditions were evaluated elsewhere: an earlier version began it"])
    if found["format"] == 1 and any(scan.errors for scan in plan.scans):
        raise _another_plan(checkpoint, ["its windows have no column for errors: an earlier version began it"])
    try:
        begun = Pinned.read(found, plan)
    except CheckpointError as error:
        raise CheckpointError(f"the checkpoint {checkpoint} cannot be used: {error}") from None
    if differences := list(begun.state.differences(mine.state)):
        raise _another_plan(checkpoint, differences)
    return begun


def _another_plan(checkpoint: str, differences: Sequence[str]) -> CheckpointError:
    return CheckpointError(
        f"the checkpoint {checkpoint} was begun by this query with another plan, so its state holds other rows: "
        f"{'; '.join(differences)}. Start the query as it was started then, with the same on_error= and with functions "
        "declared safe= as they were, or give it a checkpoint of its own"
    )


def _told(args: object) -> str:
    """Values of parameters."""
    if not isinstance(args, dict) or not args:
        return ""
    return "\n  with " + ", ".join(f":{name} = {value}" for name, value in args.items())


def pin(spark: SparkSession, checkpoint: str, mine: Pinned) -> None:
    """Bind a new checkpoint."""
    _write(spark, checkpoint, [(mine.to_json(),)])


def unpin(spark: SparkSession, checkpoint: str) -> None:
    """It was not begun after all."""
    _write(spark, checkpoint, [])


def _path(checkpoint: str) -> str:
    return f"{checkpoint.rstrip('/')}/thalweg"


def _write(spark: SparkSession, checkpoint: str, rows: list[tuple[str]]) -> None:
    spark.createDataFrame(rows, "value string").coalesce(1).write.mode("overwrite").text(_path(checkpoint))
