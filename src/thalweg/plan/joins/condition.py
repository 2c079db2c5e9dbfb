"""Parse `on=`, a conjunction of conditions, into equalities between columns of two streams and other conditions.

The other conditions are read by the rules of SQL as soon as the types of the columns are known.

>>> equalities, residuals, aliases = parse("a.k = b.k AND a.price < b.limit + 1")
>>> equalities, [r.text for r in residuals], aliases
([('a', 'k', 'b', 'k')], ['a.price < b.limit + 1'], ('a', 'b'))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from thalweg.errors import PlanError, SqlError
from thalweg.plan.expressions.expression import Expression, Ref
from thalweg.plan.expressions.functions import can_raise
from thalweg.plan.expressions.type_rules import plain_type
from thalweg.plan.joins.graph import EqualColumns
from thalweg.plan.sql.source_text import SourceText, conjuncts, shown


@dataclass(frozen=True, slots=True)
class Residual:
    """A condition on a joined row that is not an equality between two streams."""

    text: str
    columns: tuple[tuple[str, str], ...]
    """The columns that it reads, as (alias, column), each once."""
    expression: Expression | None = None
    """The typed expression; None: the types of its columns are not known yet."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that it reads, each once."""
        return tuple(dict.fromkeys(alias for alias, _ in self.columns))

    @property
    def at_intake(self) -> bool:
        """Whether it reads one stream and is checked on the rows of that stream as they arrive. A condition that can
        raise is checked on joined rows: keys and earlier conditions may drop the rows on which it raises."""
        return len(self.streams) == 1 and not (self.expression is not None and can_raise(self.expression))


def parse(on: str) -> tuple[list[EqualColumns], tuple[Residual, ...], tuple[str, ...]]:
    """Return the equalities, the other conditions, and the streams in the order in which they are named."""
    from sqlglot import exp

    tree = expression(on)
    aliases: dict[str, None] = {}
    equalities: list[EqualColumns] = []
    residuals: list[Residual] = []
    for part in conjuncts(tree):
        columns = {(c.table, c.name): None for c in part.find_all(exp.Column, bfs=False)}
        for alias, column in columns:
            if not alias:
                raise PlanError(f"on={on!r}: {column} has no stream; write a.{column}")
            aliases.setdefault(alias)
        if not columns:
            raise PlanError(f"on={on!r}: {shown(part)} reads no stream; remove it")
        one, other = (part.this, part.expression) if isinstance(part, exp.EQ) else (None, None)
        if isinstance(one, exp.Column) and isinstance(other, exp.Column):
            equalities.append((one.table, one.name, other.table, other.name))
        else:
            residuals.append(Residual(shown(part), tuple(columns)))
    return equalities, tuple(residuals), tuple(aliases)


def expression(text: str) -> Any:
    """Return a condition parsed as Spark SQL, without functions and subqueries, so that this process can evaluate it on
    joined rows."""
    import sqlglot
    from sqlglot import exp

    from thalweg.plan.sql.clauses import check_lengths

    if not isinstance(text, str) or not text.strip():
        raise PlanError(f"on={text!r}: write the conditions as text, such as 'a.k = b.k'")
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except sqlglot.errors.SqlglotError as error:
        details = getattr(error, "errors", None)  # a parse error has positions, others do not
        place = details[0] if details else {}
        near = f" at column {place['col']}, near {place['highlight']!r}" if place.get("highlight") else ""
        raise PlanError(
            f"on={text!r} cannot be parsed{near}: write conditions such as 'a.k = b.k AND a.x < b.y', and put "
            "backticks around a name that is an SQL keyword or contains spaces"
        ) from None
    try:
        check_lengths(SourceText(text))
    except SqlError as error:
        raise PlanError(f"on={text!r}: {error.sentence}") from None
    for node in tree.walk():
        if not isinstance(node, _known()):
            raise PlanError(
                f"on={text!r}: {shown(node)} is not supported; write comparisons, + - *, CAST, AND, OR, "
                "NOT, BETWEEN, IN and IS NULL over alias.column and literals, and filter with tw.filters for more"
            )
        if isinstance(node, exp.Column) and (node.args.get("db") or isinstance(node.this, exp.Star)):
            raise PlanError(f"on={text!r}: {node.sql()} is not alias.column; write the stream and one column")
    return tree


def _known() -> tuple[type, ...]:
    from sqlglot import exp

    return (
        exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In,
        exp.Is, exp.Null, exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Column, exp.Identifier, exp.Literal, exp.Boolean,
        exp.Interval, exp.Var, exp.Cast, exp.DataType, exp.DataTypeParam,
    )  # fmt: skip


def typed(residual: Residual, schemas: Mapping[str, pa.Schema]) -> Residual:
    """Return the condition with its typed expression, given the types of the columns. Refuses a condition that cannot
    be evaluated."""
    from thalweg.plan.sql.expressions import ExpressionReader

    if residual.expression is not None:
        return residual
    reader = ExpressionReader(SourceText(residual.text), _Columns(schemas), {}, {})
    try:
        return replace(residual, expression=reader.boolean(expression(residual.text), "on="))
    except SqlError as error:
        sentence = error.sentence.removeprefix("on=: ")
        types = ", ".join(f"{a}.{c} is {schemas[a].field(c).type}" for a, c in residual.columns)
        raise PlanError(f"on=: {residual.text} cannot be evaluated: {types}; {sentence}") from None


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of the streams, by their exact names."""

    schemas: Mapping[str, pa.Schema]

    def column(self, node: Any) -> Expression:
        return Ref(node.table, node.name, plain_type(self.schemas[node.table].field(node.name).type))
