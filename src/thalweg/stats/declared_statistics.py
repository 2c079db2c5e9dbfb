"""Check what a user declares with `statistics=`, and turn it into `Knowledge`.

Answers: `join_statistics` for `tw.join`, `plan_statistics` for `s.query`, and `relation_statistics` for `s.stream` and
`s.table`.
Guarantee: a statistic that does not belong to the query, or that is not a possible number, raises a PlanError that
names it. What is declared is used unchanged.

A number may have an interval (`declared_number`). The partners of edges are in `declared_partners`.

>>> plan = JoinPlan.of("a.k = b.k AND b.k = c.id", 10, "ts", 0)
>>> given = {"a": {"rows_per_second": 1000}, "partners": {"c.id=a.k": (30, {"low": 0.1, "high": 0.4})}}
>>> known = join_statistics(given, plan)
>>> for question, estimate in known.facts.items():
...     print(question, round(estimate.value, 2))
RowsPerSecond(relation='a') 1000.0
Partners(of=('c', 'id'), among=('a', 'k')) 30.0
Partners(of=('a', 'k'), among=('c', 'id')) 0.22
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thalweg.errors import PlanError, nearest
from thalweg.formatting import few_digits
from thalweg.plan.estimate import Estimate
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.stats.declared_number import Limit, declared_number
from thalweg.stats.declared_partners import JoinEdges, named
from thalweg.stats.knowledge import (
    NOTHING_KNOWN,
    BytesPerRow,
    DistinctValues,
    Knowledge,
    Question,
    Rows,
    RowsPerSecond,
    SourceKept,
)

PARTNERS = "partners"
_EXAMPLE = "{'a': {'rows_per_second': 1000}, 'partners': {'a.k = b.k': (30, 0.2)}}"
_LIMITS: dict[str, Limit] = {
    "rows_per_second": "above 0", "rows": "above 0", "bytes_per_row": "above 0", "kept": "share",
}  # fmt: skip


@dataclass(frozen=True)
class StatisticsSource:
    """A source of a query about which statistics may be declared."""

    alias: str
    relation: str
    """The name under which questions about it are asked; in `tw.join`, the alias."""
    columns: tuple[str, ...]
    """The columns whose distinct values may be declared."""
    is_stream: bool | None = True
    """None: whether it is a stream or a table is not known until the join is applied to data."""

    @property
    def words(self) -> tuple[str, ...]:
        """The statistics that it may have."""
        sizes = {True: ("rows_per_second",), False: ("rows",), None: ("rows_per_second", "rows")}[self.is_stream]
        return (*sizes, "distinct", "kept", "bytes_per_row")


def join_statistics(given: Mapping[str, Any] | None, plan: JoinPlan) -> Knowledge:
    """Return what the argument `statistics` of `tw.join` declares. The name of a relation is its alias."""
    graph = plan.graph
    used = [end for members in graph.classes for end in members]
    used += [(alias, column) for alias, one, other in graph.within for column in (one, other)]
    used += [end for residual in plan.residuals for end in residual.columns]
    kinds = {alias: False if alias in plan.tables else True if alias in plan.named else None for alias in graph.aliases}
    sources = [
        StatisticsSource(alias, alias, tuple(dict.fromkeys(c for a, c in used if a == alias)), kind)
        for alias, kind in kinds.items()
    ]
    return _of_query(given, sources, JoinEdges(graph), exact=True)


def plan_statistics(given: Mapping[str, Any] | None, plan: QueryPlan) -> Knowledge:
    """Return what the argument `statistics` of `s.query` declares. `plan` is any plan of the query."""
    relations = {scan.alias: scan.source.relation for scan in plan.scans}
    sources = [
        StatisticsSource(alias, relation.name, tuple(relation.schema.names), relation.is_stream)
        for alias, relation in relations.items()
    ]
    equalities = () if plan.join is None else plan.join.equalities
    graph = JoinGraph.of([(*e.one, *e.other) for e in equalities]) if equalities else None
    edges = JoinEdges(graph, tuple((e.text, e.one, e.other) for e in equalities), exact=False)
    return _of_query(given, sources, edges, exact=False)


def relation_statistics(
    name: str, given: Mapping[str, Any] | None, columns: Sequence[str], *, is_stream: bool
) -> Knowledge:
    """Return what the argument `statistics` of a stream or a table of a session declares."""
    if given is None:
        return NOTHING_KNOWN
    size = "rows_per_second" if is_stream else "rows"
    if not isinstance(given, Mapping):
        raise PlanError(f"{name!r}: statistics={given!r} must be a dict, such as {{{size!r}: 100}}")
    source = StatisticsSource(name, name, tuple(columns), is_stream)
    return Knowledge(_of_source(source, given, f"{name!r}: statistics", (size, "distinct"), exact=False))


def _of_query(
    given: Mapping[str, Any] | None, sources: Sequence[StatisticsSource], edges: JoinEdges, *, exact: bool
) -> Knowledge:
    """Return the facts about the sources and the edges of a query. `exact`: names are case-sensitive."""
    if given is None:
        return NOTHING_KNOWN
    if not isinstance(given, Mapping):
        raise PlanError(f"statistics={given!r} must be a dict, such as {_EXAMPLE}")
    found: list[tuple[StatisticsSource, dict[Question, Estimate]]] = []
    for key, value in given.items():
        if key == PARTNERS:
            continue
        source = named(key, {each.alias: each for each in sources}, exact=exact)
        if source is None:
            names = [each.alias for each in sources]
            hint = nearest(str(key), [*names, PARTNERS])
            raise PlanError(
                f"statistics: {key!r} is not a source of this query{hint}; give statistics of {', '.join(names)} or "
                f"{PARTNERS!r}"
            )
        found.append((source, _of_source(source, value, f"statistics of {source.alias}:", source.words, exact=exact)))
    facts = _together(found)
    if given.get(PARTNERS) is not None:
        facts |= edges.facts(given[PARTNERS])
    return Knowledge(facts)


def _of_source(
    source: StatisticsSource, given: Any, where: str, words: tuple[str, ...], *, exact: bool
) -> dict[Question, Estimate]:
    """Return the facts about one source, whose statistics may have these `words`."""
    if not isinstance(given, Mapping):
        raise PlanError(f"{where} {given!r} must be a dict, such as {{{words[0]!r}: 100}}")
    facts: dict[Question, Estimate] = {}
    for key, value in given.items():
        if key not in words:
            raise PlanError(
                f"{where} has the unknown key {key!r}{nearest(str(key), words)}; it may have "
                f"{', '.join(words[:-1])} and {words[-1]}{_because(source, key)}"
            )
        if key == "distinct":
            facts |= _distinct(source, value, where, exact=exact)
        else:
            facts[_question(key, source)] = declared_number(value, f"{where} {key}", _LIMITS[key])
    return facts


def _because(source: StatisticsSource, key: object) -> str:
    if key not in ("rows", "rows_per_second") or source.is_stream is None:
        return ""
    return f", because it is a {'stream' if source.is_stream else 'table'}"


def _question(key: str, source: StatisticsSource) -> Question:
    if key == "rows_per_second":
        return RowsPerSecond(source.relation)
    if key == "rows":
        return Rows(source.relation)
    return BytesPerRow(source.alias) if key == "bytes_per_row" else SourceKept(source.alias)


def _distinct(source: StatisticsSource, given: Any, where: str, *, exact: bool) -> dict[Question, Estimate]:
    if not isinstance(given, Mapping):
        raise PlanError(f"{where} distinct={given!r} must be a dict: {{'a column': 12}}")
    facts: dict[Question, Estimate] = {}
    for name, value in given.items():
        column = named(name, {each: each for each in source.columns}, exact=exact)
        if column is None:
            hint = nearest(str(name), source.columns)
            raise PlanError(
                f"{where} name the unknown column {name!r}{hint}; its columns are {', '.join(source.columns)}"
            )
        made = declared_number(value, f"{where} distinct {name}", "above 0")
        if made.value < 1:
            raise PlanError(f"{where} distinct={given!r}: a column has at least one distinct value")
        plain = not isinstance(value, Mapping | Estimate)  # others have an interval that begins at 0
        facts[DistinctValues(source.relation, column)] = replace(made, low=1.0) if plain else made
    return facts


def _together(found: Iterable[tuple[StatisticsSource, Mapping[Question, Estimate]]]) -> dict[Question, Estimate]:
    """Return the facts about all sources. If several of them are one stream, its rate is the largest of theirs, and the
    rows of the others are a share of it: rates that were counted after filters differ."""
    facts: dict[Question, Estimate] = {}
    rates: dict[Question, list[tuple[str, Estimate]]] = {}
    for source, each in found:
        rate = each.get(RowsPerSecond(source.relation))
        facts |= each
        if rate is not None:
            rates.setdefault(RowsPerSecond(source.relation), []).append((source.alias, rate))
    for question, given in rates.items():
        alias, largest = max(given, key=lambda one: one[1].value)
        facts[question] = largest
        for other, rate in given:
            if rate.value < largest.value:
                kept = facts.get(SourceKept(other))
                if kept is None:
                    raise PlanError(
                        f"statistics: {alias} and {other} are the same stream, but rows_per_second is "
                        f"{few_digits(largest.value)} and {few_digits(rate.value)}; give the same number for both"
                    )
                facts[SourceKept(other)] = (rate / largest * kept).within(0, 1)
    return facts
