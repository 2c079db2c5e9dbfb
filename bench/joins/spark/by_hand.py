"""Spark's own stream-stream joins, as a careful user writes them.

A watermark on every stream; in every join the equality, and for each pair of streams the interval that the windows
mean, so that Spark drops old rows of both sides; the order and shape of the joins with the least state. Spark allows
one event-time column in a join's input, so all but one become plain timestamps in between. Of columns that are equal
only one goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bench.joins.spark.scenario import StreamScenario, Tree


@dataclass(frozen=True)
class _Side:
    """What a join takes: rows, whose they are, and which column replaces each column."""

    rows: DataFrame
    aliases: tuple[str, ...]
    known_as: Mapping[str, str]


def joined(scenario: StreamScenario, streams: Mapping[str, DataFrame]) -> DataFrame:
    """The columns that ours have."""
    whole = _side(scenario, scenario.tree, streams)
    columns = [
        F.greatest(*(f"{alias}_ts" for alias in scenario.aliases)).alias(name)
        if name == "event_time"
        else F.col(whole.known_as[name]).alias(name)
        for name in scenario.columns()
    ]
    return whole.rows.select(*columns)


def _side(scenario: StreamScenario, tree: Tree, streams: Mapping[str, DataFrame]) -> _Side:
    if isinstance(tree, str):
        renamed = {name: f"{tree}_{name}" for name in streams[tree].columns}
        rows = streams[tree].withColumnsRenamed(renamed).withWatermark(f"{tree}_ts", "0 seconds")
        return _Side(rows, (tree,), {name: name for name in renamed.values()})
    left, right = (_side(scenario, side, streams) for side in tree)
    known_as = {**left.known_as, **right.known_as}
    equal = []
    for members in scenario.classes:
        names = [member.replace(".", "_") for member in members]
        ours = [name for name in names if name in left.known_as]
        theirs = [name for name in names if name in right.known_as]
        if ours and theirs:
            kept, gone = left.known_as[ours[0]], right.known_as[theirs[0]]
            equal.append(f"{kept} = {gone}")
            known_as = {name: kept if column == gone else column for name, column in known_as.items()}
    rows = left.rows.join(right.rows, F.expr(" AND ".join([*equal, *_near(scenario, left, right)])))
    aliases = (*left.aliases, *right.aliases)
    keep = scenario.keeps.get(frozenset(aliases))
    plain = {  # the same time, no longer marked as event time
        name: F.expr(f"{name} + INTERVAL 0 SECONDS").alias(name)
        for name in (f"{alias}_ts" for alias in aliases if alias != keep)
    }
    rows = rows.select(*(plain.get(name, F.col(name)) for name in dict.fromkeys(known_as.values())))
    return _Side(rows, aliases, known_as)


def _near(scenario: StreamScenario, left: _Side, right: _Side) -> list[str]:
    lengths = {alias: f"INTERVAL {ticks} MICROSECONDS" for alias, ticks in scenario.windows_us.items()}
    return [
        f"{b}_ts >= {a}_ts - {lengths[b]} AND {b}_ts <= {a}_ts + {lengths[a]}"
        for a in left.aliases
        for b in right.aliases
    ]
