"""Choose the columns that spread the rows of a join over buckets, so that each bucket can join independently.

The columns of one class of equal columns have the same value in any result. So rows that can be part of the same result
go to the same bucket if every stream that has such a column is spread by it. A stream without such a column is
*replicated*: its rows go to every bucket, because partners may be in any of them. Each result is found once, in the
bucket of its value. Tables are *broadcast*: they are available to the join before any row arrives.

The best class leaves the least to replicate, so that all buckets together hold the least: the class with the most rows
or bytes if the sizes of all streams are known, else the class with the most streams. Among equal classes, the one that
is written first is chosen.

>>> from thalweg.plan.joins.graph import JoinGraph
>>> graph = JoinGraph.of([("a", "x", "b", "x"), ("b", "y", "c", "y"), ("c", "y", "d", "y")])
>>> by = Partitioning.of(graph)
>>> by.columns, by.replicated
({'b': 'y', 'c': 'y', 'd': 'y'}, ('a',))
>>> by.reason
'3 of 4 streams have such a column, more than for any other'
>>> by = Partitioning.of(graph, sizes={"a": 1_000_000, "b": 500, "c": 10, "d": 10})
>>> by.columns, by.replicated
({'a': 'x', 'b': 'x'}, ('c', 'd'))
>>> by.reason
'streams with such a column have 1,000,500 of 1,000,520 rows, more than for any other'
>>> by.held({"a": 1_000_000, "b": 500, "c": 10, "d": 10}, buckets=8)
1000660
>>> by = Partitioning.of(graph, tables=["c", "d"])
>>> by.columns, by.replicated, by.broadcast
({'a': 'x', 'b': 'x'}, (), ('c', 'd'))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from thalweg.errors import PlanError
from thalweg.formatting import few_digits
from thalweg.plan.joins.graph import JoinGraph


@dataclass(frozen=True)
class Partitioning:
    """How the rows of a join are spread over buckets."""

    key: int
    """The class of equal columns."""
    columns: Mapping[str, str]
    """The column that each stream is spread by, for streams that have one."""
    replicated: tuple[str, ...]
    """The streams that have no such column."""
    broadcast: tuple[str, ...]
    """The tables of the join."""
    reason: str
    """The reason for this class."""

    @classmethod
    def of(
        cls,
        graph: JoinGraph,
        tables: Iterable[str] = (),
        sizes: Mapping[str, float] | None = None,
        unit: str = "rows",
    ) -> Partitioning:
        """Return the best partitioning. `sizes` are those of the streams, in rows or in another `unit`; they are used
        if they are known for all streams."""
        broadcast = tuple(alias for alias in graph.aliases if alias in set(tables))
        streams = [alias for alias in graph.aliases if alias not in broadcast]
        if not streams:
            raise PlanError(f"{', '.join(broadcast)} are all tables without time: a join needs at least one stream")
        sizes = sizes if sizes is not None and all(alias in sizes for alias in streams) else None
        covered = [[alias for alias in members if alias not in broadcast] for members in graph.column_of]

        def weight(key: int) -> tuple[float, int]:
            total = 0.0 if sizes is None else sum(sizes[alias] for alias in covered[key])
            return total, len(covered[key])

        best = max(range(len(covered)), key=weight)  # the first of equal classes
        equals = sum(1 for key in range(len(covered)) if weight(key) == weight(best))
        return cls(
            key=best,
            columns={alias: graph.column_of[best][alias] for alias in streams if alias in covered[best]},
            replicated=tuple(alias for alias in streams if alias not in covered[best]),
            broadcast=broadcast,
            reason=_reason(covered[best], streams, sizes, unit, len(covered), equals),
        )

    def held(self, sizes: Mapping[str, float], buckets: int) -> float:
        """Return what all buckets together hold of streams of these sizes, without tables."""
        spread = sum(sizes[alias] for alias in self.columns)
        return spread + buckets * sum(sizes[alias] for alias in self.replicated)

    @classmethod
    def by(
        cls, graph: JoinGraph, columns: Iterable[tuple[str, str]], tables: Iterable[str] = ()
    ) -> Partitioning | None:
        """Return the partitioning by the class of these columns, each (alias, column). Return None if no stream has a
        column of the class, because streams that had one are tables now.

        >>> graph = JoinGraph.of([("a", "x", "b", "x"), ("b", "y", "c", "y")])
        >>> Partitioning.by(graph, [("b", "y"), ("c", "y")]).replicated
        ('a',)
        >>> Partitioning.by(graph, [("b", "y"), ("c", "y")], tables=["b", "c"]) is None
        True
        """
        wanted, broadcast = set(columns), tuple(alias for alias in graph.aliases if alias in set(tables))
        key = next((n for n, members in enumerate(graph.classes) if wanted & set(members)), None)
        if key is None:
            return None
        streams = [alias for alias in graph.aliases if alias not in broadcast]
        spread = {alias: graph.column_of[key][alias] for alias in streams if alias in graph.column_of[key]}
        replicated = tuple(alias for alias in streams if alias not in spread)
        return cls(key, spread, replicated, broadcast, "chosen by the plan of the query") if spread else None


def _reason(
    covered: list[str], streams: list[str], sizes: Mapping[str, float] | None, unit: str, classes: int, equals: int
) -> str:
    if classes == 1:
        return "the only columns that must be equal"
    first = ", as many as for others, and it is written first" if equals > 1 else ", more than for any other"
    if len(covered) == len(streams):
        return "all streams have such a column" + (", and it is the first written of those" if equals > 1 else "")
    if sizes is not None:
        some, all_ = sum(sizes[a] for a in covered), sum(sizes[a] for a in streams)
        return f"streams with such a column have {few_digits(some)} of {few_digits(all_)} {unit}{first}"
    return f"{len(covered)} of {len(streams)} streams have such a column{first}"
