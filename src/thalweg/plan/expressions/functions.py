"""The built-in functions and operators: their argument types, their result types, and whether they can raise.

Each behaves as in Spark's ANSI mode. On Spark, Spark evaluates it (`runtime/spark/sql/columns.py`); in this process,
`kernels/expressions` does.

>>> from thalweg.plan.expressions.expression import Ref
>>> typed("add", (Ref("s", "x", pa.int32()), Value(1, pa.int64())), print).type
DataType(int64)
>>> _ = typed("upper", (Ref("s", "x", pa.int32()),), print)
upper takes a STRING, but s.x is INT; write CAST(s.x AS STRING)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

from thalweg.plan.expressions.expression import Call, Expression, UserCall, Value, call, text_of, walk
from thalweg.plan.expressions.java_pattern import surely_compiles
from thalweg.plan.expressions.like_pattern import like_parts
from thalweg.plan.expressions.re2_text import re2_text
from thalweg.plan.expressions.regex_subset import RegexError
from thalweg.plan.expressions.type_rules import (
    MOST_DIGITS,
    arithmetic,
    as_decimal,
    can_be_chosen,
    can_cast,
    common,
    common_of,
    finer,
    has_order,
    is_number,
    sql_name,
)

is_ = pa.types
Refuse = Callable[[str], object]
"""A function that raises an error with this message, at a position in the text."""
_WANTED: dict[str, tuple[str, Callable[[pa.DataType], bool]]] = {
    "text": ("a STRING", lambda kind: is_.is_string(kind)),
    "number": ("a number", is_number),
    "whole": ("a whole number", lambda kind: is_.is_integer(kind)),
    "boolean": ("a BOOLEAN", lambda kind: is_.is_boolean(kind)),
    "time": ("a TIMESTAMP", lambda kind: is_.is_timestamp(kind)),
    "date": ("a TIMESTAMP or DATE", lambda kind: is_.is_timestamp(kind) or is_.is_date(kind)),
}


@dataclass(frozen=True)
class Function:
    """A function with simple parameters. Operators, and functions with special rules, are defined below."""

    takes: tuple[str, ...]
    gives: pa.DataType | str
    """The result type, or "same": the type of the first argument."""
    optional: int = 0
    """How many of the last parameters are optional."""


FUNCTIONS = {
    "upper": Function(("text",), pa.string()),
    "lower": Function(("text",), pa.string()),
    "trim": Function(("text",), pa.string()),
    "ltrim": Function(("text",), pa.string()),
    "rtrim": Function(("text",), pa.string()),
    "length": Function(("text",), pa.int32()),
    "substring": Function(("text", "whole", "whole"), pa.string(), 1),
    "replace": Function(("text", "text", "text"), pa.string()),
    "startswith": Function(("text", "text"), pa.bool_()),
    "endswith": Function(("text", "text"), pa.bool_()),
    "contains": Function(("text", "text"), pa.bool_()),
    "instr": Function(("text", "text"), pa.int32()),
    "like": Function(("text", "text", "text"), pa.bool_(), 1),
    "rlike": Function(("text", "text"), pa.bool_()),
    "abs": Function(("number",), "same"),
    "negate": Function(("number",), "same"),
    "sqrt": Function(("number",), pa.float64()),
    "exp": Function(("number",), pa.float64()),
    "ln": Function(("number",), pa.float64()),
    "power": Function(("number", "number"), pa.float64()),
    "floor": Function(("number",), pa.int64()),
    "ceil": Function(("number",), pa.int64()),
    "round": Function(("number", "whole"), "same", 1),
    "year": Function(("date",), pa.int32()),
    "month": Function(("date",), pa.int32()),
    "day": Function(("date",), pa.int32()),
    "hour": Function(("time",), pa.int32()),
    "minute": Function(("time",), pa.int32()),
    "second": Function(("time",), pa.int32()),
    "date_trunc": Function(("text", "time"), pa.null()),
    "and": Function(("boolean", "boolean"), pa.bool_()),
    "or": Function(("boolean", "boolean"), pa.bool_()),
    "not": Function(("boolean",), pa.bool_()),
}  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "same")
ARITHMETIC = ("add", "subtract", "multiply", "divide", "int_divide", "mod")
SIGNS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "same": "<=>", "add": "+",
         "subtract": "-", "multiply": "*", "divide": "/", "int_divide": "DIV", "mod": "%", "and": "AND", "or": "OR",
         "negate": "-", "not": "NOT"}  # fmt: skip
OTHERS = ("concat", "coalesce", "greatest", "least", "case", "in", "is_null", "cast", "widen")
TRUNCATED = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")
"""The units that `date_trunc` supports."""
LITERALS = {"like": (1, 2), "rlike": (1,), "round": (1,), "date_trunc": (0,)}
"""Arguments that must be literals, by their number."""


def typed(name: str, arguments: Sequence[Expression], refuse: Refuse) -> Call:
    """Return a call whose arguments have the types that the function takes. Arguments that do not fit are refused."""
    args = tuple(arguments)
    for n in LITERALS.get(name, ()):
        if n < len(args) and not (isinstance(args[n], Value) and args[n].value is not None):  # type: ignore[union-attr]
            refuse(f"{name}: {text_of(args[n])} must be a literal; write {_EXAMPLES[name]}")
    if name in COMPARISONS:
        return _comparison(name, args, refuse)
    if name in ARITHMETIC:
        return _arithmetic(name, args, refuse)
    if name in FUNCTIONS:
        return _plain(name, FUNCTIONS[name], args, refuse)
    if name == "is_null":
        return call(name, args, pa.bool_())
    if name == "concat":
        return call(name, tuple(_fits("concat", "text", a, refuse) for a in args), pa.string())
    if name in ("coalesce", "greatest", "least"):
        if name != "coalesce" and len(args) < 2:
            refuse(f"{name} takes at least two values; add one")
        made = (_to_common_type if name == "coalesce" else _compared)(name, args, refuse)
        return call(name, made, made[0].type)
    if name == "in":
        return call(name, _compared("IN", args, refuse), pa.bool_())
    assert name == "case", name
    return _case(args, refuse)


_EXAMPLES = {
    "like": "x LIKE 'a%'",
    "rlike": "x RLIKE 'a+'",
    "round": "round(x, 2)",
    "date_trunc": "date_trunc('hour', ts)",
}


def widened(expression: Expression, kind: pa.DataType) -> Expression:
    """Return the expression in a wider type, which can represent all its values. A literal is converted at once."""
    if expression.type == kind:
        return expression
    if isinstance(expression, Value):
        value = expression.value
        if value is None:
            return Value(None, kind)
        if is_.is_floating(kind) and isinstance(value, int | Decimal):
            return Value(float(value), kind)
        if is_.is_decimal(kind) and isinstance(value, int):
            return Value(Decimal(value), kind)
        if is_number(kind):
            return Value(value, kind)
    return call("widen", (expression,), kind)


def can_raise(expression: Expression) -> bool:
    """Whether an expression may raise on some row, in Spark's ANSI mode."""
    return any(_raises(part) for part in walk(expression))


