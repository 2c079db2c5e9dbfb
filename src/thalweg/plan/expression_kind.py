"""What kind of work a native expression is, from what it uses: what it may do, and (in `cost`) what it costs.

Answers: the kinds of an expression's parts; whether a source could take it over; whether it can fail on a row.
Differs from an optimizer's knowledge: functions and literals are looked at, not types. A comparison of text with a
number, where Spark puts in a cast that fails on other text, looks like any comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thalweg.plan.java_pattern import surely_compiles
from thalweg.plan.like_pattern import like_parts
from thalweg.plan.native_uses import Argument, Use

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
"""What a source such as Parquet can take over, and what costs next to nothing otherwise."""
RAISING = frozenset({"arithmetic", "cast", UNKNOWN})
"""What can fail on a row under Spark's ANSI mode: an overflow, text that is no number, or nobody knows."""
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
"""Of the other kinds, what can: a URL that is none, a group that is not there, text where a date is expected. Taken
broadly: what is held to raise only keeps its place after what is written before it."""

Arguments = tuple[Argument, ...]


def _is_pattern(given: Arguments) -> bool:
    return len(given) > 1 and isinstance(given[1], tuple) and all(map(surely_compiles, given[1]))


def _is_like(given: Arguments) -> bool:
    """Whether all that the pattern and the escape may stand for are right together."""
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
    """A replacement may ask for groups that are not there. PySpark gives no fourth argument, SQL may: a place."""
    if not _is_pattern(given) or len(given) not in (3, 4) or given[3:] not in ((), (1,)):
        return False
    return isinstance(given[2], tuple) and not any("$" in text or "\\" in text for text in given[2])


def _whole_from(place: int) -> Callable[[Arguments], bool]:
    """Places and lengths are INT: Spark casts others, which fails on text and on large numbers."""
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
"""What cannot fail with some arguments: a pattern that is a literal and compiles, for instance."""


def kinds_of(uses: Sequence[Use]) -> list[str]:
    """The kind of each function and operator.

    >>> from thalweg.plan.native_uses import uses_in
    >>> kinds_of([*uses_in("rlike(lower(line), 'x')")])
    ['regular expression', 'text']
    >>> kinds_of([*uses_in("my_function(line)")])
    ['unknown']
    """
    return [_KIND.get(use.word, UNKNOWN) for use in uses]


def can_be_pushed(uses: Sequence[Use]) -> bool:
    """Whether a source could take it over: nothing but comparisons, null checks and plain text searches.

    >>> from thalweg.plan.native_uses import uses_in
    >>> can_be_pushed([*uses_in("and(>(size, 1024), isNotNull(payload))")]), can_be_pushed([Use("rlike")])
    (True, False)
    """
    return PUSHED.issuperset(kinds_of(uses))


def may_raise(uses: Sequence[Use]) -> bool:
    """Whether it can fail on a row, as far as functions and literals tell.

    >>> from thalweg.plan.native_uses import uses_in
    >>> may_raise([*uses_in("rlike(code, '^[0-9]+$')")]), may_raise([*uses_in("rlike(code, pattern)")])
    (False, True)
    """
    return any(map(_raises, uses))


def _raises(use: Use) -> bool:
    if _KIND.get(use.word, UNKNOWN) in RAISING or use.word in RAISING_WORDS:
        return True
    return use.word in SAFE_WITH and not SAFE_WITH[use.word](use.arguments)
