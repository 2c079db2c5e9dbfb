"""The clauses of a query, as sqlglot parses them. Everything that is not supported is refused by name.

Nothing that sqlglot parses is ignored: for every node, the supported parts are listed, and a node with any other part
is refused with its position.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from thalweg.errors import SqlError, nearest
from thalweg.plan.expressions.functions import FUNCTIONS
from thalweg.plan.sql.source_text import SourceText, conjuncts, offset_of, tokens_of
from thalweg.plan.sql.windows import Windows, find_windows

if TYPE_CHECKING:
    from sqlglot.errors import SqlglotError
    from sqlglot.expressions import Expr as SqlNode
    from sqlglot.tokenizer_core import Token

_TYPES = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "boolean", "date",
          "timestamp", "timestamp_ntz", "timestamp_ltz", "binary")  # fmt: skip
_MOST_ARGUMENTS = {
    **{name: len(function.takes) for name, function in FUNCTIONS.items()},
    **dict.fromkeys(_TYPES, 1),
    **dict.fromkeys(("mod", "div", "nvl", "ifnull", "nullif", "pow"), 2),
    "substr": 3,
    "if": 3,
}
"""The maximum number of arguments of a function, by its name."""
_REMEDIES = {
    "distinct": "SELECT DISTINCT would keep every row indefinitely; group by the columns over a window instead",
    "limit": "LIMIT is not supported, because a stream does not end; take the first rows of q.dataframe() instead",
    "offset": "OFFSET has no meaning for a stream; remove it",
    "order": "ORDER BY would wait for the end of the stream; sort the result after it is written",
    "sort": "SORT BY is not supported; sort the result after it is written",
    "cluster": "CLUSTER BY is not supported; remove it",
    "distribute": "DISTRIBUTE BY is not supported; remove it",
    "with_": "WITH is not supported; register the inner query: s.stream(name, q.dataframe(), ...)",
    "with": "WITH is not supported; register the inner query: s.stream(name, q.dataframe(), ...)",
    "qualify": "QUALIFY needs window functions, which are not supported; remove it",
    "windows": "named windows are not supported; write a window after the name of a stream: [RANGE 60 SECONDS]",
    "laterals": "LATERAL VIEW is not supported; explode before registering: s.stream(name, df.select(...))",
    "hint": "hints are not supported; remove the hint",
    "into": "INTO is not supported; remove it, and write the result with q.start(path=...)",
    "sample": "TABLESAMPLE is not supported; sample before registering: df.sample(...)",
    "pivots": "PIVOT is not supported; pivot q.dataframe() instead",
    "locks": "FOR UPDATE is not supported; remove it",
    "version": "a stream has no versions; register the data of one version: s.stream(name, df, ...)",
    "when": "a stream has no versions; register the data of one version: s.stream(name, df, ...)",
    "kind": "SELECT AS is not supported; write SELECT and the columns",
    "except_": "* takes no EXCEPT; write the columns",
    "replace": "* takes no REPLACE; write the columns",
    "rename": "* takes no RENAME; write the columns",
    "grouping_sets": "GROUPING SETS is not supported; write one query for each set of columns",
    "cube": "CUBE is not supported; write one query for each set of columns",
    "rollup": "ROLLUP is not supported; write one query for each set of columns",
    "all": "GROUP BY ALL is not supported; write the columns",
    "totals": "WITH TOTALS is not supported; write one query for each set of columns",
    "truncate": "round takes a number and the number of digits; remove the other arguments",
    "decimals": "floor and ceil take one number; write round(x, 1) to keep digits",
    "position": "a start position is not supported; write instr(substring(x, 2), y)",
    "flag": "an argument with flags is not supported; write the flags in the pattern: '(?i)a'",
    "symmetric": "BETWEEN SYMMETRIC is not supported; write x BETWEEN low AND high",
    "unnest": "IN takes a list of values; write x IN (1, 2)",
}
_BEGINS: dict[str, tuple[str, ...]] = {
    "distinct": ("DISTINCT",), "limit": ("LIMIT", "FETCH"), "offset": ("OFFSET",), "order": ("ORDER",),
    "sort": ("SORT",), "cluster": ("CLUSTER",), "distribute": ("DISTRIBUTE",), "with_": ("WITH",), "with": ("WITH",),
    "qualify": ("QUALIFY",), "laterals": ("LATERAL",), "into": ("INTO",),
    "sample": ("TABLESAMPLE",), "pivots": ("PIVOT", "UNPIVOT"), "locks": ("FOR",),
    "version": ("VERSION", "TIMESTAMP", "FOR"), "when": ("AT", "BEFORE"), "kind": ("AS",),
    "except_": ("EXCEPT", "EXCLUDE"), "replace": ("REPLACE",), "rename": ("RENAME",), "grouping_sets": ("GROUPING",),
    "cube": ("CUBE",), "rollup": ("ROLLUP",), "all": ("GROUP",), "totals": ("TOTALS",),
    "connect": ("START", "CONNECT"), "hints": ("WITH",), "symmetric": ("SYMMETRIC",),
}  # fmt: skip
"""The words with which clauses begin, by sqlglot's names of the clauses."""
_JOIN_WORDS = ("JOIN", "LEFT", "RIGHT", "FULL", "OUTER", "INNER", "CROSS", "SEMI", "ANTI", "NATURAL", "ASOF",
               "STRAIGHT_JOIN", "LATERAL")  # fmt: skip
