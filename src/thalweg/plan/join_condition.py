"""The text of `on=`: a conjunction of conditions, told apart into equalities of two streams' columns and the rest.

The rest is read as the conditions of SQL are, by the same rules, as soon as the columns have types.

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
from thalweg.plan.expression import Expression, Ref
from thalweg.plan.functions import can_raise
from thalweg.plan.join_graph import Equality
from thalweg.plan.sql.source_text import conjuncts
from thalweg.plan.type_rules import plain_type


@dataclass(frozen=True, slots=True)
class Residual:
    """A condition over a joined row that is no equality of two streams."""

    text: str
    columns: tuple[tuple[str, str], ...]
    """(alias, column), each once."""
    expression: Expression | None = None
    """What it means; None: the types of its columns are not known yet."""

    @property
    def streams(self) -> tuple[str, ...]:
        """Each once."""
        return tuple(dict.fromkeys(alias for alias, _ in self.columns))

    @property
    def at_intake(self) -> bool:
        """Whether the rows of its one stream are judged as they come. One that can raise waits for joined rows: keys
        and conditions before it may leave out the rows on which it does."""
        return len(self.streams) == 1 and not (self.expression is not None and can_raise(self.expression))


def parse(on: str) -> tuple[list[Equality], tuple[Residual, ...], tuple[str, ...]]:
    """Equalities, further conditions, and the streams in the order they are named."""
    from sqlglot import exp

    tree = expression(on)
    aliases: dict[str, None] = {}
    equalities: list[Equality] = []
    residuals: list[Residual] = []
    for part in conjuncts(tree):
        columns = {(c.table, c.name): None for c in part.find_all(exp.Column, bfs=False)}
        for alias, column in columns:
            if not alias:
                raise PlanError(f"on={on!r}: {column} names no stream; write a.{column}")
            aliases.setdefault(alias)
        if not columns:
            raise PlanError(f"on={on!r}: {part.sql(dialect='spark')} looks at no stream; leave it out")
        one, other = (part.this, part.expression) if isinstance(part, exp.EQ) else (None, None)
        if isinstance(one, exp.Column) and isinstance(other, exp.Column):
            equalities.append((one.table, one.name, other.table, other.name))
        else:
            residuals.append(Residual(part.sql(dialect="spark"), tuple(columns)))
    return equalities, tuple(residuals), tuple(aliases)


def expression(text: str) -> Any:
    """Parsed as Spark SQL, without functions and subqueries: what a joined row can be asked in this process."""
    import sqlglot
    from sqlglot import exp

    if not isinstance(text, str) or not text.strip():
        raise PlanError(f"on={text!r}: write the conditions as text, such as 'a.k = b.k'")
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except sqlglot.errors.SqlglotError as error:
        told = getattr(error, "errors", None)  # a parse error has places, others do not
        place = told[0] if told else {}
        near = f" at column {place['col']}, near {place['highlight']!r}" if place.get("highlight") else ""
        raise PlanError(
            f"on={text!r} cannot be read{near}: write conditions such as 'a.k = b.k AND a.x < b.y'; a name that is a "
            "word of SQL, or has blanks, stands in backticks"
        ) from None
    for node in tree.walk():
        if not isinstance(node, _known()):
            raise PlanError(
                f"on={text!r}: {node.sql(dialect='spark')} is not understood here; comparisons, + - *, CAST, AND, OR, "
                "NOT, BETWEEN, IN and IS NULL over alias.column and literals are; for more, filter by tw.filters"
            )
        if isinstance(node, exp.Column) and (node.args.get("db") or isinstance(node.this, exp.Star)):
            raise PlanError(f"on={text!r}: {node.sql()} is no alias.column; write the stream and one column")
    return tree


def _known() -> tuple[type, ...]:
    from sqlglot import exp

    return (
        exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In,
        exp.Is, exp.Null, exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Column, exp.Identifier, exp.Literal, exp.Boolean,
        exp.Interval, exp.Var, exp.Cast, exp.DataType, exp.DataTypeParam,
    )  # fmt: skip


def typed(residual: Residual, schemas: Mapping[str, pa.Schema]) -> Residual:
    """With its meaning, by the types of the columns; refuses what has none."""
    from thalweg.plan.sql.expressions import ExpressionReader
    from thalweg.plan.sql.source_text import SourceText

    if residual.expression is not None:
        return residual
    reader = ExpressionReader(SourceText(residual.text), _Columns(schemas), {}, {})
    try:
        return replace(residual, expression=reader.boolean(expression(residual.text), "on="))
    except SqlError as error:
        types = ", ".join(f"{a}.{c} is {schemas[a].field(c).type}" for a, c in residual.columns)
        raise PlanError(f"on=: {residual.text} cannot be evaluated: {types}; {error.sentence}") from None


@dataclass(frozen=True, slots=True)
class _Columns:
    """Of the streams, by exact names."""

    schemas: Mapping[str, pa.Schema]

    def column(self, node: Any) -> Expression:
        return Ref(node.table, node.name, plain_type(self.schemas[node.table].field(node.name).type))
