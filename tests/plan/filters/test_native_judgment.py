"""What is held not to raise does not raise in Spark, and no name or literal hides what can."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.connect import functions as of_connect

from tests.plan.sql.nasty_texts import TEXTS, quoted_name
from thalweg.plan.expressions.java_pattern import surely_compiles
from thalweg.plan.filters.expression_kind import may_raise
from thalweg.runtime.spark.read_column import uses_of

PIECES = [
    "a", "Z", "0", " ", ".", "^", "$", "|", "(", "(?:", "(?i)", "(?=", "(?!", ")", "[", "]", "[a-z]", "[^0-9]", "-",
    "&&", "{", "}", "{2}", "{1,3}", "{3,1}", "{2,}", "*", "+", "?", "\\d", "\\w", "\\b", "\\.", "\\-", "\\(", "\\p{L}",
    "[\\w.-]", "[-a]", "[a-]", "[^", "\\", "\\Q", "\\1", "\\x", "\\u", "(?<n>", "(?<=a", "#", "\n", "é", "𝒳", ",", "/",
    "'", "%",
    "_", "[a&&b]", "[z-a]", "[+--]", "[\\d-z]", "&", "~", "`",
]  # fmt: skip


def raises(column: Any) -> bool:
    return may_raise(uses_of(column))


def test_java_compiles_what_is_held_to_compile(spark: SparkSession) -> None:
    assert spark._jvm is not None
    compile_ = spark._jvm.java.util.regex.Pattern.compile
    r = random.Random(14)
    drawn = {"".join(r.choice(PIECES) for _ in range(r.randint(1, 8))) for _ in range(10_000)}
    held = [pattern for pattern in sorted(drawn) if surely_compiles(pattern)]
    assert len(held) > 1_000
    for pattern in held:
        assert compile_(pattern).matcher("aZ0 é𝒳\n-[]" * 3) is not None


@pytest.mark.parametrize("functions", [F, of_connect], ids=["classic", "connect"])
def test_names_and_literals_hide_nothing(spark: SparkSession, functions: ModuleType) -> None:
    """They are in the tree of a Column as they are, and its text is not looked at."""
    col, lit = functions.col, functions.lit
    for text in [*TEXTS[::2], "rlike(", "it's", "a, 'b'", "')", "lower(x)", "1 / x", "x', 'y"]:
        name = quoted_name(text)
        for safe in (
            col(name) == text, (col(name) == text) & (functions.lower(col(name)) != lit(text)), col(name).rlike("a+"),
            col("x")[text] == 1, functions.when(col(name).isNull(), lit(text)).otherwise(lit("'")) == text,
        ):  # fmt: skip
            assert not raises(safe), safe
        for raising in (
            (col(name) == text) & (lit(1) / col("x") > 2) & (col(name) != text),
            (col(name) == 1) & (col("x")[0] == text),
            functions.rlike(col("x"), col(name)),
            functions.when(col(name) == text, col("x").cast("int")).otherwise(lit(text)) == text,
            functions.exists(col(name), lambda e: functions.call_function("mine", e)),
        ):  # fmt: skip
            assert raises(raising), raising


@pytest.mark.parametrize("functions", [F, of_connect], ids=["classic", "connect"])
def test_patterns_and_places_are_judged_by_their_literals(spark: SparkSession, functions: ModuleType) -> None:
    s, p = functions.col("s"), functions.col("p")
    assert not any(map(raises, [
        s.rlike(r" 5\d\d "), s.like("%a\\%"), s.ilike("a%"), functions.split(s, ",") == p, s.substr(1, 2) == "a",
        functions.regexp_replace(s, "[0-9]+", "#") == "", functions.regexp_like(s, functions.lit("a+")),
        functions.substring(s, 2, 3) == p, functions.locate("a", s) > 1, functions.sha2(s, 256) == "",
        functions.get_json_object(s, "$.a") == "b", functions.try_to_timestamp(s) > p,
    ]))  # fmt: skip
    assert all(map(raises, [
        s.rlike("("), s.rlike("(a|b)*"), functions.rlike(s, p), s.like("a\\"), s.like("a\\b"), functions.like(s, p),
        functions.ilike(s, functions.lit("a"), p), functions.split(s, p) == p,
        functions.regexp_replace(s, p, "a") == "",
        functions.regexp_replace(s, "a", "$1") == "", functions.regexp_replace(s, functions.lit("a"), p) == "",
        functions.regexp_count(s, p) > 1, functions.substr(s, p) == "", s.substr(p, p) == "", functions.hex(s) == "",
        functions.try_to_timestamp(s, p) > p, functions.split(s, ",")[0] == "a", functions.try_element_at(s, p) == 1,
        functions.expr("s rlike p"), functions.expr("10 div s > 1"), functions.from_json(s, "a int")["a"] == 1,
    ]))  # fmt: skip


CALLS = [
    "rlike(s, {t})", "regexp(s, {t})", "regexp_like(s, {t})", "regexp_count(s, {t})", "regexp_replace(s, {t}, {t})",
    "split(s, {t})", "split(s, {t}, {i})", "like(s, {t})", "ilike(s, {t})", "like(s, {t}, {e})", "substring(s, {i})",
    "substring(s, {i}, {i})", "left(s, {i})", "right(s, {i})", "sha2(s, {i})", "instr(s, {t})", "locate({t}, s, {i})",
    "replace(s, {t}, {t})", "translate(s, {t}, {t})", "get_json_object(s, {t})", "concat_ws({t}, s, {t})", "initcap(s)",
    "find_in_set(s, {t})", "try_to_timestamp(s)", "try_cast(s AS INT)", "soundex(s)", "xxhash64(s, {t})",
    "try_url_decode(s)", "try_parse_url(s, {t})", "json_array_length(s)", "json_object_keys(s)", "contains(s, {t})",
]  # fmt: skip
TEXT_ARGUMENTS = ["p", "p", "'a'", "'('", "'%'", "'a+'", "'[a-z]'", "r'\\d'", "r'x\\'", "'$1'", "'(a|b)'", r"r'_\%'"]
WHOLE_ARGUMENTS = ["1", "-3", "0", "2147483647", "3000000000", "l"]


def test_what_is_held_safe_does_not_raise(spark: SparkSession) -> None:
    """Over texts that break what is only almost right; of the same calls others do."""
    r = random.Random(3)
    texts = [*TEXTS, "(", "[a", "a{", "*", "$.a[", "http://%zz"]
    rows = [(s, p, r.choice([0, -1, 2**62])) for s, p in zip([*texts, None], [None, *reversed(texts)], strict=True)]
    df = spark.createDataFrame(rows, "s string, p string, l bigint")
    drawn: set[str] = set()
    for call in CALLS * 6:
        while "{" in call:
            given = {"{t}": TEXT_ARGUMENTS, "{i}": WHOLE_ARGUMENTS, "{e}": ["'/'", "'_'"]}
            slot = call[call.index("{") : call.index("{") + 3]
            call = call.replace(slot, r.choice(given[slot]), 1)
        drawn.add(call)
    safe = [call for call in sorted(drawn) if not raises(F.expr(call))]
    assert len(drawn) > len(safe) > 60
    df.select(*(F.hash(F.expr(call)) for call in safe)).collect()
    with pytest.raises(Exception, match=r"PATTERN|Unclosed|ESC_|OVERFLOW|REPLACE"):
        df.select(*(F.hash(F.expr(call)) for call in drawn.difference(safe))).collect()