def _raises(part: Expression) -> bool:
    if isinstance(part, UserCall):
        return not part.safe
    if not isinstance(part, Call):
        return False
    if part.function == "cast":
        return not is_.is_string(part.type)
    if part.function in ("divide", "int_divide", "mod"):
        by = part.arguments[1]
        known = isinstance(by, Value) and by.value not in (None, 0)
        return not known or (part.function == "int_divide" and isinstance(by, Value) and by.value == -1)
    if part.function in ("add", "subtract", "multiply", "negate", "abs"):
        return not is_.is_floating(part.type)
    if part.function == "rlike":  # this process compiles it when the query is read, Spark at the first row
        pattern = part.arguments[1]
        return not (isinstance(pattern, Value) and surely_compiles(str(pattern.value)))
    if part.function in ("floor", "ceil"):
        return not is_.is_integer(part.arguments[0].type)
    if part.function == "widen":  # dates reach farther than times; those of literals end with the year 9999
        return is_.is_date(part.arguments[0].type) and not isinstance(part.arguments[0], Value)
    return part.function == "round" and not is_.is_floating(part.type)


def _plain(name: str, function: Function, args: tuple[Expression, ...], refuse: Refuse) -> Call:
    least, most = len(function.takes) - function.optional, len(function.takes)
    if not least <= len(args) <= most:
        takes = str(most) if least == most else f"{least} or {most}"
        wrong = "add the missing ones" if len(args) < least else "remove the others"
        refuse(f"{name} takes {takes} argument{'' if takes == '1' else 's'}, not {len(args)}; {wrong}")
    made = tuple(_fits(name, wanted, a, refuse) for wanted, a in zip(function.takes, args, strict=False))
    kind = made[0].type if function.gives == "same" else function.gives
    if name in ("sqrt", "exp", "ln", "power"):
        made = tuple(widened(a, pa.float64()) for a in made)
    elif name in ("floor", "ceil", "round") and is_.is_decimal(made[0].type):
        refuse(f"{name} does not support DECIMAL; write {name}(CAST({text_of(made[0])} AS DOUBLE))")
    elif name == "substring":
        made = (made[0], *(widened(a, pa.int32()) if not _wide(a) else refuse_wide(name, a, refuse) for a in made[1:]))
    elif name == "date_trunc":
        kind = made[1].type
        unit = made[0].value if isinstance(made[0], Value) else None
        if str(unit).lower() not in TRUNCATED:
            refuse(f"date_trunc does not support {unit!r}; write one of {', '.join(TRUNCATED)}")
        made = (Value(str(unit).lower(), pa.string()), made[1])
    elif name == "rlike":
        _check_pattern(made[1], refuse)
    elif name == "like":
        _check_like(made[1:], refuse)
    return call(name, made, kind)


