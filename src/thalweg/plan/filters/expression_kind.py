"""Classify a native expression by the functions it uses: what it may do, and (in `cost`) what it costs.

Answers: the kinds of an expression's parts; whether a data source could evaluate it; whether it can fail on a row.
Differs from the analysis of an optimizer: it looks at functions and literals, not at types. A comparison of text with a
number looks like any other comparison, although Spark adds a cast that fails on text that is not a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thalweg.plan.expressions.java_pattern import surely_compiles
from thalweg.plan.expressions.like_pattern import like_parts
from thalweg.plan.filters.native_uses import Argument, Use

UNKNOWN = "unknown"

WORDS: dict[str, str] = {
    "comparison": "= <=> < > <= >= != <> not ! and or && in between is isnull isnotnull isnan true false",
    "text search": "startswith endswith contains",
    "arithmetic": "+ - * / % div pmod mod abs negative positive round floor ceil bround factorial",
    "cast": "cast int bigint double date timestamp to_date to_timestamp to_number unix_timestamp :: [",
    "text": "lower upper lcase ucase trim ltrim rtrim btrim length char_length octet_length bit_length substring "
    "substr left right reverse initcap lpad rpad ascii || concat concat_ws coalesce nvl ifnull nullif if when case "
    "greatest least nanvl try_cast try_add try_subtract try_multiply try_divide try_mod try_to_number "
    "try_to_timestamp",
    "date": "year month day dayofmonth dayofweek dayofyear weekofyear quarter hour minute second date_trunc trunc "
    "date_add date_sub datediff months_between date_format weekday last_day",
    "pattern": "like ilike split split_part instr locate position replace translate overlay "
    "find_in_set soundex levenshtein substring_index",
    "hash": "hash xxhash64 md5 sha sha1 sha2 crc32 base64 hex",
    "collection": "size cardinality array_contains array_position arrays_overlap exists forall filter transform "
    "aggregate map_keys map_values map_contains_key array struct named_struct array_size array_distinct sort_array get "
    "try_element_at",
    "regular expression": "rlike regexp regexp_like regexp_extract regexp_extract_all regexp_replace regexp_count "
    "regexp_substr regexp_instr",
    "JSON": "get_json_object from_json json_tuple json_array_length json_object_keys to_json schema_of_json from_csv "
    "try_parse_json try_variant_get is_variant_null parse_url try_parse_url try_parse_url url_decode try_url_decode",
}

_KIND = {word: kind for kind, words in WORDS.items() for word in words.split()}

PUSHED = frozenset({"comparison", "text search"})
"""The kinds that a data source such as Parquet can evaluate, and that cost almost nothing otherwise."""
RAISING = frozenset({"arithmetic", "cast", UNKNOWN})
"""The kinds that can fail on a row in Spark's ANSI mode: by an overflow, by text that is not a number, or because the
function is unknown."""
RAISING_WORDS = frozenset(
    [
        "parse_url",
        "url_decode",
        "split_part",
        "from_json",
        "from_csv",
        "schema_of_json",
        "regexp_extract",
        "regexp_extract_all",
        "regexp_substr",
        "regexp_instr",
        "date_add",
        "date_sub",
        "date_format",
        "months_between",
        "trunc",
        "date_trunc",
        "last_day",
        "year",
        "month",
        "day",
        "dayofmonth",
        "dayofweek",
        "dayofyear",
        "weekofyear",
        "quarter",
        "hour",
        "minute",
        "second",
        "weekday",
        "datediff",
        "array_position",
        "element_at",
        "get",
        "hex",
        "try_element_at",
        "try_variant_get",
        "lpad",
        "rpad",
        "substring_index",
        "overlay",
        "levenshtein",
        "conv",
        "repeat",
    ]
)
"""The functions of the other kinds that can fail: on an invalid URL, a missing group, or text instead of a date. The
list is broad on purpose: a function that is wrongly in it only keeps its place after what is written before it."""

Arguments = tuple[Argument, ...]


def _is_pattern(given: Arguments) -> bool:
    return len(given) > 1 and isinstance(given[1], tuple) and all(map(surely_compiles, given[1]))


def _is_like(given: Arguments) -> bool:
    """Whether every possible value of the pattern is valid with every possible value of the escape."""
    patterns, *escapes = given[1:] if len(given) > 1 else (None,)
    if not isinstance(patterns, tuple) or not all(isinstance(e, tuple) and max(map(len, e)) == 1 for e in escapes):
        return False
    try:
        for pattern in patterns:
            for escape in escapes[0] if escapes and isinstance(escapes[0], tuple) else ("\\",):
                like_parts(pattern, escape)
    except ValueError:
        return False
    return True


def _replaces(given: Arguments) -> bool:
    """Whether a replacement cannot fail, as it does if it refers to missing groups. SQL may pass a position as the
    fourth argument, PySpark does not."""
    if not _is_pattern(given) or len(given) not in (3, 4) or given[3:] not in ((), (1,)):
        return False
    return isinstance(given[2], tuple) and not any("$" in text or "\\" in text for text in given[2])


def _whole_from(place: int) -> Callable[[Arguments], bool]:
    """Return a check that all arguments from this one on are INT: Spark casts other positions and lengths, which fails
    on text and on large numbers."""
    return lambda given: all(isinstance(argument, int) and -(2**31) <= argument < 2**31 for argument in given[place:])


SAFE_WITH: dict[str, Callable[[Arguments], bool]] = {
    "rlike": _is_pattern,
    "regexp": _is_pattern,
    "regexp_like": _is_pattern,
    "regexp_count": _is_pattern,
    "regexp_replace": _replaces,
    "split": lambda given: _is_pattern(given) and _whole_from(2)(given),
    "like": _is_like,
    "ilike": _is_like,
    "substring": _whole_from(1),
    "substr": _whole_from(1),
    "left": _whole_from(1),
    "right": _whole_from(1),
    "sha2": _whole_from(1),
    "instr": _whole_from(2),
    "locate": _whole_from(2),
    "position": _whole_from(2),
    "try_to_timestamp": lambda given: len(given) == 1,
}
"""Functions that cannot fail with certain arguments, for example with a literal pattern that compiles."""


def kinds_of(uses: Sequence[Use]) -> list[str]:
    """Return the kind of each function and operator.

    >>> from thalweg.plan.filters.native_uses import uses_in
    >>> kinds_of([*uses_in("rlike(lower(line), 'x')")])
    ['regular expression', 'text']
    >>> kinds_of([*uses_in("my_function(line)")])
    ['unknown']
    """
    return [_KIND.get(use.word, UNKNOWN) for use in uses]


def can_be_pushed(uses: Sequence[Use]) -> bool:
    """Whether a data source could evaluate it: only comparisons, null checks and plain text searches.

    >>> from thalweg.plan.filters.native_uses import uses_in
    >>> can_be_pushed([*uses_in("and(>(size, 1024), isNotNull(payload))")]), can_be_pushed([Use("rlike")])
    (True, False)
    """
    return PUSHED.issuperset(kinds_of(uses))


def may_raise(uses: Sequence[Use]) -> bool:
    """Whether it can fail on a row, judging by its functions and literals.

    >>> from thalweg.plan.filters.native_uses import uses_in
    >>> may_raise([*uses_in("rlike(code, '^[0-9]+$')")]), may_raise([*uses_in("rlike(code, pattern)")])
    (False, True)
    """
    return any(map(_raises, uses))


def _raises(use: Use) -> bool:
    if _KIND.get(use.word, UNKNOWN) in RAISING or use.word in RAISING_WORDS:
        return True
    return use.word in SAFE_WITH and not SAFE_WITH[use.word](use.arguments)
