"""The clauses of a query, as sqlglot parsed them: what the language has, and everything else refused by name.

Nothing that was parsed is ignored: of every node the parts that are understood are listed, and a node with others is
refused at its place.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.errors import SqlError, nearest
from thalweg.plan.functions import FUNCTIONS
from thalweg.plan.sql.source_text import SourceText, conjuncts, offset_of, shown, tokens_of
from thalweg.plan.sql.windows import Windows, find_windows

if TYPE_CHECKING:
    from sqlglot.errors import SqlglotError
    from sqlglot.expressions import Expr as SqlNode

_TYPES = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "boolean", "date",
          "timestamp", "timestamp_ntz", "timestamp_ltz", "binary")  # fmt: skip
_MOST_ARGUMENTS = {
    **{name: len(function.takes) for name, function in FUNCTIONS.items()},
    **dict.fromkeys(_TYPES, 1),
    **dict.fromkeys(("mod", "div", "nvl", "ifnull", "nullif", "pow"), 2),
    "substr": 3,
    "if": 3,
}
"""Arguments that a function takes at most, by its name."""
_REMEDIES = {
    "distinct": "SELECT DISTINCT would keep every row for ever; group over a window instead: GROUP BY the columns",
    "limit": "LIMIT ends, and a stream does not; take the first rows of q.dataframe() instead",
    "offset": "OFFSET has no meaning on a stream; leave it out",
    "order": "ORDER BY would wait for the end of a stream; sort what was written",
    "sort": "SORT BY is not part of the language; sort what was written",
    "cluster": "CLUSTER BY is not part of the language; leave it out",
    "distribute": "DISTRIBUTE BY is not part of the language; leave it out",
    "with_": "WITH is not part of the language; register the inner query: s.stream(name, q.dataframe(), ...)",
    "with": "WITH is not part of the language; register the inner query: s.stream(name, q.dataframe(), ...)",
    "qualify": "QUALIFY needs window functions, which are not part of the language; leave it out",
    "windows": "named windows are not part of the language; write a stream's behind its name: [RANGE 60 SECONDS]",
    "laterals": "LATERAL VIEW is not part of the language; explode before registering: s.stream(name, df.select(...))",
    "hint": "hints are not part of the language; leave it out",
    "into": "INTO is not part of the language; leave it out: q.start(path=...) writes a result",
    "sample": "TABLESAMPLE is not part of the language; sample before registering: df.sample(...)",
    "pivots": "PIVOT is not part of the language; pivot q.dataframe() instead",
    "locks": "FOR UPDATE is not part of the language; leave it out",
    "version": "a stream has no versions; register the data of one: s.stream(name, df, ...)",
    "when": "a stream has no versions; register the data of one: s.stream(name, df, ...)",
    "kind": "SELECT AS is not part of the language; write SELECT and the columns",
    "except_": "* takes no EXCEPT; write the columns",
    "replace": "* takes no REPLACE; write the columns",
    "rename": "* takes no RENAME; write the columns",
    "grouping_sets": "GROUPING SETS is not part of the language; write one query for each",
    "cube": "CUBE is not part of the language; write one query for each set of columns",
    "rollup": "ROLLUP is not part of the language; write one query for each set of columns",
    "all": "GROUP BY ALL is not part of the language; write the columns",
    "totals": "WITH TOTALS is not part of the language; write one query for each set of columns",
    "truncate": "round takes a number and digits here; leave the rest out",
    "decimals": "floor and ceil take one number here; write round(x, 1) for digits",
    "position": "a place to begin at is not part of the language; write instr(substring(x, 2), y)",
    "flag": "flags are not part of the language; write them into the pattern: '(?i)a'",
    "symmetric": "BETWEEN SYMMETRIC is not part of the language; write x BETWEEN low AND high",
    "unnest": "IN takes a list of values; write x IN (1, 2)",
}
_BEGINS = {"distinct": "DISTINCT", "limit": "LIMIT", "order": "ORDER", "locks": "FOR", "all": "GROUP"}
"""Words that say where a clause is, if nothing in it does."""
_JOINS = "only inner joins of streams are part of the language; write JOIN ... ON, or a comma and WHERE"


@dataclass(frozen=True)
class Clauses:
    """One SELECT; nodes are sqlglot's."""

    source: SourceText
    windows: Windows
    outputs: tuple[SqlNode, ...]
    tables: tuple[SqlNode, ...]
    conditions: tuple[SqlNode, ...]
    """Conjuncts of ON and WHERE, in the order they are written."""
    groups: tuple[SqlNode, ...] | None
    having: SqlNode | None


