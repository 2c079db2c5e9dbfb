"""Read expressions: resolve the names and types of sqlglot's nodes, or refuse a node with its position.

For every node class, the supported parts are listed. A node class that is not listed is not supported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, NoReturn, Protocol

import pyarrow as pa

from thalweg.errors import PlanError, nearest
from thalweg.plan.expressions.aggregates import AGGREGATES, aggregate
from thalweg.plan.expressions.expression import (
    AggregateCall,
    Bound,
    Call,
    Expression,
    UserCall,
    Value,
    call,
    text_of,
    walk,
)
from thalweg.plan.expressions.functions import conversion, typed
from thalweg.plan.expressions.literals import is_number_text, number, time_of, value_of
from thalweg.plan.expressions.type_rules import can_cast, sql_name, type_named
from thalweg.plan.joins.window import length_of
from thalweg.plan.query.relation import UserFunction, cannot_take
from thalweg.plan.sql.clauses import refuse_unknown_parts
from thalweg.plan.sql.source_text import SourceText, is_in_parentheses, shown
from thalweg.plan.sql.vocabulary import (
    COMPARISONS,
    IGNORED,
    NAMES,
    NONDETERMINISTIC,
    OPERATORS,
    OTHER_NAMES,
    PREDICATES,
    REMEDIES,
    SIMPLE,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as SqlNode


class Scope(Protocol):
    """The scope in which names are looked up."""

    def column(self, node: SqlNode) -> Expression:
        """Return the column, or whatever else a bare name refers to."""


_LISTS = (list, tuple, set, frozenset)
"""Types of a parameter's value that IN takes as a list."""


