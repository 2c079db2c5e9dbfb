"""Cast text to numbers and booleans: exactly what Spark accepts, which may have blanks around it.

>>> from thalweg.plan.expressions.expression import Ref, call
>>> whole_of(pa.array([" +7 ", "4x"]), call("cast", (Ref("s", "x", pa.string()),), pa.int32()))  # doctest: +ELLIPSIS
Traceback (most recent call last):
thalweg.errors.ExpressionError: '4x' is not a valid INT in CAST(s.x AS INT); filter out such rows with a condition ...
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.errors import ExpressionError
from thalweg.kernels.columns import shown
from thalweg.kernels.expressions.decimals import read_decimals
from thalweg.kernels.expressions.letter_case import is_ascii, mapped
from thalweg.kernels.expressions.rows import true_of
from thalweg.plan.expressions.expression import Call, text_of
from thalweg.plan.expressions.type_rules import sql_name

_BLANKS = "".join(map(chr, range(33)))
"""The blanks and control characters that Java trims."""
_SPARKS_BLANKS = _BLANKS + "\x7f"
"""Those that Spark trims, which casts to integers and booleans itself."""
_WHOLE = r"\A[+-]?[0-9]+\z"
_REAL = r"\A[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?\z|(?i)\A[+-]?(inf|infinity|nan)\z"
_TRUE, _FALSE = ["t", "true", "y", "yes", "1"], ["f", "false", "n", "no", "0"]


DROP_SUCH_ROWS = "filter out such rows with a condition written before it"
"""The remedy for a value that cannot be cast."""


def _not_valid(text: pa.Scalar, call: Call) -> ExpressionError:
    cast = f"CAST({text_of(call.arguments[0])} AS {sql_name(call.type)})"
    problem = f"is not a valid {sql_name(call.type)} in {cast}; {DROP_SUCH_ROWS}"
    return ExpressionError(f"{shown(text)} {problem}").or_redacted(f"a text value {problem}")


def _trimmed(texts: pa.Array, blanks: str, pattern: str, call: Call) -> pa.Array:
    trimmed = pc.ascii_trim(texts, characters=blanks)
    _refuse_bad(true_of(pc.invert(pc.match_substring_regex(trimmed, pattern=pattern))), texts, call)
    return trimmed


def _refuse_bad(bad: NDArray[np.bool_], texts: pa.Array, call: Call) -> None:
    places = bad.nonzero()[0].tolist()
    if places:

        def each(n: int) -> ExpressionError:
            return _not_valid(texts[places[n]], call)

        raise each(0).on_rows(places, each)


def _first_that_fails(digits: pa.Array, kind: pa.DataType) -> int:
    """Return the first row that fails, by bisection. Called only if one fails."""
    low, high = 0, len(digits)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            digits.slice(low, middle - low).cast(kind)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


def whole_of(texts: pa.Array, call: Call) -> pa.Array:
    """Parse integers: digits with an optional sign."""
    digits = _trimmed(texts, _SPARKS_BLANKS, _WHOLE, call)
    # Arrow's parser accepts neither a plus sign nor extra leading zeros
    digits = pc.replace_substring_regex(digits, pattern=r"\A(-?)\+?0*([0-9])", replacement=r"\1\2")
    try:
        return digits.cast(call.type)
    except pa.ArrowInvalid:
        raise _not_valid(texts[_first_that_fails(digits, call.type)], call) from None


def real_of(texts: pa.Array, call: Call) -> pa.Array:
    """Parse floats: with a point or an exponent; inf and nan in any case; Java's d or f at the end."""
    words = pc.ascii_lower(_trimmed(texts, _BLANKS, _REAL, call))
    words = pc.replace_substring_regex(words, pattern=r"\A\+|([0-9.])[df]\z", replacement=r"\1")
    return words.cast(call.type)


def decimal_of(texts: pa.Array, call: Call) -> pa.Array:
    """Parse decimals, rounded half up. Arrow's parser refuses to round. Java accepts the digits of any alphabet."""
    made, bad = read_decimals(texts if is_ascii(texts) else mapped(texts, _plain_digit), call.type)
    if bad >= 0:
        raise _not_valid(texts[bad], call)
    return made


def _plain_digit(letter: str) -> str:
    """Return the ASCII digit. Java reads 16-bit units one by one, so it accepts no digit that needs two of them."""
    return str(int(letter)) if letter.isdecimal() and letter < "\U00010000" else letter


def boolean_of(texts: pa.Array, call: Call) -> pa.Array:
    """Parse booleans: t, true, y, yes, 1 and their opposites, in any case."""
    words = pc.ascii_lower(pc.ascii_trim(texts, characters=_SPARKS_BLANKS))
    yes, no = (pc.is_in(words, value_set=pa.array(known)) for known in (_TRUE, _FALSE))
    _refuse_bad(true_of(pc.and_(pc.invert(pc.or_(yes, no)), words.is_valid())), texts, call)
    return pc.if_else(words.is_valid(), yes, pa.scalar(None, pa.bool_()))