def read_clauses(text: str) -> Clauses:
    """Parsed as Spark SQL, once the windows are out of the way."""
    source = SourceText(text)
    windows = find_windows(text)
    check_arguments(source)
    select = _parsed(source, windows.text)
    demand(source, select, {"expressions", "from_", "joins", "where", "group", "having", "operation_modifiers"}, "")
    if select.args.get("operation_modifiers"):
        source.refuse(select, "SELECT takes no modifiers here; leave them out")
    if select.args.get("from_") is None:
        source.refuse(select, "FROM is missing: a query reads at least one stream; write SELECT ... FROM a stream")
    if not select.expressions:
        source.refuse(select, "nothing is selected; write the columns, or *")
    tables, on = [select.args["from_"].this], []
    for join in select.args.get("joins") or ():
        tables.append(_joined(source, join))
        if join.args.get("on") is not None:
            on.append(join.args["on"])
    for table in tables:  # sqlglot hangs further joins on a table where parentheses or commas are mixed
        for join in table.args.get("joins") or ():
            source.refuse(join, f"joins in parentheses are not part of the language: {_JOINS}")
        _check_table(source, table)
    where = select.args.get("where")
    conditions = [part for tree in (*on, *([where.this] if where else [])) for part in conjuncts(tree)]
    group, having = select.args.get("group"), select.args.get("having")
    if group is not None:
        demand(source, group, {"expressions"}, "GROUP BY")
    return Clauses(
        source, windows, tuple(select.expressions), tuple(tables), tuple(conditions),
        None if group is None else tuple(group.expressions), having.this if having is not None else None,
    )  # fmt: skip


def demand(source: SourceText, node: SqlNode, known: set[str], what: str) -> None:
    """Refuse a node that has parts which are not understood."""
    for key, value in node.args.items():
        if key in known or value is None or value is False or value == [] or value == "":
            continue
        part = value[0] if isinstance(value, list) else value
        place = part if hasattr(part, "walk") else node
        word = what or type(node).__name__.upper()
        asked = key.rstrip("_").upper().replace("_", " ")
        sentence = _REMEDIES.get(key, f"{word} with {asked} is not part of the language; leave it out")
        if key == "hint":  # sqlglot reads hints apart, and tells places in them alone
            raise source.error(source.text.find("/*+"), sentence)
        if key in _BEGINS and not any("start" in p.meta for p in (place.walk() if place is part else ())):
            raise source.error(_place_of(source, _BEGINS[key]), sentence)
        source.refuse(place, sentence)


def _place_of(source: SourceText, word: str) -> int:
    """Of the last such word."""
    places = [token.start for token in tokens_of(source) if token.text.upper().split(" ")[0] == word]
    return max(places, default=0)


def _parsed(source: SourceText, text: str) -> SqlNode:
    import sqlglot
    from sqlglot import exp

    log = logging.getLogger("sqlglot")
    silent, log.disabled = log.disabled, True  # it tells of statements that are refused here in any case
    try:
        statements = [statement for statement in sqlglot.parse(text, dialect="spark") if statement is not None]
    except sqlglot.errors.SqlglotError as error:
        raise _unreadable(source, error) from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        # sqlglot stumbles over some texts that are no SQL, and over brackets within hundreds of brackets
        raise source.error(0, "this cannot be read, nor told where; write less at once, and see what can") from None
    finally:
        log.disabled = silent
    if not statements:
        raise source.error(0, "there is no query; write SELECT ... FROM a stream")
    if len(statements) > 1:
        source.refuse(statements[1], "one query at a time, and this is the second; leave it out")
    (select,) = statements
    while isinstance(select, exp.Subquery) and {k for k, v in select.args.items() if v} == {"this"}:
        select = select.this
    if not isinstance(select, exp.Select):
        if isinstance(select, exp.SetOperation):
            source.refuse(select, "UNION, EXCEPT and INTERSECT are not part of the language; unite before registering")
        word = type(select).__name__.upper() if not isinstance(select, exp.Command) else str(select.this).upper()
        source.refuse(select, f"{word} is not a query; write SELECT ... FROM a stream")
    return select


