"""How many arguments functions are given, counted in the text: sqlglot drops those it has no place for.

>>> check_arguments(SourceText("SELECT date_trunc('hour', ts) FROM a"))
>>> check_arguments(SourceText("SELECT mod(x, 2, 7) FROM a"))
Traceback (most recent call last):
thalweg.errors.SqlError: line 1, column 18: mod takes at most 2 arguments; leave the others out
  SELECT mod(x, 2, 7) FROM a
                   ^
"""

from __future__ import annotations

from thalweg.plan.functions import FUNCTIONS
from thalweg.plan.sql.source_text import SourceText, tokens_of

_TYPES = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "boolean", "date",
          "timestamp", "timestamp_ntz", "timestamp_ltz", "binary")  # fmt: skip
MOST = {
    **{name: len(function.takes) for name, function in FUNCTIONS.items()},
    **dict.fromkeys(_TYPES, 1),
    **dict.fromkeys(("mod", "div", "nvl", "ifnull", "nullif", "pow"), 2),
    "substr": 3,
    "if": 3,
}
"""By name."""


def check_arguments(source: SourceText) -> None:
    """Refuse a call with more than its function takes."""
    tokens = [token for token in tokens_of(source) if token.token_type.name not in ("STRING", "IDENTIFIER", "COMMENT")]
    for n, token in enumerate(tokens[:-1]):
        most = MOST.get(token.text.lower())
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
