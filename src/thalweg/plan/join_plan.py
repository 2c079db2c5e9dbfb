"""What a windowed join asks for: streams, tables, conditions, windows, times, lateness, columns. Frozen; nothing runs.

`JoinPlan.of` makes it from the arguments of `tw.join`, `window_join_plan` from the join of a query's plan.

A stream has a time and a window. What neither `window` nor `time` says anything about, where they are dicts, is a
table: its rows have no time and join with rows of any time.

>>> plan = JoinPlan.of("a.k = b.k AND a.user = users.id", {"a": 10, "b": 20}, "ts", 0)
>>> plan.streams, plan.tables
(('a', 'b'), ('users',))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from thalweg.errors import PlanError, nearest
from thalweg.plan.expression import refs
from thalweg.plan.join_condition import Residual, parse
from thalweg.plan.join_graph import JoinGraph
from thalweg.plan.join_select import check_select, entry_of
from thalweg.plan.nodes import Scan, WindowJoin, sources_of, walk
from thalweg.plan.query import Source
from thalweg.plan.window import Length

T = TypeVar("T")


@dataclass(frozen=True)
class JoinPlan:
    """Mappings have one entry a stream, and none for tables; a stream has either a window or an end."""

    on: str
    graph: JoinGraph
    residuals: tuple[Residual, ...]
    """Further conditions over a joined row."""
    windows: Mapping[str, Length]
    times: Mapping[str, str]
    """The time column of each."""
    lateness: Mapping[str, Length]
    select: tuple[str, ...] | None = None
    """The columns of the result, as written; None: all."""
    named: Mapping[str, str] = field(default_factory=dict)
    """Aliases that a dict names, so that they are streams, and which of the arguments does."""
    one_time: str | None = None
    """The time column that is written for all; None: a dict names those that have one."""
    ends: Mapping[str, str] = field(default_factory=dict)
    """Of streams without a window: the column with the time from which on a row has no partners; null: never."""
    spread_by: tuple[tuple[str, str], ...] = ()
    """On Spark: columns (alias, column) of the class of equal columns that spreads rows over buckets; empty: it is
    chosen when the join is laid out."""

    @classmethod
    def of(
        cls,
        on: str,
        window: Length | Mapping[str, Length],
        time: str | Mapping[str, str],
        lateness: Length | Mapping[str, Length],
        select: Sequence[str] | None = None,
    ) -> JoinPlan:
        """As a user writes it."""
        equalities, residuals, aliases = parse(on)
        graph = JoinGraph.of(equalities, aliases)
        given = {"window": window, "time": time, "lateness": lateness}
        named: dict[str, str] = {}
        for name, value in given.items():
            for alias in value if isinstance(value, Mapping) else ():
                _demand(name, alias, graph.aliases)
                named.setdefault(alias, name)
        streams = _streams(graph.aliases, window, time)
        if isinstance(lateness, Mapping):
            for alias in lateness:
                if alias not in streams:
                    raise PlanError(
                        f"lateness: {alias} is a table, since window and time say nothing of it, and never late; "
                        f"leave it out of lateness, or add {alias!r}: ... to the others"
                    )
            missing = [alias for alias in streams if alias not in lateness]
            if missing:
                raise PlanError(
                    f"lateness: nothing is said for {', '.join(missing)}; add {missing[0]!r}: ..., or, if "
                    f"{missing[0]} is a table without time, write window as a dict too, without it"
                )
        times = _by_stream(time, streams)
        for alias, column in times.items():
            if not isinstance(column, str) or not column:
                raise PlanError(f"time of {alias}={column!r}: must be the name of the column with a row's time")
        return cls(
            on, graph, residuals, _by_stream(window, streams), times, _by_stream(lateness, streams),
            check_select(select, graph.aliases), named, None if isinstance(time, Mapping) else time,
        )  # fmt: skip

    @property
    def streams(self) -> tuple[str, ...]:
        """With a time and a window, in the order `on` names them."""
        return tuple(alias for alias in self.graph.aliases if alias in self.times)

    @property
    def tables(self) -> tuple[str, ...]:
        """Without."""
        return tuple(alias for alias in self.graph.aliases if alias not in self.times)

    def with_tables(self, aliases: Iterable[str]) -> JoinPlan:
        """These are tables too, though one window or one time was written for all.

        >>> JoinPlan.of("a.k = b.k", 10, "ts", 0).with_tables(["b"]).tables
        ('b',)
        """
        tables = set(self.tables)
        for alias in aliases:
            if alias not in self.graph.aliases:
                raise PlanError(f"{alias!r} is no stream of on={self.on!r}{nearest(str(alias), self.graph.aliases)}")
            if alias in self.named:
                raise PlanError(
                    f"{alias} is to be a table, but {self.named[alias]} says something of it; a table has no time: "
                    f"leave {alias} out of {self.named[alias]}"
                )
            tables.add(alias)
        streams = tuple(alias for alias in self.graph.aliases if alias not in tables)
        _demand_stream(streams)
        return replace(
            self,
            windows={alias: length for alias, length in self.windows.items() if alias in streams},
            times=_by_stream(self.times, streams),
            lateness=_by_stream(self.lateness, streams),
        )


def _streams(
    aliases: tuple[str, ...], window: Length | Mapping[str, Length], time: str | Mapping[str, str]
) -> tuple[str, ...]:
    """Those that every dict of the two names."""
    dicts = {name: value for name, value in (("window", window), ("time", time)) if isinstance(value, Mapping)}
    for alias in aliases:
        says = [name for name, value in dicts.items() if alias in value]
        if len(says) == 1 < len(dicts):
            (silent,) = (name for name in dicts if name not in says)
            raise PlanError(
                f"{silent}: nothing is said for {alias}, but {says[0]} says something; add {alias!r}: ... to {silent}, "
                f"or, if {alias} is a table without time, leave it out of both"
            )
    streams = tuple(alias for alias in aliases if all(alias in value for value in dicts.values()))
    _demand_stream(streams)
    return streams


def _demand_stream(streams: tuple[str, ...]) -> None:
    if not streams:
        raise PlanError("all are tables: at least one stream must have a window and a time; add it to window and time")


def _demand(name: str, alias: str, aliases: tuple[str, ...]) -> None:
    if alias not in aliases:
        hint = nearest(str(alias), aliases)
        raise PlanError(f"{name}: {alias!r} is no stream of on={hint}; its streams are {', '.join(aliases)}")


def _by_stream(value: T | Mapping[str, T], streams: tuple[str, ...]) -> Mapping[str, T]:
    return {alias: value[alias] if isinstance(value, Mapping) else value for alias in streams}


def window_join_plan(join: WindowJoin, *, timeless: bool = False) -> JoinPlan:
    """The join of a query's plan. `timeless`: of one stream with tables, whose rows bring the column `no_time`. Neither
    their order nor their times matter, and a row without a time is a row."""
    residuals = tuple(
        Residual(c.text, tuple((ref.alias, ref.column) for ref in refs(c.expression)), c.expression)
        for c in join.residuals
    )
    windows: dict[str, Length] = {}
    times, lateness, ends = {}, {}, {}
    for source in sources_of(join):
        relation, window = source.relation, source.window
        if relation.time is None:
            continue
        if last_rows(join, source) is None:
            windows[source.alias] = f"{0 if window is None else window.length_us or 0} microseconds"
        else:
            ends[source.alias] = end_of(source)
        times[source.alias] = no_time(source) if timeless else relation.time
        lateness[source.alias] = f"{relation.lateness_us} microseconds"
    select = tuple(entry_of(alias, column) for alias, column in join.keeps)
    on = " AND ".join([*(e.text for e in join.equalities), *(c.text for c in join.residuals)])
    return JoinPlan(
        on, join_graph(join), residuals, windows, times, lateness, select or ("event_time",), ends=ends,
        spread_by=() if join.spread_by is None else join.spread_by.columns,
    )  # fmt: skip


def join_graph(join: WindowJoin) -> JoinGraph:
    """Sources in the order that is tried first, with the probe trees of the plan."""
    rank = {alias: n for n, alias in enumerate(join.order)}
    equalities = sorted(
        (sorted((e.one, e.other), key=lambda key: rank[key[0]]) for e in join.equalities),
        key=lambda ends: [rank[end[0]] for end in ends],
    )
    return JoinGraph.of([(*one, *other) for one, other in equalities], join.order).with_trees(join.probe_trees)


def is_timeless(join: WindowJoin) -> bool:
    """Whether no row can be late: one stream is joined with tables, and nothing is kept of it."""
    return not any(scan.judges_lateness for scan in walk(join) if isinstance(scan, Scan))


def no_time(source: Source) -> str:
    """The name of a column that holds the same moment in all rows."""
    return source.relation.unused("computed time")


def end_of(source: Source) -> str:
    """The name of a column with the time from which on a row is no longer among the last rows of its stream."""
    return source.relation.unused("end of row")


def last_rows(join: WindowJoin, source: Source) -> int | None:
    """The rows of a source's window; None: it is a window of time, or its rows meet no later ones."""
    streams = sum(each.relation.is_stream for each in sources_of(join))
    return None if source.window is None or streams == 1 else source.window.rows