_SET_WORDS = ("UNION", "EXCEPT", "MINUS", "INTERSECT")
_STATEMENTS = {"EXPLAIN": "remove EXPLAIN, and write q.explain()"}
"""What to write instead of a statement, by its first word."""
_INNER_JOIN = "write JOIN ... ON, or a comma and WHERE"


@dataclass(frozen=True)
class Clauses:
    """The clauses of one SELECT, as nodes of sqlglot."""

    source: SourceText
    windows: Windows
    outputs: tuple[SqlNode, ...]
    tables: tuple[SqlNode, ...]
    conditions: tuple[SqlNode, ...]
    """Conjuncts of ON and WHERE, in the order they are written."""
    groups: tuple[SqlNode, ...] | None
    having: SqlNode | None


def read_clauses(text: str) -> Clauses:
    """Return the clauses of a query. After its windows are blanked out, the text is parsed as Spark SQL."""
    source = SourceText(text)
    windows = find_windows(text)
    check_arguments(source)
    check_lengths(source)
    select = _parsed(source, windows.text)
    refuse_unknown_parts(
        source, select, {"expressions", "from_", "joins", "where", "group", "having", "operation_modifiers"}, ""
    )
    if select.args.get("operation_modifiers"):
        source.refuse(select, "SELECT takes no modifiers; remove them")
    if select.args.get("from_") is None:
        source.refuse(select, "FROM is missing, but a query reads at least one stream; write SELECT ... FROM s")
    if not select.expressions:
        source.refuse_clause(select.args["from_"], ("FROM",), "nothing is selected; write the columns, or *")
    tables, on = [select.args["from_"].this], []
    for join in select.args.get("joins") or ():
        tables.append(_joined(source, join))
        if join.args.get("on") is not None:
            on.append(join.args["on"])
    for table in tables:  # sqlglot attaches further joins to a table if parentheses or commas are mixed
        for join in table.args.get("joins") or ():
            source.refuse(join, f"joins in parentheses are not supported; {_INNER_JOIN}")
        _check_table(source, table)
    where = select.args.get("where")
    conditions = [part for tree in (*on, *([where.this] if where else [])) for part in conjuncts(tree)]
    group, having = select.args.get("group"), select.args.get("having")
    if group is not None:
        refuse_unknown_parts(source, group, {"expressions"}, "GROUP BY")
    return Clauses(
        source, windows, tuple(select.expressions), tuple(tables), tuple(conditions),
        None if group is None else tuple(group.expressions), having.this if having is not None else None,
    )  # fmt: skip


def refuse_unknown_parts(source: SourceText, node: SqlNode, known: set[str], what: str) -> None:
    """Refuse a node that has parts other than the known ones."""
    for key, value in node.args.items():
        if key in known or value is None or value is False or value == [] or value == "":
            continue
        part = value[0] if isinstance(value, list) else value
        place = part if hasattr(part, "walk") else node
        word = what or type(node).__name__.upper()
        unknown = key.rstrip("_").upper().replace("_", " ")
        sentence = _REMEDIES.get(key, f"{word} with {unknown} is not supported; remove it")
        if key == "hint":  # sqlglot parses a hint separately, and its positions are relative to the hint
            raise source.error(source.text.find("/*+"), sentence)
        if key == "with_" and not any(token.text.upper() == "WITH" for token in tokens_of(source)):
            raise source.error(source.text.find("|>"), "|> is not supported here; write SELECT ... FROM s ... instead")
        if key in _BEGINS and place is part:
            source.refuse_clause(place, _BEGINS[key], sentence)
        if key in _BEGINS:
            raise source.error(source.word_before(len(source.text), _BEGINS[key]), sentence)
        source.refuse(place, sentence)


