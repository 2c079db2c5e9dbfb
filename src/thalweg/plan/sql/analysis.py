"""Turn the text of a query into a `Query`: resolve names and types, assign windows to their streams, check groups.

>>> import pyarrow as pa
>>> from thalweg.plan.query.relation import Catalog, Relation
>>> tcp = Relation("tcp", pa.schema({"ts": pa.timestamp("us"), "size": pa.int32()}), "ts")
>>> query = read_query("SELECT size * 2 AS twice FROM tcp WHERE size > :least", Catalog({"tcp": tcp}), {"least": 5})
>>> query.schema.names, query.conditions[0].text
(['twice'], 'tcp.size > 5')
>>> read_query("SELECT sise FROM tcp", Catalog({"tcp": tcp}), {})
Traceback (most recent call last):
thalweg.errors.SqlError: line 1, column 8: there is no column 'sise' (did you mean 'size'?); tcp has ts, size
  SELECT sise FROM tcp
         ^
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from thalweg.errors import PlanError, nearest
from thalweg.plan.expressions.expression import AggregateCall, Bound, Expression, Ref, Value, children, text_of, walk
from thalweg.plan.expressions.literals import is_whole_text
from thalweg.plan.expressions.type_rules import can_be_grouped, plain_type, sql_name
from thalweg.plan.joins.window import GroupWindow, StreamWindow
from thalweg.plan.query.query import Condition, Grouping, OutputColumn, Query, QuerySource, time_type
from thalweg.plan.query.relation import Catalog
from thalweg.plan.sql.clauses import Clauses, end_of, read_clauses, refuse_unknown_parts
from thalweg.plan.sql.expressions import ExpressionReader
from thalweg.plan.sql.names import Names, find
from thalweg.plan.sql.source_text import SourceText, offset_of, tokens_of

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as SqlNode


def read_query(text: str, catalog: Catalog, parameters: Mapping[str, object]) -> Query:
    """Return the query that a text describes, or raise an error that says where and why the text is not a query."""
    if not isinstance(text, str) or not text.strip():
        raise PlanError(f"a query must be text, not {text!r}; write s.query('SELECT ... FROM stream_name')")
    if not is_whole_text(text):
        place = next(n for n, letter in enumerate(text) if not is_whole_text(letter))
        shown = text.encode("utf-8", "replace").decode()
        raise SourceText(shown).error(place, "half of a surrogate pair is not a character; write the whole character")
    clauses = read_clauses(text)
    sources = _sources(clauses, catalog)
    names = Names(clauses.source, sources)
    reader = ExpressionReader(clauses.source, names, catalog.functions, parameters)
    read = [(node, reader.boolean(node, "WHERE")) for node in clauses.conditions]
    conditions = tuple(
        Condition(expression, text_of(expression), place, offset_of(node))
        for place, (node, expression) in enumerate(read)
    )
    query = _selected(clauses, sources, names, reader, conditions)
    unused = [name for name in parameters if name not in reader.used]
    if unused:
        raise PlanError(f"args= has {unused[0]!r}, but the query has no :{unused[0]}; remove it from args=")
    return query


def _sources(clauses: Clauses, catalog: Catalog) -> tuple[QuerySource, ...]:
    windows = _windows_of(clauses)
    made: dict[str, QuerySource] = {}
    trailing_used = False
    for n, table in enumerate(clauses.tables):
        name = table.this.name
        relation = catalog.relations.get(name.lower())
        if relation is None:
            known = [r.name for r in catalog.relations.values()]
            has = f"the session has {', '.join(known)}" if known else "register it: s.stream(...) or s.table(...)"
            clauses.source.refuse(table, f"there is no stream or table {name!r}{nearest(name, known)}; {has}")
        alias = table.alias or relation.name
        if find(alias, made) is not None or any(alias.lower() == other.lower() for other in made):
            clauses.source.refuse(table, f"FROM has two sources named {alias!r}; give one an alias: {name} AS {alias}2")
        window = windows.get(n)
        if not relation.is_stream:
            if window is not None:
                clauses.source.refuse(
                    table, f"{relation.name} is a table, and tables take no window; remove the window"
                )
        elif window is None and clauses.windows.trailing is not None:
            window, trailing_used = clauses.windows.trailing[1], True
        made[alias] = QuerySource(alias, relation, window, offset_of(table))
    if clauses.windows.trailing is not None and not trailing_used:
        raise clauses.source.error(
            clauses.windows.trailing[0],
            "this WINDOW clause applies to no stream, because every stream already has a window; remove it",
        )
    if not any(source.relation.is_stream for source in made.values()):
        clauses.source.refuse(
            clauses.tables[0],
            "FROM has only tables, but a query must read at least one stream; register one: s.stream(...)",
        )
    return tuple(made.values())


def _windows_of(clauses: Clauses) -> dict[int, StreamWindow]:
    """Return the windows in FROM, by the number of the table that each one follows."""
    ends = [end_of(table) for table in clauses.tables]
    starts = [offset_of(table) for table in clauses.tables]
    found: dict[int, StreamWindow] = {}
    for offset, window in clauses.windows.streams:
        # a window comes after a name and before its alias, or after both
        earlier = [n for n in range(len(ends)) if starts[n] < offset]
        n = max(earlier, key=lambda k: starts[k], default=None)
        between = clauses.windows.text[ends[n] + 1 : offset] if n is not None and offset > ends[n] else ""
        if n is None or (between.strip() and tokens_of(SourceText(between))):  # comments are allowed
            raise clauses.source.error(offset, f"{window} does not follow a stream; write it after a name in FROM")
        if n in found:
            raise clauses.source.error(offset, f"{window} is the second window of one stream; remove one of them")
        found[n] = window
    return found


def _selected(
    clauses: Clauses, sources: tuple[QuerySource, ...], names: Names, reader: ExpressionReader,
    conditions: tuple[Condition, ...],
) -> Query:  # fmt: skip
    aggregates: list[AggregateCall] = []
    grouped = clauses.groups is not None or clauses.having is not None or _has_aggregate(clauses.outputs)
    if grouped:
        reader.aggregates = aggregates
        names.bounds = time_type(sources)
    outputs: dict[str, OutputColumn] = {}
    for node in clauses.outputs:
        for output in _outputs(clauses, node, names, reader):
            if any(name.lower() == output.name.lower() for name in outputs):
                clauses.source.refuse(
                    node, f"two columns of the result are named {output.name!r}; rename one: ... AS another"
                )
            outputs[output.name] = output
    grouping = None
    if grouped:
        names.outputs = {name: output.expression for name, output in outputs.items()}
        grouping = _grouping(clauses, sources, reader, aggregates)
        for node, expression in _grouped_parts(clauses, list(outputs.values()), grouping):
            _check_grouped(clauses, node, expression, grouping.keys)
    else:
        _check_windows(clauses, sources)
    return Query(clauses.source.text, sources, conditions, tuple(outputs.values()), grouping)


def _outputs(clauses: Clauses, node: SqlNode, names: Names, reader: ExpressionReader) -> Iterator[OutputColumn]:
    from sqlglot import exp

    several = len(names.sources) > 1
    if isinstance(node, exp.Star):
        refuse_unknown_parts(clauses.source, node, set(), "*")
        for alias, source in names.sources.items():
            for field in source.relation.schema:
                name = f"{alias}_{field.name}" if several else field.name
                yield OutputColumn(name, Ref(alias, field.name, plain_type(field.type)))
        return
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        refuse_unknown_parts(clauses.source, node.this, set(), "*")
        alias = names.alias(node, node.table)
        for field in names.sources[alias].relation.schema:
            yield OutputColumn(field.name, Ref(alias, field.name, plain_type(field.type)))
        return
    inner, name = node, None
    if isinstance(node, exp.Alias):
        refuse_unknown_parts(clauses.source, node, {"this", "alias"}, "AS")
        inner, name = node.this, node.alias
    expression = reader.read(inner)
    if name is None:
        name = expression.column if isinstance(expression, Ref) else text_of(expression)
        if isinstance(expression, Value):
            name = str(inner.sql(dialect="spark"))
    yield OutputColumn(name, expression)


def _grouping(
    clauses: Clauses, sources: tuple[QuerySource, ...], reader: ExpressionReader, aggregates: list[AggregateCall]
) -> Grouping:
    having = None if clauses.having is None else reader.boolean(clauses.having, "HAVING")
    reader.aggregates = None
    windows: list[tuple[SqlNode, GroupWindow]] = []
    keys: list[Expression] = []
    for node in clauses.groups or ():
        word = str(node.name).upper() if type(node).__name__ == "Anonymous" else ""
        if word in ("TUMBLE", "HOP"):
            if windows:
                clauses.source.refuse(node, "GROUP BY takes one window; remove all but one TUMBLE or HOP")
            windows.append((node, _group_window(clauses, node, word)))
            continue
        if type(node).__name__ == "Literal":
            clauses.source.refuse(node, "GROUP BY takes expressions, not positions in SELECT; write the expression")
        key = reader.read(node)
        if isinstance(key, Bound):
            continue  # window_start is allowed in GROUP BY, but not required
        if any(isinstance(part, Bound) for part in walk(key)):
            clauses.source.refuse(
                node, f"{text_of(key)} has the same value for all rows of a window; remove it from GROUP BY"
            )
        if any(isinstance(part, AggregateCall) for part in walk(key)):
            clauses.source.refuse(
                node, f"{text_of(key)} is an aggregate, which is computed from groups; group by a column instead"
            )
        if not can_be_grouped(key.type):
            clauses.source.refuse(
                node,
                f"{text_of(key)} is {sql_name(key.type)}, which GROUP BY does not support; select a part of it before "
                "registering the stream, or with s.function(...)",
            )
        if key not in keys:
            keys.append(key)
    window = windows[0][1] if windows else None
    return Grouping(
        _checked_window(clauses, sources, window), tuple(keys), tuple(dict.fromkeys(aggregates)), having
    )  # fmt: skip


def _group_window(clauses: Clauses, node: SqlNode, word: str) -> GroupWindow:
    found = clauses.windows.groups.get(offset_of(node))
    if found is None:
        example = f"{word}(10 MINUTES{', 1 MINUTE' if word == 'HOP' else ''})"
        clauses.source.refuse(node, f"{word} has no length; write {example}")
    return found


def _checked_window(clauses: Clauses, sources: tuple[QuerySource, ...], window: GroupWindow | None) -> GroupWindow:
    """Return the window of the groups: that of GROUP BY, or, if there is one stream, the window of the stream."""
    streams = [(n, s) for n, s in enumerate(sources) if s.relation.is_stream]
    if len(streams) > 1:
        _check_windows(clauses, sources)
        if window is None:
            clauses.source.refuse(
                clauses.tables[0],
                "the windows in FROM apply to the join, not to the groups; write GROUP BY TUMBLE(10 MINUTES)",
            )
        return window
    n, stream = streams[0]
    own = stream.window
    if window is not None:
        if own is not None:
            clauses.source.refuse(
                clauses.tables[n], f"{stream.alias} has the window {own} and GROUP BY has {window}; remove one of them"
            )
        return window
    if own is None:
        clauses.source.refuse(
            clauses.tables[n],
            "an aggregate over a stream without a window would never finish; write "
            f"{stream.relation.name} [RANGE 1 MINUTE]",
        )
    if own.length_us is None:
        clauses.source.refuse(
            clauses.tables[n], f"an aggregate does not support {own}; write a window of time: [RANGE 1 MINUTE]"
        )
    if not own.length_us:
        clauses.source.refuse(
            clauses.tables[n], f"{own} is too short for an aggregate; write a longer window: [RANGE 1 MINUTE]"
        )
    return GroupWindow(own.length_us, own.slide_us or own.length_us)


def _check_windows(clauses: Clauses, sources: tuple[QuerySource, ...]) -> None:
    """Refuse SLIDE in a join, and in a query that keeps no rows. Whether every stream that needs a window has one is
    checked on the plan."""
    for n, source in enumerate(sources):
        if source.window is not None and source.window.slide_us is not None:
            clauses.source.refuse(
                clauses.tables[n],
                "SLIDE is allowed only in an aggregate over one stream; write [RANGE ...] without SLIDE for "
                f"{source.alias}",
            )


def _has_aggregate(outputs: tuple[SqlNode, ...]) -> bool:
    from sqlglot import exp

    return any(part is not None for output in outputs for part in [next(output.find_all(exp.AggFunc), None)])


def _grouped_parts(
    clauses: Clauses, outputs: list[OutputColumn], grouping: Grouping
) -> Iterator[tuple[SqlNode, Expression]]:
    place = clauses.outputs[0]
    for n, output in enumerate(outputs):
        yield clauses.outputs[n] if len(outputs) == len(clauses.outputs) else place, output.expression
    if grouping.having is not None:
        assert clauses.having is not None
        yield clauses.having, grouping.having


def _check_grouped(clauses: Clauses, node: SqlNode, expression: Expression, keys: tuple[Expression, ...]) -> None:
    if expression in keys or isinstance(expression, AggregateCall):
        return
    if isinstance(expression, Ref):
        column = text_of(expression)
        clauses.source.refuse(
            node, f"{column} is neither in GROUP BY nor in an aggregate; add it to GROUP BY, or write max({column})"
        )
    for part in children(expression):
        _check_grouped(clauses, node, part, keys)
