"""The functions of sqlglot's node classes, the names that hints suggest, and replacements for unsupported SQL."""

from __future__ import annotations

from thalweg.plan.expressions.aggregates import AGGREGATES
from thalweg.plan.expressions.functions import FUNCTIONS

OPERATORS = {
    "And": "and", "Or": "or", "EQ": "eq", "NEQ": "ne", "LT": "lt", "LTE": "le", "GT": "gt", "GTE": "ge",
    "NullSafeEQ": "same", "Add": "add", "Sub": "subtract", "Mul": "multiply", "Div": "divide", "IntDiv": "int_divide",
    "Mod": "mod", "Like": "like", "RegexpLike": "rlike", "DPipe": "concat",
}  # fmt: skip
"""Functions of node classes whose arguments are `this` and `expression`."""
SIMPLE: dict[str, tuple[str, tuple[str, ...]]] = {
    "Upper": ("upper", ("this",)), "Lower": ("lower", ("this",)), "Length": ("length", ("this",)),
    "Substring": ("substring", ("this", "start", "length")),
    "Replace": ("replace", ("this", "expression", "replacement")),
    "StartsWith": ("startswith", ("this", "expression")), "EndsWith": ("endswith", ("this", "expression")),
    "Contains": ("contains", ("this", "expression")), "StrPosition": ("instr", ("this", "substr")),
    "Abs": ("abs", ("this",)), "Neg": ("negate", ("this",)), "Sqrt": ("sqrt", ("this",)), "Exp": ("exp", ("this",)),
    "Ln": ("ln", ("this",)), "Pow": ("power", ("this", "expression")), "Floor": ("floor", ("this",)),
    "Ceil": ("ceil", ("this",)), "Round": ("round", ("this", "decimals")), "Year": ("year", ("this",)),
    "Month": ("month", ("this",)), "Day": ("day", ("this",)), "DayOfMonth": ("day", ("this",)),
    "Hour": ("hour", ("this",)), "Minute": ("minute", ("this",)), "Second": ("second", ("this",)),
    "Not": ("not", ("this",)),
}  # fmt: skip
"""Functions of other node classes, and which parts of the node are their arguments."""
COMPARISONS = ("EQ", "NEQ", "LT", "LTE", "GT", "GTE", "NullSafeEQ")
PREDICATES = (*COMPARISONS, "Is", "In", "Like", "RegexpLike", "Between", "Escape", "Not")
IGNORED = {"safe", "typed", "coalesce", "big_int"}
"""Parts that sqlglot always sets for Spark, whatever the user wrote."""
REMEDIES = {
    "Subquery": "register the inner query as a stream, and join it",
    "Exists": "register the inner query as a stream, and join it",
    "Any": "write x = 1 OR x = 2, or x LIKE 'a%' OR x LIKE 'b%'",
    "All": "write x > 1 AND x > 2, or x LIKE 'a%' AND x LIKE '%b'",
    "Window": "group over a window instead: GROUP BY TUMBLE(1 MINUTE)",
    "Filter": "write sum(CASE WHEN ... THEN x END)",
    "Cube": "write one query for each set of columns",
    "Rollup": "write one query for each set of columns",
    "GroupingSets": "write one query for each set of columns",
    "Tuple": "write its parts one by one",
    "IgnoreNulls": "remove it, because aggregates always ignore NULL",
    "ILike": "write lower(x) LIKE 'a%'",
    "NullSafeNEQ": "write NOT (a <=> b)",
    "Parameter": "write :name, and pass args={'name': ...}",
    "RawString": "write a plain string, 'text', with every backslash doubled",
    "HexString": "write a number in decimal digits",
    "BitString": "write a number in decimal digits",
    "Star": "write a column",
    "Order": "remove it, because the rows of a window have no order",
    "Kwarg": "write the value without a name",
    "Distinct": "remove DISTINCT",
}
"""What to write instead of a node class that is not supported."""
NONDETERMINISTIC = {
    **dict.fromkeys(("rand", "randn", "random", "uuid", "monotonically_increasing_id", "shuffle"), ""),
    **dict.fromkeys(
        ("current_timestamp", "current_date", "current_time", "localtimestamp", "now"), ", or pass it as :now in args="
    ),
}
"""Functions that return a different value on each call, and a further remedy to suggest."""
OTHER_NAMES = {"mean": "avg(x)", "average": "avg(x)", "isnull": "x IS NULL", "isnotnull": "x IS NOT NULL"}
"""What to write instead of functions of Spark or other engines that exist here under another name."""
NAMES = tuple(
    sorted({*FUNCTIONS, "concat", "coalesce", "greatest", "least", "if", "nullif", "nvl", "ifnull", *AGGREGATES}
           - {"and", "or", "not", "negate", "like", "rlike"})
)  # fmt: skip
"""Names of functions that a user may write, for hints."""