def _parsed(source: SourceText, text: str) -> SqlNode:
    import sqlglot
    from sqlglot import exp

    log = logging.getLogger("sqlglot")
    was_disabled, log.disabled = log.disabled, True  # it logs warnings about statements that are refused here anyway
    try:
        statements = [statement for statement in sqlglot.parse(text, dialect="spark") if statement is not None]
    except sqlglot.errors.SqlglotError as error:
        raise _unreadable(source, error) from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        # sqlglot fails on some texts that are not SQL, and on brackets that are nested hundreds of levels deep
        raise source.error(0, "this cannot be parsed, and the position is unknown; write a simpler query") from None
    finally:
        log.disabled = was_disabled
    if not statements:
        raise source.error(0, "the query is empty; write SELECT ... FROM s")
    if len(statements) > 1:
        place = source.word_before(offset_of(statements[1]), (";",))
        after = next((token.start for token in tokens_of(source) if token.start > place), place)
        raise source.error(after, "only one query is allowed, and this is the second; remove it")
    (select,) = statements
    while isinstance(select, exp.Subquery) and {k for k, v in select.args.items() if v} == {"this"}:
        select = select.this
    if not isinstance(select, exp.Select):
        raise _no_select(source, select)
    return select


def _no_select(source: SourceText, statement: SqlNode) -> SqlError:
    """Return the error for a statement that is no SELECT. It begins with the word that the user wrote first."""
    from sqlglot import exp

    if isinstance(statement, exp.SetOperation):
        place = source.word_before(offset_of(statement.expression), _SET_WORDS)
        word = next(token.text.upper() for token in tokens_of(source) if token.start == place)
        return source.error(place, f"{word} is not supported; combine the data before registering it")
    first = tokens_of(source)[0]
    if first.text == "(":
        return source.error(first.start, "a query in parentheses takes no alias and no clauses; remove the parentheses")
    if not isinstance(statement, exp.Condition):
        remedy = _STATEMENTS.get(first.text.upper(), "write SELECT ... FROM s")
        return source.error(first.start, f"{first.text.upper()} is not a query; {remedy}")
    return source.error(first.start, f"{source.written(statement)} is not a query; write SELECT ... FROM s")


def _unreadable(source: SourceText, error: SqlglotError) -> SqlError:
    details = (getattr(error, "errors", None) or [{}])[0]
    line, column, near = details.get("line"), details.get("col"), details.get("highlight")
    if line is None:
        return source.error(0, f"this cannot be parsed: {str(error).splitlines()[0]}; write SELECT ... FROM s")
    starts = [0]
    for row in source.text.split("\n"):
        starts.append(starts[-1] + len(row) + 1)
    # sqlglot gives the column of the last letter of a word
    offset = starts[line - 1] + max(column - len(near or " "), 0)
    why = str(details.get("description", ""))
    word = f" at {near!r}" if near else ""
    if why.startswith("Required keyword"):
        return source.error(offset, f"this cannot be parsed: an expression is missing at {near!r}; add it")
    first = source.text.split(None, 1)[0]
    if first.upper() not in ("SELECT", "(") and nearest(first.upper(), ["SELECT"]):
        return source.error(source.text.find(first), f"a query begins with SELECT, not {first!r}; write SELECT")
    expected = f": {why.rstrip('.').lower()}" if why.startswith("Expecting") else ""
    return source.error(
        offset,
        f"this cannot be parsed{word}{expected}; check for a missing or extra word, and put backticks around a name "
        "that is an SQL keyword or contains spaces",
    )