def _unreadable(source: SourceText, error: SqlglotError) -> SqlError:
    told = (getattr(error, "errors", None) or [{}])[0]
    line, column, near = told.get("line"), told.get("col"), told.get("highlight")
    if line is None:
        return source.error(0, f"this cannot be read: {str(error).splitlines()[0]}; write SELECT ... FROM a stream")
    starts = [0]
    for row in source.text.split("\n"):
        starts.append(starts[-1] + len(row) + 1)
    # sqlglot tells the column of a word's last letter
    offset = starts[line - 1] + max(column - len(near or " "), 0)
    why = str(told.get("description", ""))
    word = f" at {near!r}" if near else ""
    if why.startswith("Required keyword"):
        return source.error(offset, f"this cannot be read: something is missing at {near!r}; write what it takes")
    first = source.text.split(None, 1)[0]
    if first.upper() not in ("SELECT", "(") and nearest(first.upper(), ["SELECT"]):
        return source.error(source.text.find(first), f"a query begins with SELECT, not {first!r}; write SELECT")
    expected = f": {why.rstrip('.').lower()}" if why.startswith("Expecting") else ""
    return source.error(
        offset,
        f"this cannot be read{word}{expected}, where something is missing or too much; a name that is a word of SQL, "
        "or has blanks, stands in backticks",
    )


def _joined(source: SourceText, join: SqlNode) -> SqlNode:
    side, kind, method = (str(join.args.get(key) or "").upper() for key in ("side", "kind", "method"))
    if side or method or kind not in ("", "INNER", "CROSS"):
        source.refuse(join, f"{' '.join(w for w in (method, side, kind) if w)} JOIN is refused: {_JOINS}")
    if join.args.get("using"):
        column = join.args["using"][0].name
        source.refuse(join.args["using"][0], f"USING is not part of the language; write ON a.{column} = b.{column}")
    demand(source, join, {"this", "on", "kind"}, "JOIN")
    joined: SqlNode = join.this
    return joined


def _check_table(source: SourceText, table: SqlNode) -> None:
    from sqlglot import exp

    if isinstance(table, exp.Subquery):
        source.refuse(
            table, "a query in FROM is not part of the language; register it: s.stream(name, q.dataframe(), ...)"
        )
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        source.refuse(table, "FROM takes names of streams and tables; register others: s.table(name, data)")
    for key in ("db", "catalog"):
        if table.args.get(key) is not None:
            source.refuse(table, f"{shown(table)} is no name of a session's; register it under a plain one")
    demand(source, table, {"this", "alias"}, "FROM")
    alias = table.args.get("alias")
    if alias is not None:
        if alias.args.get("columns"):
            source.refuse(alias, "columns are not renamed in FROM; write SELECT a.x AS y")
        demand(source, alias, {"this"}, "AS")


def end_of(table: SqlNode) -> int:
    """The last letter of a table and its alias."""
    return max((part.meta["end"] for part in table.walk() if "end" in part.meta), default=offset_of(table))


def check_arguments(source: SourceText) -> None:
    """Refuse a call with more arguments than its function takes. They are counted in the text, because sqlglot drops
    those it has no place for.

    >>> check_arguments(SourceText("SELECT date_trunc('hour', ts) FROM a"))
    >>> check_arguments(SourceText("SELECT mod(x, 2, 7) FROM a"))
    Traceback (most recent call last):
    thalweg.errors.SqlError: line 1, column 18: mod takes at most 2 arguments; leave the others out
      SELECT mod(x, 2, 7) FROM a
                       ^
    """
    tokens = [token for token in tokens_of(source) if token.token_type.name not in ("STRING", "IDENTIFIER", "COMMENT")]
    for n, token in enumerate(tokens[:-1]):
        most = _MOST_ARGUMENTS.get(token.text.lower())
        if most is None or tokens[n + 1].text != "(" or (n and tokens[n - 1].text.upper() in ("AS", "::", ".")):
            continue
        depth, commas = 0, 0
        for inner in tokens[n + 1 :]:
            depth += (inner.text in "([") - (inner.text in ")]")
            if not depth:
                break
            commas += inner.text == "," and depth == 1
            if commas == most:
                raise source.error(
                    inner.end + 2,
                    f"{token.text} takes at most {most} argument{'' if most == 1 else 's'}; leave the others out",
                )
