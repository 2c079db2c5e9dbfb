"""The definition of a windowed join: streams, tables, conditions, windows, times, lateness, columns. It is frozen data.

`JoinPlan.of` creates it from the arguments of `tw.join`, `window_join_plan` from the join of a query's plan.

A stream has a time and a window. If `window` or `time` is a dict, an alias that is in none of the dicts is a table: its
rows have no time and join with rows of any time.

>>> plan = JoinPlan.of("a.k = b.k AND a.user = users.id", {"a": 10, "b": 20}, "ts", 0)
>>> plan.streams, plan.tables
(('a', 'b'), ('users',))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import pyarrow as pa

from thalweg.errors import PlanError, nearest
from thalweg.plan.expressions.expression import refs
from thalweg.plan.filters.filter_plan import checked_classifiers
from thalweg.plan.joins.condition import Residual, parse
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.select import Column, check_select, entry_of
from thalweg.plan.joins.window import Length
from thalweg.plan.query.nodes import Scan, WindowJoin, sources_of, walk
from thalweg.plan.query.query import QuerySource

T = TypeVar("T")
TEXT_BYTES = 24.0
"""The assumed size of a text or a list."""


@dataclass(frozen=True)
class JoinPlan:
    """The definition of a join. Mappings have one entry per stream and none for tables. A stream has either a window or
    an end."""

    on: str
    graph: JoinGraph
    residuals: tuple[Residual, ...]
    """Further conditions on a joined row."""
    windows: Mapping[str, Length]
    times: Mapping[str, str]
    """The time column of each stream."""
    lateness: Mapping[str, Length]
    select: tuple[str, ...] | None = None
    """The columns of the result, as written; None: all."""
    named: Mapping[str, str] = field(default_factory=dict)
    """The aliases that a dict names, which are therefore streams, and the argument that names each."""
    one_time: str | None = None
    """The time column of all streams; None: a dict names the time column of each."""
    ends: Mapping[str, str] = field(default_factory=dict)
    """For streams without a window: the column with the time from which a row has no more partners; null: never."""
    spread_by: tuple[tuple[str, str], ...] = ()
    """On Spark: the columns (alias, column) of the class of equal columns that spreads rows over buckets; empty: the
    class is chosen when the join is laid out."""
    classify_by: tuple[tuple[str, str], ...] | None = None
    """The columns (alias, column) by which rows of streams are divided into classes, each with its own order of probes;
    None: the columns that are compared. Rows of a stream without such a column have one order."""

    @classmethod
    def of(
        cls,
        on: str,
        window: Length | Mapping[str, Length],
        time: str | Mapping[str, str],
        lateness: Length | Mapping[str, Length],
        select: Sequence[str] | None = None,
        classify_by: Sequence[str] | None = None,
    ) -> JoinPlan:
        """Return the plan for the arguments of `tw.join`."""
        equalities, residuals, aliases = parse(on)
        graph = JoinGraph.of(equalities, aliases)
        given = {"window": window, "time": time, "lateness": lateness}
        named: dict[str, str] = {}
        for name, value in given.items():
            for alias in value if isinstance(value, Mapping) else ():
                _require_alias(name, alias, graph.aliases)
                named.setdefault(alias, name)
        streams = _streams(graph.aliases, window, time)
        if isinstance(lateness, Mapping):
            for alias in lateness:
                if alias not in streams:
                    raise PlanError(
                        f"lateness: {alias} is a table, because window and time do not name it, and is never late; "
                        f"remove it from lateness, or add {alias!r}: ... to the others"
                    )
            missing = [alias for alias in streams if alias not in lateness]
            if missing:
                raise PlanError(
                    f"lateness: {', '.join(missing)} is missing; add {missing[0]!r}: ..., or, if {missing[0]} is a "
                    "table without time, write window as a dict too, without it"
                )
        times = _by_stream(time, streams)
        for alias, column in times.items():
            if not isinstance(column, str) or not column:
                raise PlanError(f"time of {alias}={column!r}: must be the name of the column with a row's time")
        return cls(
            on, graph, residuals, _by_stream(window, streams), times, _by_stream(lateness, streams),
            check_select(select, graph.aliases), named, None if isinstance(time, Mapping) else time,
            classify_by=None if classify_by is None else classified_columns(classify_by, streams, graph.aliases),
        )  # fmt: skip

    @property
    def streams(self) -> tuple[str, ...]:
        """The aliases with a time and a window, in the order in which `on` names them."""
        return tuple(alias for alias in self.graph.aliases if alias in self.times)

    @property
    def tables(self) -> tuple[str, ...]:
        """The aliases without a time, in the order in which `on` names them."""
        return tuple(alias for alias in self.graph.aliases if alias not in self.times)

    def with_tables(self, aliases: Iterable[str]) -> JoinPlan:
        """Return the plan with these aliases as tables too, although one window or one time was given for all.

        >>> JoinPlan.of("a.k = b.k", 10, "ts", 0).with_tables(["b"]).tables
        ('b',)
        """
        tables = set(self.tables)
        for alias in aliases:
            if alias not in self.graph.aliases:
                raise PlanError(f"{alias!r} is not a stream in on={self.on!r}{nearest(str(alias), self.graph.aliases)}")
            if alias in self.named:
                raise PlanError(
                    f"{alias} cannot be a table, because {self.named[alias]} names it, but it is finished data in a "
                    f"join with streams: remove {alias} from {self.named[alias]}, or read it with spark.readStream"
                )
            tables.add(alias)
        streams = tuple(alias for alias in self.graph.aliases if alias not in tables)
        _require_stream(streams)
        for alias, column in self.classify_by or ():
            if alias in tables:
                raise _of_a_table(f"classify_by: {alias}.{column}", alias)
        return replace(
            self,
            windows={alias: length for alias, length in self.windows.items() if alias in streams},
            times=_by_stream(self.times, streams),
            lateness=_by_stream(self.lateness, streams),
        )


def classified_columns(
    classify_by: Sequence[str], streams: Sequence[str], aliases: Sequence[str]
) -> tuple[tuple[str, str], ...]:  # fmt: skip
    """Return the argument `classify_by` of a join or a query as pairs of a stream and a column. `aliases`: the streams
    and the tables.

    >>> classified_columns(["a.sector", "b.size"], ["a", "b"], ["a", "b", "users"])
    (('a', 'sector'), ('b', 'size'))
    >>> classified_columns(["sector"], ["a", "b"], ["a", "b", "users"])
    Traceback (most recent call last):
    thalweg.errors.PlanError: classify_by: 'sector' names no stream; write 'a.sector'
    """
    found = []
    for text in checked_classifiers(classify_by, "the columns that are compared"):
        alias, dot, column = text.partition(".")
        if not (alias and dot and column):
            instead = f"{(streams or aliases)[0]}.{(column if dot else alias) or 'column'}"
            raise PlanError(f"classify_by: {text!r} names no stream; write {instead!r}")
        if alias not in aliases:
            raise PlanError(
                f"classify_by: {text!r}: {alias!r} is not a stream{nearest(alias, streams)}; the streams are "
                f"{', '.join(streams)}"
            )
        if alias not in streams:
            raise _of_a_table(f"classify_by: {text}", alias)
        found.append((alias, column))
    return tuple(found)


def _of_a_table(what: str, alias: str) -> PlanError:
    return PlanError(
        f"{what}: {alias} is a table, whose rows do not probe; name columns of streams, or leave classify_by out"
    )


def _streams(
    aliases: tuple[str, ...], window: Length | Mapping[str, Length], time: str | Mapping[str, str]
) -> tuple[str, ...]:
    """Return the aliases that are in every dict among the two arguments."""
    dicts = {name: value for name, value in (("window", window), ("time", time)) if isinstance(value, Mapping)}
    for alias in aliases:
        naming = [name for name, value in dicts.items() if alias in value]
        if len(naming) == 1 < len(dicts):
            (lacking,) = (name for name in dicts if name not in naming)
            raise PlanError(
                f"{lacking}: {alias} is missing, but {naming[0]} names it; add {alias!r}: ... to {lacking}, or, if "
                f"{alias} is a table without time, remove it from both"
            )
    streams = tuple(alias for alias in aliases if all(alias in value for value in dicts.values()))
    _require_stream(streams)
    return streams


def _require_stream(streams: tuple[str, ...]) -> None:
    if not streams:
        raise PlanError("all inputs are tables, but a join needs at least one stream; add one to window and time")


def _require_alias(name: str, alias: str, aliases: tuple[str, ...]) -> None:
    if alias not in aliases:
        hint = nearest(str(alias), aliases)
        raise PlanError(f"{name}: {alias!r} is not a stream in on={hint}; its streams are {', '.join(aliases)}")


def _by_stream(value: T | Mapping[str, T], streams: tuple[str, ...]) -> Mapping[str, T]:
    return {alias: value[alias] if isinstance(value, Mapping) else value for alias in streams}


def window_join_plan(join: WindowJoin, *, timeless: bool = False) -> JoinPlan:
    """Return the plan of a join in a query. `timeless`: one stream is joined with tables, and its rows have the column
    `no_time`. Neither their order nor their times matter, but rows without a time are not joined."""
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


def held_columns(
    plan: JoinPlan, schemas: Mapping[str, pa.Schema], columns: Sequence[Column], hashed: Sequence[int]
) -> dict[str, pa.Schema]:
    """Return the columns that windows hold, by stream and table: columns of the result, and columns that are compared
    by value after rows have been put together. Times and other keys are in the indexes. `schemas`: all columns that are
    read, with plain types. `columns`: those of the result. `hashed`: the classes that are compared by value."""
    if plan.select is None:
        return dict(schemas)
    read = {*columns, *(column for r in plan.residuals if not r.at_intake for column in r.columns)}
    read |= {column for c in hashed for column in plan.graph.column_of[c].items()}
    return {
        alias: pa.schema([field for field in schema if (alias, field.name) in read])
        for alias, schema in schemas.items()
    }  # fmt: skip


def widths_of(held: Mapping[str, pa.Schema]) -> dict[str, dict[str, float]]:
    """Return the bytes per row of the columns of each window. Texts and lists are assumed to have `TEXT_BYTES`."""
    return {alias: {field.name: _width(field.type) for field in schema} for alias, schema in held.items()}


def _width(type_: pa.DataType) -> float:
    try:
        return float(type_.bit_width) / 8
    except ValueError:  # not of fixed width
        return TEXT_BYTES


def join_graph(join: WindowJoin) -> JoinGraph:
    """Return the graph of a join, with its sources in the first order and the probe trees of the plan."""
    rank = {alias: n for n, alias in enumerate(join.order)}
    equalities = sorted(
        (sorted((e.one, e.other), key=lambda key: rank[key[0]]) for e in join.equalities),
        key=lambda ends: [rank[end[0]] for end in ends],
    )
    return JoinGraph.of([(*one, *other) for one, other in equalities], join.order).with_trees(join.probe_trees)


def is_timeless(join: WindowJoin) -> bool:
    """Whether no row can be late: one stream is joined with tables, and no rows of it are kept."""
    return not any(scan.judges_lateness for scan in walk(join) if isinstance(scan, Scan))


def no_time(source: QuerySource) -> str:
    """Return the name of a column that has the same time in all rows that have a time."""
    return source.relation.unused("computed time")


def end_of(source: QuerySource) -> str:
    """Return the name of the column with the time from which a row is no longer among the last rows of its stream."""
    return source.relation.unused("end of row")


def last_rows(join: WindowJoin, source: QuerySource) -> int | None:
    """Return the number of rows in a source's window, or None if it is a window of time, or if no later rows are joined
    with its rows."""
    streams = sum(each.relation.is_stream for each in sources_of(join))
    return None if source.window is None or streams == 1 else source.window.rows