def refuse_wide(name: str, argument: Expression, refuse: Refuse) -> Expression:
    """Refuse a BIGINT argument: positions in a text are INT."""
    refuse(f"{name}: {text_of(argument)} is BIGINT, but positions are INT; write CAST({text_of(argument)} AS INT)")
    return argument


def _wide(argument: Expression) -> bool:
    if isinstance(argument, Value) and isinstance(argument.value, int):
        return not -(2**31) <= argument.value < 2**31
    return bool(argument.type == pa.int64())


def _check_pattern(pattern: Expression, refuse: Refuse) -> None:
    import pyarrow.compute as pc

    assert isinstance(pattern, Value)
    try:
        pc.match_substring_regex(pa.array([""]), re2_text(str(pattern.value)))
    except RegexError as error:
        twice = " (in the text of a query, write every backslash twice)" if "\\" in str(error) else ""
        refuse(f"RLIKE {pattern.value!r}: {error}{twice}")
    except pa.ArrowInvalid:
        refuse("RLIKE: the pattern is too large when its repetitions are expanded; write fewer or smaller ones")


def _check_like(given: Sequence[Expression], refuse: Refuse) -> None:
    pattern, *escape = (str(part.value) for part in given if isinstance(part, Value))
    try:
        like_parts(pattern, *escape)
    except ValueError as error:
        refuse(f"LIKE {pattern!r}: {error}")


def _fits(name: str, wanted: str, argument: Expression, refuse: Refuse) -> Expression:
    words, fits = _WANTED[wanted]
    if is_.is_null(argument.type):
        kinds = {"text": pa.string(), "number": pa.int32(), "whole": pa.int32(), "boolean": pa.bool_(),
                 "time": pa.timestamp("us"), "date": pa.timestamp("us")}  # fmt: skip
        return Value(None, kinds[wanted])
    if not fits(argument.type):
        way = conversion(argument, wanted)
        refuse(f"{SIGNS.get(name, name)} takes {words}, but {text_of(argument)} is {sql_name(argument.type)}; {way}")
    return argument


_CASTS = {"text": (pa.string(),), "number": (pa.float64(), pa.int32()), "whole": (pa.int32(),),
          "time": (pa.timestamp("us", "UTC"),), "date": (pa.date32(),)}  # fmt: skip
_LITERALS = {"text": "'a'", "number": "5", "whole": "5", "time": "TIMESTAMP '2026-01-31 12:30:00'",
             "date": "DATE '2026-01-31'"}  # fmt: skip


def conversion(argument: Expression, wanted: str) -> str:
    """Return what to write instead of an argument that does not have the wanted type."""
    if wanted == "boolean":
        return "compare it with a value"
    for kind in _CASTS[wanted]:
        if can_cast(argument.type, kind):
            return f"write CAST({text_of(argument)} AS {sql_name(kind)})"
    if isinstance(argument, Value):
        return f"write {_WANTED[wanted][0]}, such as {_LITERALS[wanted]}"
    return "convert it before registering the stream, or with s.function(...)"


def _to_common_type(name: str, args: tuple[Expression, ...], refuse: Refuse) -> tuple[Expression, ...]:
    """Return the arguments, widened to their common type."""
    args = _literal_times(args, refuse)
    # if a literal has only its own digits, there may be room for those of the others
    kind = common_of([a.type for a in args]) or common_of([_own_type(a) for a in args])
    if kind is None:
        types = ", ".join(f"{text_of(a)} is {sql_name(a.type)}" for a in args)
        refuse(f"{SIGNS.get(name, name)}: the types differ ({types}); {_type_remedy(name, args)}")
        return args
    if not can_be_chosen(kind):
        refuse(
            f"{SIGNS.get(name, name)} does not support {kind}, the type of {text_of(args[0])}; convert it before "
            "registering the stream, or with s.function(...)"
        )
    return tuple(widened(a, kind) for a in args)