def _joined(source: SourceText, join: SqlNode) -> SqlNode:
    side, kind, method = (str(join.args.get(key) or "").upper() for key in ("side", "kind", "method"))
    if side or method or kind not in ("", "INNER", "CROSS"):
        place, word = _join_words(source, join)
        raise source.error(place, f"{word} is not supported, only inner joins of streams are; {_INNER_JOIN}")
    if join.args.get("using"):
        using = join.args["using"][0]
        source.refuse_clause(using, ("USING",), f"USING is not supported; write ON a.{using.name} = b.{using.name}")
    refuse_unknown_parts(source, join, {"this", "on", "kind"}, "JOIN")
    joined: SqlNode = join.this
    return joined


def _join_words(source: SourceText, join: SqlNode) -> tuple[int, str]:
    """Return the offset of the words of a join, such as LEFT JOIN, and the words."""
    words: list[Token] = []
    for token in reversed([token for token in tokens_of(source) if token.start < offset_of(join.this)]):
        if token.text.upper() in _JOIN_WORDS:
            words.insert(0, token)
        elif words:
            break
    return words[0].start, " ".join(word.text.upper() for word in words)


def _check_table(source: SourceText, table: SqlNode) -> None:
    from sqlglot import exp

    if isinstance(table, exp.Subquery):
        source.refuse(table, "a subquery in FROM is not supported; register it: s.stream(name, q.dataframe(), ...)")
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        source.refuse(table, "FROM takes names of streams and tables; register other data: s.table(name, data)")
    for key in ("db", "catalog"):
        if table.args.get(key) is not None:
            source.refuse(
                table, f"{source.written(table)} is a qualified name, which is not supported; register a plain name"
            )
    refuse_unknown_parts(source, table, {"this", "alias"}, "FROM")
    alias = table.args.get("alias")
    if alias is not None:
        if alias.args.get("columns"):
            source.refuse(alias, "columns cannot be renamed in FROM; write SELECT a.x AS y")
        refuse_unknown_parts(source, alias, {"this"}, "AS")


def end_of(table: SqlNode) -> int:
    """Return the offset of the last letter of a table and its alias."""
    return max((part.meta["end"] for part in table.walk() if "end" in part.meta), default=offset_of(table))


def check_arguments(source: SourceText) -> None:
    """Refuse a call with more arguments than its function takes. Arguments are counted in the text, because sqlglot
    drops the ones that do not fit.

    >>> check_arguments(SourceText("SELECT date_trunc('hour', ts) FROM a"))
    >>> check_arguments(SourceText("SELECT mod(x, 2, 7) FROM a"))
    Traceback (most recent call last):
    thalweg.errors.SqlError: line 1, column 18: mod takes at most 2 arguments; remove the others
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
                    f"{token.text} takes at most {most} argument{'' if most == 1 else 's'}; remove the others",
                )


def check_lengths(source: SourceText) -> None:
    """Refuse the length of a type in a CAST. It is found in the text, because sqlglot drops that of text types.

    >>> check_lengths(SourceText("SELECT CAST(x AS DECIMAL(4, 2)) FROM a"))
    >>> check_lengths(SourceText("SELECT x::CHAR(2) FROM a"))
    Traceback (most recent call last):
    thalweg.errors.SqlError: line 1, column 11: a length of CHAR is not supported; write STRING, and substring(x, 1, 2)
      SELECT x::CHAR(2) FROM a
                ^
    """
    tokens = [token for token in tokens_of(source) if token.token_type.name != "COMMENT"]
    calls: list[str] = []
    for n, token in enumerate(tokens):
        if token.text == "(":
            calls.append(tokens[n - 1].text.upper() if n else "")
        elif token.text == ")" and calls:
            calls.pop()
        casts = token.text.upper() == "AS" and calls and calls[-1] in ("CAST", "TRY_CAST")
        if not casts and not source.text.startswith("::", token.start):  # sqlglot reads 1F as 1::F
            continue
        words = list(takewhile(str.isidentifier, (each.text for each in tokens[n + 1 :])))
        name, after = " ".join(words).upper(), n + 1 + len(words)
        if not words or name in _WITH_DIGITS or after >= len(tokens) or tokens[after].text != "(":
            continue
        text = any(word in name for word in ("CHAR", "TEXT", "STRING"))
        remedy = f"STRING, and substring(x, 1, {tokens[after + 1].text})" if text and after + 1 < len(tokens) else name
        raise source.error(tokens[n + 1].start, f"a length of {name} is not supported; write {remedy}")


_WITH_DIGITS = ("DECIMAL", "DEC", "NUMERIC")