class ExpressionReader:
    """Reads the expressions of one query."""

    def __init__(
        self,
        source: SourceText,
        scope: Scope,
        functions: Mapping[str, UserFunction],
        parameters: Mapping[str, object],
    ) -> None:
        self.source, self.scope, self.functions, self.parameters = source, scope, functions, parameters
        self.used: set[str] = set()
        """The parameters that the query uses."""
        self.aggregates: list[AggregateCall] | None = None
        """The aggregates that were read so far; None: aggregates are not allowed here."""

    def read(self, node: SqlNode) -> Expression:
        """Return the expression of a node, with its type."""
        name = type(node).__name__
        special: Callable[[SqlNode], Expression] | None = getattr(self, f"_read_{name.lower()}", None)
        if special is not None:
            return special(node)
        if name in COMPARISONS:
            self._check_operands(node)
        if name in OPERATORS:
            self._refuse_unknown_parts(
                node, {"this", "expression", "negate"} if name == "Like" else {"this", "expression"}
            )
            return self._negated(node, self._typed(node, OPERATORS[name], [node.this, node.expression]))
        if name in SIMPLE:
            function, keys = SIMPLE[name]
            self._refuse_unknown_parts(node, set(keys))
            return self._typed(node, function, [node.args[key] for key in keys if node.args.get(key) is not None])
        from sqlglot import exp

        if isinstance(node, exp.AggFunc):
            return self._aggregate(node)
        if isinstance(node, exp.Func) and name not in REMEDIES:
            word = self._written(node)
            self._refuse_nondeterministic(node, word or _own_name(node).lower())
            if word and word != "cast":  # not an operator, such as COLLATE
                self._refuse(
                    node,
                    f"the function {word} is not supported; register your own under another name: "
                    f"s.function('my_{word}', ...)",
                )
        remedy = REMEDIES.get(name, "compute it before registering the stream, or with s.function(...)")
        self._refuse(node, f"{self.source.written(node)} is not supported; {remedy}")

    def boolean(self, node: SqlNode, where: str) -> Expression:
        """Return the expression of a node that must be a condition."""
        made = self.read(node)
        if pa.types.is_null(made.type):
            return Value(None, pa.bool_())
        if not pa.types.is_boolean(made.type):
            self._refuse(
                node, f"{where}: {text_of(made)} is {sql_name(made.type)}, not BOOLEAN; compare it with a value"
            )
        return made

    def _check_operands(self, node: SqlNode) -> None:
        """Refuse ambiguous comparisons: sqlglot reads `a = b < c` as `a = (b < c)`, Spark as `(a = b) < c`."""
        left, right = self._operator(node.this), self._operator(node.expression)
        is_null_safe = type(node).__name__ == "NullSafeEQ" and right == "Paren"
        if is_null_safe and not is_in_parentheses(self.source, node.expression, ("<=>", "FROM")):
            right = type(node.expression.this).__name__
        if right in PREDICATES or (left in PREDICATES and left not in COMPARISONS):
            self._refuse(
                node, f"{self.source.written(node)} is ambiguous; write the inner comparison first and in parentheses"
            )

    def _operator(self, node: SqlNode) -> str:
        """Return the class of a node; that of any function for a predicate that is written as one."""
        name = type(node).__name__
        return "Func" if name == "RegexpLike" and self._written(node) in ("regexp_like", "rlike", "regexp") else name

    def _typed(self, node: SqlNode, function: str, parts: list[SqlNode]) -> Call:
        return typed(function, [self.read(part) for part in parts], lambda why: self._refuse(node, why))

    def _negated(self, node: SqlNode, made: Call) -> Call:
        """Add the NOT of NOT LIKE, which sqlglot stores as a flag of LIKE. Any other NOT is a node."""
        return call("not", (made,), pa.bool_()) if node.args.get("negate") else made

    def _refuse_unknown_parts(self, node: SqlNode, keys: set[str]) -> None:
        refuse_unknown_parts(self.source, node, keys | IGNORED, _words(type(node).__name__))

    def _refuse_nondeterministic(self, node: SqlNode, word: str) -> None:
        if word in NONDETERMINISTIC:
            self._refuse(
                node, f"{word} returns a different value on each call, so the result would depend on when it is called;"
                f" compute it before registering the stream{NONDETERMINISTIC[word]}"
            )  # fmt: skip

    def _written(self, node: SqlNode) -> str:
        """Return the name of a function as the text has it, in small letters: sqlglot uses its own name for many
        functions. Empty if it is written as an operator or without parentheses."""
        found = re.match(r"(\w+)\s*\(", self.source.text[self.source.begin_of(node) :])
        return found[1].lower() if found else ""

    def _refuse(self, node: SqlNode, sentence: str) -> NoReturn:
        self.source.refuse(node, sentence)

    def _read_paren(self, node: SqlNode) -> Expression:
        return self.read(node.this)

    def _read_column(self, node: SqlNode) -> Expression:
        return self.scope.column(node)

    def _read_literal(self, node: SqlNode) -> Expression:
        if node.is_string:
            return Value(node.this, pa.string())
        found, written = number(node.this), node.this if len(node.this) < 50 else f"{node.this[:47]}..."
        if found is None and not is_number_text(node.this):
            self._refuse(node, f"{written} is not a number; write it as 10, 0.5 or 1e3")
        if found is None:
            self._refuse(
                node,
                f"{written} has more than 38 digits or is larger than 1.8e308; write fewer digits or a smaller number",
            )
        return found

    def _read_boolean(self, node: SqlNode) -> Expression:
        return Value(bool(node.this), pa.bool_())

    def _read_null(self, node: SqlNode) -> Expression:
        return Value(None, pa.null())

    def _read_neg(self, node: SqlNode) -> Expression:
        inner = self.read(node.this)
        if pa.types.is_duration(inner.type):
            if isinstance(inner, Value) and isinstance(inner.value, timedelta):
                return Value(-inner.value, inner.type)
            nothing = Value(timedelta(0), inner.type)
            return typed("subtract", [nothing, inner], lambda why: self._refuse(node, why))
        if isinstance(inner, Value) and inner.type == pa.decimal128(19, 0) and inner.value == 2**63:
            return Value(-(2**63), pa.int64())  # only with its sign does the literal fit into BIGINT
        if isinstance(inner, Value) and isinstance(inner.value, int | float) and not isinstance(inner.value, bool):
            negative = value_of(-inner.value)
            if negative is not None:
                return negative if isinstance(inner.value, int) else Value(-inner.value, inner.type)
        return typed("negate", [inner], lambda why: self._refuse(node, why))

    def _read_placeholder(self, node: SqlNode) -> Expression:
        name = str(node.this or "")
        if not name:
            self._refuse(node, "a parameter needs a name; write :limit and pass args={'limit': ...}")
        self.used.add(name)
        if name not in self.parameters:
            known = ", ".join(self.parameters) or "none"
            self._refuse(
                node,
                f":{name} has no value{nearest(name, self.parameters)}: args= has {known}; pass args={{{name!r}: ...}}",
            )
        found = value_of(self.parameters[name])
        if found is None:
            kind = type(self.parameters[name]).__name__
            if isinstance(self.parameters[name], _LISTS):
                self._refuse(node, f":{name} is a {kind}, which is allowed only in IN; write IN (:{name})")
            self._refuse(
                node, f":{name} has a value of type {kind} that SQL cannot represent; pass a number of at most 38 "
                "digits, text of whole characters, a boolean, or a date or time in the years 1 to 9999"
            )  # fmt: skip
        return found

    def _read_between(self, node: SqlNode) -> Expression:
        self._refuse_unknown_parts(node, {"this", "low", "high"})
        low = self._typed(node, "ge", [node.this, node.args["low"]])
        high = self._typed(node, "le", [node.this, node.args["high"]])
        return call("and", (low, high), pa.bool_())

    def _read_in(self, node: SqlNode) -> Expression:
        if node.args.get("query") is not None:
            self._refuse(node, "IN takes a list of values, and a subquery is not supported; join instead")
        if node.args.get("field") is not None:
            self._refuse(node, f"IN takes values in parentheses; write IN ({shown(node.args['field'])})")
        self._refuse_unknown_parts(node, {"this", "expressions"})
        if not node.expressions:
            self._refuse(node, "IN takes at least one value; write x IN (1, 2)")
        parts = [part for each in node.expressions for part in self._listed(each)]
        return typed("in", [self.read(node.this), *parts], lambda why: self._refuse(node, why))

    def _listed(self, node: SqlNode) -> list[Expression]:
        """Return the values of an entry of IN: a parameter may be a list of values."""
        given = self.parameters.get(str(node.this)) if type(node).__name__ == "Placeholder" else None
        if not isinstance(given, _LISTS):
            return [self.read(node)]
        self.used.add(str(node.this))
        found = [value_of(each) for each in (sorted(given, key=repr) if isinstance(given, set | frozenset) else given)]
        if not found:
            self._refuse(node, f":{node.this} is an empty list, but IN takes at least one value; pass one or more")
        made = [value for value in found if value is not None]
        if len(made) < len(found):
            self._refuse(
                node, f":{node.this} has a value that SQL cannot represent; pass numbers, text, dates or times"
            )
        return list(made)

    def _read_is(self, node: SqlNode) -> Expression:
        self._refuse_unknown_parts(node, {"this", "expression"})
        value, wanted = self.read(node.this), self.read(node.expression)
        if not isinstance(wanted, Value) or not (wanted.value is None or isinstance(wanted.value, bool)):
            self._refuse(node, "IS takes NULL, TRUE or FALSE; write = for other values")
        if wanted.value is None:
            return call("is_null", (value,), pa.bool_())
        return typed("same", [value, wanted], lambda why: self._refuse(node, why))

    def _read_escape(self, node: SqlNode) -> Expression:
        if type(node.this).__name__ != "Like":
            self._refuse(node, "ESCAPE is allowed only after LIKE; write x LIKE '10!%' ESCAPE '!'")
        self._refuse_unknown_parts(node.this, {"this", "expression", "negate"})
        escape = node.expression
        if not getattr(escape, "is_string", False) or len(escape.this) != 1:
            self._refuse(node, "ESCAPE takes one character, as in x LIKE '10!%' ESCAPE '!'")
        return self._negated(node.this, self._typed(node, "like", [node.this.this, node.this.expression, escape]))

    def _read_concat(self, node: SqlNode) -> Expression:
        self._refuse_unknown_parts(node, {"expressions"})
        return self._typed(node, "concat", node.expressions)

    def _read_coalesce(self, node: SqlNode) -> Expression:
        self._refuse_unknown_parts(node, {"this", "expressions", "is_nvl"})
        return self._typed(node, "coalesce", [node.this, *node.expressions])

    def _read_greatest(self, node: SqlNode) -> Expression:
        self._refuse_unknown_parts(node, {"this", "expressions", "ignore_nulls"})
        return self._typed(node, "greatest", [node.this, *node.expressions])

    def _read_least(self, node: SqlNode) -> Expression:
        self._refuse_unknown_parts(node, {"this", "expressions", "ignore_nulls"})
        return self._typed(node, "least", [node.this, *node.expressions])

    def _read_nullif(self, node: SqlNode) -> Expression:
        self._refuse_unknown_parts(node, {"this", "expression"})
        equal = self._typed(node, "eq", [node.this, node.expression])
        value = self.read(node.this)
        return typed("case", [equal, Value(None, value.type), value], lambda why: self._refuse(node, why))

    def _read_if(self, node: SqlNode) -> Expression:
        self._refuse_unknown_parts(node, {"this", "true", "false"})
        condition = self.boolean(node.this, "if")
        other = node.args.get("false")
        parts = [condition, self.read(node.args["true"]), self.read(other) if other else Value(None, pa.null())]
        return typed("case", parts, lambda why: self._refuse(node, why))

    def _read_case(self, node: SqlNode) -> Expression:
        self._refuse_unknown_parts(node, {"this", "ifs", "default"})
        parts: list[Expression] = []
        for branch in node.args["ifs"]:
            if node.args.get("this") is not None:
                parts.append(self._typed(branch, "eq", [node.this, branch.this]))
            else:
                parts.append(self.boolean(branch.this, "CASE"))
            parts.append(self.read(branch.args["true"]))
        default = node.args.get("default")
        parts.append(self.read(default) if default is not None else Value(None, pa.null()))
        return typed("case", parts, lambda why: self._refuse(node, why))

    def _read_trim(self, node: SqlNode) -> Expression:
        if node.args.get("expression") is not None:
            self._refuse(node, "trim removes only spaces; write replace(x, 'a', '')")
        self._refuse_unknown_parts(node, {"this", "position"})
        which = {"": "trim", "BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
        return self._typed(node, which[str(node.args.get("position") or "").upper()], [node.this])

    def _read_tsordstodate(self, node: SqlNode) -> Expression:
        """Read to_date(). sqlglot also wraps the argument of year() and similar functions in it, but sets `safe` only
        if to_date() is in the text."""
        if node.args.get("format") is not None:
            self._refuse(
                node, "to_date takes a TIMESTAMP and no format; convert it before registering the stream, "
                "or with s.function(...)"
            )  # fmt: skip
        self._refuse_unknown_parts(node, {"this"})
        if node.args.get("this") is None:
            self._refuse(node, "the argument in the parentheses is missing; write year(ts)")
        value = self.read(node.this)
        if not node.args.get("safe"):
            return value
        if not (pa.types.is_timestamp(value.type) or pa.types.is_date(value.type)):
            way = conversion(value, "date")
            self._refuse(node, f"to_date takes a TIMESTAMP, but {text_of(value)} is {sql_name(value.type)}; {way}")
        return cast(value, pa.date32(), lambda why: self._refuse(node, why))

    def _read_timestamptrunc(self, node: SqlNode) -> Expression:
        self._refuse_unknown_parts(node, {"this", "unit"})
        unit = Value(str(node.args["unit"].name).lower(), pa.string())
        return typed("date_trunc", [unit, self.read(node.this)], lambda why: self._refuse(node, why))

    def _read_extract(self, node: SqlNode) -> Expression:
        self._refuse_unknown_parts(node, {"this", "expression"})
        part = str(node.this.name).lower()
        if part not in ("year", "month", "day", "hour", "minute", "second"):
            self._refuse(node, f"extract does not support {part}; write year, month, day, hour, minute or second")
        return self._typed(node, part, [node.expression])

    def _read_interval(self, node: SqlNode) -> Expression:
        self._refuse_unknown_parts(node, {"this", "unit"})
        value, unit = node.this, node.args.get("unit")
        if type(value).__name__ != "Literal" or (unit is not None and type(unit).__name__ != "Var"):
            self._refuse(node, "an interval is a number and a unit; write INTERVAL '10' SECONDS")
        text = str(value.this) if unit is None else f"{value.this} {unit.name}"
        try:
            micros = length_of(text.lstrip("-"), "us", "INTERVAL")
        except PlanError as error:
            self._refuse(node, str(error))
        return Value(timedelta(microseconds=-micros if text.startswith("-") else micros), pa.duration("us"))

    def _read_cast(self, node: SqlNode) -> Expression:
        return self._cast(node)

    def _read_trycast(self, node: SqlNode) -> Expression:
        if node.args.get("safe"):
            self._refuse(
                node,
                "try_cast is not supported; write CASE WHEN x RLIKE '^[0-9]{1,9}$' THEN CAST(x AS INT) END",
            )
        return self._cast(node)

    def _cast(self, node: SqlNode) -> Expression:
        self._refuse_unknown_parts(node, {"this", "to"})
        wanted = shown(node.args["to"])
        kind = type_named(wanted)
        if kind is None or (node.args["to"].expressions and not pa.types.is_decimal(kind)):
            self._refuse(
                node, f"the type {wanted} is not supported; write a numeric type, STRING, BOOLEAN, DATE or TIMESTAMP"
            )
        value = self.read(node.this)
        return cast(value, kind, lambda why: self._refuse(node, why))

    def _read_anonymous(self, node: SqlNode) -> Expression:
        name = str(node.name)
        found = self.functions.get(name.lower())
        if found is None:
            self._refuse_nondeterministic(node, name.lower())
        if found is None and name.upper() in ("TUMBLE", "HOP"):
            self._refuse(
                node,
                f"{name} is allowed only in GROUP BY, by itself; write window_start and window_end for the bounds of "
                "a window",
            )
        if found is None and name.lower() in OTHER_NAMES:
            self._refuse(node, f"there is no function {name!r}; write {OTHER_NAMES[name.lower()]}")
        if found is None:
            known = [*NAMES, *(function.name for function in self.functions.values())]
            self._refuse(
                node,
                f"there is no function {name!r}{nearest(name.lower(), known)}; correct the name, or register "
                f"a function with s.function({name!r}, ...)",
            )
        arguments = tuple(self.read(part) for part in node.expressions)
        if not arguments:
            self._refuse(node, f"{found.name}() has no argument and would be the same for all rows; pass it a column")
        if (taken := cannot_take(found.func, len(arguments))) is not None:
            self._refuse(
                node,
                f"{found.name} is called with {len(arguments)} arguments, but its function takes {taken}; "
                "pass one value per parameter",
            )
        return UserCall(found.name, arguments, found.returns, found.safe)

    def _aggregate(self, node: SqlNode) -> Expression:
        word = _own_name(node).lower()
        if word not in AGGREGATES:
            self._refuse(
                node, f"the aggregate {self._written(node)} is not supported; write one of {', '.join(AGGREGATES)}"
            )
        if self.aggregates is None:
            self._refuse(
                node,
                f"the aggregate {word} is not allowed here; write it in SELECT or HAVING, and not inside another "
                "aggregate",
            )
        self._refuse_unknown_parts(node, {"this", "expressions"})
        inner, distinct = node.args.get("this"), False
        if inner is None:
            self._refuse(node, f"{word} takes one expression; write {word}(x), or count(*)")
        if type(inner).__name__ == "Distinct":
            if len(inner.expressions) != 1 or inner.args.get("on"):
                self._refuse(node, "DISTINCT takes one expression; remove the others")
            inner, distinct = inner.expressions[0], True
        if node.args.get("expressions"):
            self._refuse(node, f"{word} takes one expression; remove the others")
        if type(inner).__name__ == "Star" and (word != "count" or distinct):
            self._refuse(node, f"{word} takes no {'DISTINCT ' if distinct else ''}*; write a column")
        before, self.aggregates = self.aggregates, None
        argument = None if type(inner).__name__ == "Star" else self.read(inner)
        self.aggregates = before
        if argument is not None and any(isinstance(part, Bound) for part in walk(argument)):
            self._refuse(node, f"{text_of(argument)} has the same value for all rows of a window; remove {word}")
        if isinstance(argument, Value) and word == "count" and argument.value is not None and not distinct:
            argument = None  # count(1)
        made = aggregate(word, argument, distinct, lambda why: self._refuse(node, why))
        self.aggregates.append(made)
        return made


def cast(value: Expression, kind: pa.DataType, refuse: Callable[[str], NoReturn]) -> Expression:
    """Return the CAST of an expression. A literal is converted at once if the result is certain."""
    is_ = pa.types
    have = value.type
    if have == kind:
        return value
    if isinstance(value, Value):
        if value.value is None:
            return Value(None, kind)
        if is_.is_string(have) and (is_.is_timestamp(kind) or is_.is_date(kind)):
            return time_of(str(value.value), kind, refuse)
    if is_.is_timestamp(have) and is_.is_timestamp(kind) and (have.tz is None) == (kind.tz is None):
        return value
    if not can_cast(have, kind):
        remedy = "convert it before registering the stream, or with s.function(...)"
        if isinstance(value, Value):
            remedy = f"write a {sql_name(kind)} literal"
            if is_.is_timestamp(have) and is_.is_timestamp(kind):
                remedy = f"write {sql_name(kind)} {text_of(value)}"
        refuse(
            f"{text_of(value)} is {sql_name(have)} and cannot be cast to {sql_name(kind)}, because the runtimes would "
            f"give different results; {remedy}"
        )
    return call("cast", (value,), kind)


def _words(name: str) -> str:
    return "".join(f" {letter}" if letter.isupper() else letter.upper() for letter in name).strip().upper()


def _own_name(node: SqlNode) -> str:
    """Return sqlglot's name for a function."""
    from sqlglot import exp

    assert isinstance(node, exp.Func)
    return node.sql_name()