def _own_type(argument: Expression) -> pa.DataType:
    """Return the type of an argument; for a whole number that is written in the query, a DECIMAL of its own digits."""
    if isinstance(argument, Value) and is_.is_integer(argument.type) and argument.value is not None:
        return _exact(argument).type
    return argument.type


def _type_remedy(name: str, args: tuple[Expression, ...]) -> str:
    """Return what to write so that all arguments have one type. No value may be lost: a CAST that does not fit raises.
    In a comparison, text and booleans are converted to the type of the others, because in the order of text, 10 comes
    before 9."""
    if all(is_number(a.type) for a in args):
        return _wide_remedy(args)
    first = [n for n, a in enumerate(args) if is_.is_string(a.type)] + [
        n for n, a in enumerate(args) if is_.is_boolean(a.type)
    ]
    if name in ("CASE", "coalesce"):  # values are not compared, and most text is no number
        first = [n for n in range(len(args)) if n not in first]
    has_fractions = any(is_.is_floating(a.type) or (is_.is_decimal(a.type) and a.type.scale > 0) for a in args)
    for n in dict.fromkeys([*first, *range(len(args))]):
        one = args[n]
        rest = [*args[:n], *args[n + 1 :]]
        for kind in (*(other.type for other in rest), pa.int32(), pa.float64(), pa.string()):
            if has_fractions and is_.is_integer(kind) and is_.is_string(one.type) and not isinstance(one, Value):
                continue  # the text may be a fraction, too
            if _keeps(one, kind) and common_of([kind, *(other.type for other in rest)]) is not None:
                return f"write CAST({text_of(one)} AS {sql_name(kind)})"
    for kind in (pa.string(), pa.float64()):
        if all(_keeps(one, kind) for one in args):
            return f"CAST each of them AS {sql_name(kind)}"
    times = [a for a in args if is_.is_timestamp(a.type) or is_.is_date(a.type)]
    if len(times) > 1 and any(isinstance(a, Value) for a in times):
        return "write the time as plain text, '2026-01-31 12:30:00', which is read as the other type, in UTC"
    return _CONVERT_ONE


_CONVERT_ONE = "convert one of them before registering the stream, or with s.function(...)"


def _wide_remedy(args: tuple[Expression, ...]) -> str:
    """Return what to write for numbers of which no DECIMAL holds all digits: a DECIMAL that keeps all fractions."""
    own = [as_decimal(_own_type(a)) for a in args]
    scale = max(kind.scale for kind in own)
    kind = pa.decimal128(MOST_DIGITS, scale)
    if any(
        isinstance(a, Value) and its.precision - its.scale > MOST_DIGITS - scale
        for a, its in zip(args, own, strict=True)
    ):
        return _CONVERT_ONE  # the CAST of this literal would raise
    for n, one in enumerate(args):
        if one.type != kind and common_of([kind, *own[:n], *own[n + 1 :]]) is not None:
            return f"write CAST({text_of(one)} AS {sql_name(kind)})"
    return f"CAST each of them AS {sql_name(kind)}"


def _keeps(argument: Expression, kind: pa.DataType) -> bool:
    """Whether a CAST to this type changes no value silently: text with more digits would be rounded to a DECIMAL. The
    CAST of a text literal must not raise either, as it would for each row."""
    if is_.is_string(argument.type) and is_number(kind):
        if is_.is_decimal(kind) or not isinstance(argument, Value):
            return not is_.is_decimal(kind)
        from thalweg.plan.expressions.literals import number

        found = number(str(argument.value).strip().lstrip("+-"))
        return found is not None and common(found.type, kind) == kind
    if is_number(argument.type) and is_.is_boolean(kind):
        return False
    if is_number(argument.type) and is_number(kind):
        return bool(common(argument.type, kind) == kind)
    return can_cast(argument.type, kind)


def _literal_times(args: tuple[Expression, ...], refuse: Refuse) -> tuple[Expression, ...]:
    """Return the arguments with text literals converted to the type of a time or date among them."""
    from thalweg.plan.expressions.literals import time_of

    kinds = [a.type for a in args if is_.is_timestamp(a.type) or is_.is_date(a.type)]
    if not kinds:
        return args
    return tuple(
        time_of(str(a.value), kinds[0], refuse)
        if isinstance(a, Value) and is_.is_string(a.type) and a.value is not None
        else a
        for a in args
    )


def _comparison(name: str, args: tuple[Expression, ...], refuse: Refuse) -> Call:
    return call(name, _compared(name, args, refuse), pa.bool_())


