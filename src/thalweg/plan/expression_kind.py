"""What kind of work a native expression is, from the words in its text: what it may do, and (in `cost`) what it costs.

Answers: the kinds of an expression's parts; whether a source could take it over; whether it can fail on a row.
Differs from an optimizer's knowledge: only words are looked at, not types. A comparison of text with a number, where
Spark puts in a cast that fails on other text, looks like any comparison.
"""

from __future__ import annotations

from thalweg.plan.native_text import words_of

UNKNOWN = "unknown"

WORDS: dict[str, str] = {
    "comparison": "= <=> < > <= >= != <> not ! and or && in between is isnull isnotnull isnan true false",
    "text search": "startswith endswith contains",
    "arithmetic": "+ - * / % div pmod mod abs negative positive round floor ceil bround factorial",
    "cast": "cast int bigint double date timestamp to_date to_timestamp to_number unix_timestamp :: [",
    "text": "lower upper lcase ucase trim ltrim rtrim btrim length char_length octet_length bit_length substring "
    "substr left right reverse initcap lpad rpad ascii || concat concat_ws coalesce nvl ifnull nullif if when case "
    "greatest least nanvl try_cast try_add try_subtract try_multiply try_divide try_mod try_to_number "
    "try_to_timestamp ] lambda",
    "date": "year month day dayofmonth dayofweek dayofyear weekofyear quarter hour minute second date_trunc trunc "
    "date_add date_sub datediff months_between date_format weekday last_day",
    "pattern": "like ilike like_all like_any split split_part instr locate position replace translate overlay "
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
broadly: what is held to raise only keeps its place behind what is written before it."""


def kinds_of(text: str) -> list[str]:
    """The kind of each function and operator.

    >>> kinds_of("rlike(lower(line), 'x')")
    ['regular expression', 'text']
    >>> kinds_of("my_function(line)")
    ['unknown']
    """
    return [_KIND.get(word, UNKNOWN) for word in words_of(text)]


def can_be_pushed(text: str) -> bool:
    """Whether a source could take it over: nothing but comparisons, null checks and plain text searches.

    >>> can_be_pushed("and(>(size, 1024), isNotNull(payload))"), can_be_pushed("rlike(line, 'x')")
    (True, False)
    """
    return PUSHED.issuperset(kinds_of(text))


def may_raise(text: str) -> bool:
    """Whether it can fail on a row, as far as the words tell.

    >>> may_raise(">(CAST(code AS INT), 5)"), may_raise("rlike(code, '^[0-9]+$')"), may_raise("url_decode(link)")
    (True, False, True)
    """
    return any(_KIND.get(word, UNKNOWN) in RAISING or word in RAISING_WORDS for word in words_of(text))
