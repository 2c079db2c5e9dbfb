"""By which columns the rows of a join are spread over buckets, so that each bucket can join on its own.

The columns of one class of equal columns hold one value in any result, so rows that can meet in a result go to one
bucket when every stream that has such a column is spread by it. A stream without one is *replicated*: its rows go to
every bucket, since partners may wait in any. Each result is found once, in the bucket of its value. Tables are
*broadcast*: they are where the join is, before any row comes.

So the class is wanted that leaves least to be replicated: that of the most rows or bytes, where the sizes of all
streams are known, else that of the most streams; of equals the one written first.

>>> from thalweg.plan.join_graph import JoinGraph
>>> graph = JoinGraph.of([("a", "x", "b", "x"), ("b", "y", "c", "y"), ("c", "y", "d", "y")])
>>> by = Partitioning.of(graph)
>>> by.columns, by.replicated
({'b': 'y', 'c': 'y', 'd': 'y'}, ('a',))
>>> by.reason
'columns of 3 of 4 streams, more than of any other'
>>> by = Partitioning.of(graph, sizes={"a": 1_000_000, "b": 500, "c": 10, "d": 10})
>>> by.columns, by.replicated
({'a': 'x', 'b': 'x'}, ('c', 'd'))
>>> by.reason
'its streams have 1,000,500 of 1,000,520 rows, more than of any other'
>>> by = Partitioning.of(graph, tables=["c", "d"])
>>> by.columns, by.replicated, by.broadcast
({'a': 'x', 'b': 'x'}, (), ('c', 'd'))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from thalweg.errors import PlanError
from thalweg.plan.join_graph import JoinGraph


@dataclass(frozen=True)
class Partitioning:
    """Of the streams of a join."""

    key: int
    """The class of equal columns."""
    columns: Mapping[str, str]
    """The column each stream is spread by; only of streams that have one."""
    replicated: tuple[str, ...]
    """Streams that have none."""
    broadcast: tuple[str, ...]
    """Tables."""
    reason: str
    """Why this class."""

    @classmethod
    def of(
        cls,
        graph: JoinGraph,
        tables: Iterable[str] = (),
        sizes: Mapping[str, float] | None = None,
        unit: str = "rows",
    ) -> Partitioning:
        """`sizes`: of each stream, in rows or in another `unit`; used where they are known for all."""
        broadcast = tuple(alias for alias in graph.aliases if alias in set(tables))
        streams = [alias for alias in graph.aliases if alias not in broadcast]
        if not streams:
            raise PlanError(f"{', '.join(broadcast)} are all tables without time: a join needs a stream among them")
        sizes = sizes if sizes is not None and all(alias in sizes for alias in streams) else None
        covered = [[alias for alias in members if alias not in broadcast] for members in graph.column_of]

        def weight(key: int) -> tuple[float, int]:
            total = 0.0 if sizes is None else sum(sizes[alias] for alias in covered[key])
            return total, len(covered[key])

        best = max(range(len(covered)), key=weight)  # of equals the first
        equals = sum(1 for key in range(len(covered)) if weight(key) == weight(best))
        return cls(
            key=best,
            columns={alias: graph.column_of[best][alias] for alias in streams if alias in covered[best]},
            replicated=tuple(alias for alias in streams if alias not in covered[best]),
            broadcast=broadcast,
            reason=_reason(covered[best], streams, sizes, unit, len(covered), equals),
        )

    @classmethod
    def by(
        cls, graph: JoinGraph, columns: Iterable[tuple[str, str]], tables: Iterable[str] = ()
    ) -> Partitioning | None:
        """By the class of these columns, each (alias, column). None: no stream has a column of it, since streams that
        had one are tables.

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
        return cls(key, spread, replicated, broadcast, "as the plan of the query says") if spread else None


def _reason(
    covered: list[str], streams: list[str], sizes: Mapping[str, float] | None, unit: str, classes: int, equals: int
) -> str:
    if classes == 1:
        return "the only columns that must be equal"
    first = ", as many as of others, and it is written first" if equals > 1 else ", more than of any other"
    if len(covered) == len(streams):
        return "all streams have it" + (", and of such it is written first" if equals > 1 else "")
    if sizes is not None:
        some, all_ = sum(sizes[a] for a in covered), sum(sizes[a] for a in streams)
        return f"its streams have {_number(some)} of {_number(all_)} {unit}{first}"
    return f"columns of {len(covered)} of {len(streams)} streams{first}"


def _number(number: float) -> str:
    """All digits of a whole number, few of another.

    >>> _number(1_000_500), _number(0.2), _number(1234.5), _number(12.345)
    ('1,000,500', '0.2', '1,234', '12.3')
    """
    return f"{number:,.0f}" if number >= 1000 or number == int(number) else f"{number:.3g}"