def _compared(name: str, args: tuple[Expression, ...], refuse: Refuse) -> tuple[Expression, ...]:
    """Return the arguments of a comparison, widened to their common type."""
    made = _to_common_type(name, args, refuse)
    if not has_order(made[0].type):
        refuse(
            f"{text_of(made[0])} is {sql_name(made[0].type)}, which cannot be compared; select a part of it before "
            "registering the stream, or with s.function(...)"
        )
    return made


def _arithmetic(name: str, args: tuple[Expression, ...], refuse: Refuse) -> Call:
    one, other = args
    if name in ("add", "subtract") and (moved := _moved(name, one, other, refuse)) is not None:
        return moved
    if name in ("add", "subtract") and (is_.is_timestamp(one.type) or is_.is_date(one.type)) and is_number(other.type):
        moved_from = text_of(one) if is_.is_timestamp(one.type) else f"CAST({text_of(one)} AS TIMESTAMP)"
        refuse(
            f"a number cannot be added to or subtracted from {text_of(one)}, which is {sql_name(one.type)}; write "
            f"{moved_from} {SIGNS[name]} INTERVAL '5' SECONDS"
        )
    one, other = (_fits(name, "number", a, refuse) for a in args)
    kind = common(one.type, other.type)
    if name == "divide" and kind is not None:
        if is_.is_decimal(kind):
            refuse(f"/ does not support DECIMAL; write CAST({text_of(one)} AS DOUBLE) / ..., or 2e0 for 2.0")
        kind = pa.float64()
    if name == "int_divide" and (kind is None or not is_.is_integer(kind)):
        other_than_whole = one if not is_.is_integer(one.type) else other
        refuse(
            f"DIV takes whole numbers, but {text_of(other_than_whole)} is {sql_name(other_than_whole.type)}; write "
            f"CAST({text_of(one)} / {text_of(other)} AS BIGINT)"
        )
    if name == "mod" and kind is not None and is_.is_decimal(kind):
        refuse(f"% does not support DECIMAL; write CAST({text_of(one)} AS DOUBLE) % ...")
    if kind is not None and is_.is_decimal(kind):
        one, other = _exact(one), _exact(other)
        found = arithmetic(name, one.type, other.type)
        if found is not None:
            return call(name, (one, other), found)
        kind = None
    if kind is None:
        refuse(
            f"{text_of(one)} {SIGNS[name]} {text_of(other)} has more than 38 digits; CAST one of them AS a DECIMAL of "
            "fewer digits, or AS DOUBLE, which has about 15"
        )
        kind = pa.float64()
    made = (widened(one, kind), widened(other, kind))
    return call(name, made, pa.int64() if name == "int_divide" else kind)


def _exact(expression: Expression) -> Expression:
    """Return a whole number as a decimal. A literal gets exactly its own digits."""
    if is_.is_decimal(expression.type):
        return expression
    if isinstance(expression, Value) and isinstance(expression.value, int):
        return Value(Decimal(expression.value), pa.decimal128(max(len(str(abs(expression.value))), 1), 0))
    return widened(expression, as_decimal(expression.type))


def _moved(name: str, one: Expression, other: Expression, refuse: Refuse) -> Call | None:
    """Return a sum or difference of times and intervals, or None if the operands are neither."""
    for a, b in ((one, other), (other, one)):
        if is_.is_duration(b.type) and is_.is_timestamp(a.type) and (name == "add" or a is one):
            # in the finer unit, so that nothing is truncated
            kind = pa.timestamp(finer(a.type.unit, b.type.unit), a.type.tz)
            return call(name, (widened(a, kind), b), kind)
    if is_.is_duration(one.type) and is_.is_duration(other.type):
        made = _to_common_type(name, (one, other), refuse)
        return call(name, made, made[0].type)
    if name == "subtract" and (is_.is_timestamp(one.type) or is_.is_timestamp(other.type)):
        made = _to_common_type(name, (one, other), refuse)
        if is_.is_timestamp(made[0].type):
            return call(name, made, pa.duration(made[0].type.unit))
    return None


def _case(args: tuple[Expression, ...], refuse: Refuse) -> Call:
    """Return a CASE. The arguments are condition, value, condition, value, ..., else."""
    conditions = tuple(_fits("CASE", "boolean", a, refuse) for a in args[:-1:2])
    values = _to_common_type("CASE", (*args[1::2], args[-1]), refuse)
    flat = [part for pair in zip(conditions, values[:-1], strict=True) for part in pair]
    return call("case", (*flat, values[-1]), values[-1].type)
