"""RLIKE and LIKE match the same texts here and on Spark, or the pattern is refused. Java is the reference."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import thalweg as tw
from tests.kernels.expressions.random_patterns import TEXTS, PatternWriter, random_patterns
from thalweg.kernels.expressions import evaluate
from thalweg.plan.expressions.expression import Ref, Value
from thalweg.plan.expressions.functions import typed
from thalweg.plan.expressions.re2_text import is_portable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ACCEPTED = [
    ".", "a.b", "^.$", "^.*$", "a.c$", "(?s)a.b", "(?s:.)$", "(?s).$", "a$", "a\\Z", "a\\z", "\\Aa", "^$", "^\\s*$",
    "\\s", "\\s$", "^\\s$", "\\S$", "a\\sb", "\\s+$", "[\\s]$", "\\W$", "\\D$", "[^a]$", "[^a-z\n]$", "(\\s|a)+$",
    "\\d", "^\\d+\\s*$", "\\w", "^\\w+$", "\\h", "\\v", "\\V", "[\\h\\v]", "a|b$", "(a$|b)", "(?i)k", "(?i)s",
    "(?i)ß", "(?i)É", "(?i)[a-k]", "(?i)[^k]", "(?i)s|[!-~]", "(?i)[x-z]|k", "a(?i)b|c", "(?i:a)b", "(?-i)a",
    "(?is)a.b", "[.]", "[$]", "[a-]", "[-a]", "[\\w.-]", "[\\]a]", "[^\\]a]", "[a\\[]", "[&]", "[\\x41-\\x{43}]",
    "\\x{1F600}", "\\u0061", "😀", "a.b", "^.{3}$", "[😀-😂]", "[^😀]", "\\p{Lower}", "\\P{Punct}", "[\\p{Alpha}_]",
    "\\p{Space}$", "\\Qa.b\\E", "\\Q[\\E+", "\\Qa", "\\x00", "\x00", "a\x00b", "a{2}", "a{0}", "(a|b){2,}?c", "(ab)*",
    "(?<name>a)b", "()", "(|a)b", "(a*)*b", "a||b", "", "\\.", "\\é", "\\-", "\\_", "}", "]", "\\{", "\\a", "\\e",
    "\\t", "abcdefghij", "a😀bcdefghij", "a{1000}", "#", " ",
]  # fmt: skip
REFUSED = {
    "\\b": ("word\\b", "(^|\\W)word(\\W|$)"), "\\B": ("a\\Bb", "a\\w"), "\\R": ("a\\R", "a(\\r\\n|[\\n\\r])"),
    "\\X": ("\\X", "."), "\\G": ("\\Ga", "\\Aa"), "\\N": ("\\N{DIGIT ONE}", "\\x{1F600}"), "\\C": ("a\\C", "a."),
    "\\k": ("(?<n>a)\\k<n>", "aa"), "\\c": ("\\cA", "\\x01"), "\\0": ("\\012", "\\x0a"), "\\1": ("(a)\\1", "aa"),
    "\\p": ("\\p{L}", "[A-Za-zÀ-ÿ]"), "\\P": ("\\PL", "[^A-Za-zÀ-ÿ]"), "\\E": ("a\\E", "a\\\\E"),
    "\\p{Lower}": ("(?i)\\p{Lower}", "(?i)\\p{Alpha}"), "\\Q": ("a\\Q\\E", "a"), "\\y": ("\\y", "y"),
    "(?=": ("a(?=b)", "a"), "(?!": ("a(?!b)", "a"), "(?<=": ("(?<=a)b", "b"), "(?<!": ("(?<!a)b", "b"),
    "(?>": ("(?>a+)b", "(?:a+)b"), "(?P": ("(?P<n>a)", "(?<n>a)"), "(?#": ("a(?#no)b", "ab"),
    "(?*": ("(?*a)", "(?:a)"), "flag m": ("(?m)^a", "(^|[\\n\\r])a"), "flag x": ("(?x)a b", "ab"),
    "flag u": ("(?iu)é", "[éÉ]"), "flag U": ("(?U)\\w", "[A-Za-zÀ-ÿ]"), "flag d": ("(?d).", "[^\\n]"),
    "flag q": ("(?q)a", "(?i)a"), "+": ("a++", "a+"), "*": ("a**", "(?:a*)*"), "{": ("a{,2}", "a{0,2}"),
    "{2001}": ("a{2001}", "a{1000}"), "{3,2}": ("a{3,2}", "a{2,3}"), "?": ("?a", "\\?a"),
    "repeats a position": ("^*a", "^a"), "[": ("[a[b]]", "[a\\[b]"), "[:": ("[[:alpha:]]", "\\p{Alpha}"),
    "&&": ("[a&&b]", "[a\\&\\&b]"), "]": ("[]a]", "[\\]a]"), "^": ("[a^b]", "[a\\^b]"), "-": ("[\\w-z]", "[\\w\\-z]"),
    "is not a range": ("[z-a]", "[a-z]"), "never closed": ("(a", "(a)"), "closes no group": ("a)", "a\\)"),
    "\\": ("a\\", "a\\\\"), "[a": ("[a", "[a]"), "\\x": ("\\x4", "\\x41"), "\\u": ("\\u12", "\\x{12}"),
    "\\uD83D": ("\\uD83D\\uDE00", "\\x{1F600}"), "$": ("a$b", "a\\zb"), "carriage return": ("(a|\\s)$", "(a|\\s)\\z"),
    "name of two groups": ("(?<n>a)(?<n>b)", "(?<n>a)(?<m>b)"),
        "nested": ("(" * 101 + ")" * 101, "(" * 100 + ")" * 100), "too large": ("((a{1000}){1000}){1000}", "a{1000}"),
    "[\\v-]": ("[\\v-]", "[\\v\\-]"),
}  # fmt: skip
"""By a part of the message: a refused pattern, and what to write instead."""
TEXT = Ref("s", "s", pa.string())


def here(function: str, patterns: Sequence[Sequence[str]]) -> list[list[bool]]:
    """Return what the kernels match in every text."""
    values = pa.array(TEXTS)
    found = []
    for pattern in patterns:
        expression = typed(function, [TEXT, *(Value(part, pa.string()) for part in pattern)], pytest.fail)
        found.append(evaluate(expression, lambda ref: values, len(values), {}).to_pylist())
    return found


def there(spark: SparkSession, function: str, patterns: Sequence[Sequence[str]]) -> list[list[bool]]:
    """Return what Spark matches, in one job; escapes of LIKE are literals there."""
    from pyspark.sql import functions as F

    texts, given = F.array(*(F.lit(text) for text in TEXTS)), pa.array([pattern[0] for pattern in patterns])
    escapes = sorted({tuple(pattern[1:]) for pattern in patterns})

    def found(escape: tuple[str, ...]) -> Any:
        return F.transform(texts, lambda text: F.call_function(function, text, F.col("p"), *map(F.lit, escape)))

    number = pa.array([escapes.index(tuple(pattern[1:])) for pattern in patterns])
    made: Any = F
    for n, escape in enumerate(escapes):
        made = made.when(F.col("e") == n, found(escape))
    rows = spark.createDataFrame(pa.table({"n": range(len(given)), "p": given, "e": number})).select(
        "n", made.alias("f")
    )
    return [row.f for row in sorted(rows.collect(), key=lambda row: row.n)]


def compare(spark: SparkSession, function: str, patterns: Sequence[Sequence[str]]) -> None:
    for pattern, ours, theirs in zip(patterns, here(function, patterns), there(spark, function, patterns), strict=True):
        assert ours == theirs, (pattern, [t for t, a, b in zip(TEXTS, ours, theirs, strict=True) if a != b])


def test_regular_expressions_find_what_java_finds(spark: SparkSession) -> None:
    patterns = [*ACCEPTED, *(remedy for _, remedy in REFUSED.values()), *random_patterns(random.randrange(2**32), 400)]
    compare(spark, "rlike", [(pattern,) for pattern in patterns])


def test_most_random_patterns_are_accepted() -> None:
    writer = PatternWriter(random.Random(1))
    share = sum(is_portable(writer.write()) for _ in range(1000)) / 1000
    assert 0.6 < share < 0.97


def like_patterns(seed: int, count: int) -> list[tuple[str, str]]:
    """Return LIKE patterns with their escapes."""
    from thalweg.plan.expressions.like_pattern import like_parts

    chance = random.Random(seed)
    found = {("", "\\"), ("%", "\\"), ("_", "%")}
    while len(found) < count:
        escape = chance.choice("\\\\\\!a.%_")
        letters = [
            "%", "%", "_", "_", "a", "b", "😀", "é", "e\u0301", "\n", "\r", "\x00", ".", "*", "[", "(", "$", "^", "K",
            "\u212a", "本", "\x85", "{", "E", "Q", "|", *(escape + sign for sign in ("%", "_", escape)),
        ]  # fmt: skip
        pattern = "".join(chance.choice(letters) for _ in range(chance.randint(0, 5)))
        try:
            like_parts(pattern, escape)
        except ValueError:
            continue
        found.add((pattern, escape))
    return sorted(found)


def test_like_finds_what_spark_finds(spark: SparkSession) -> None:
    compare(spark, "like", like_patterns(random.randrange(2**32), 500))


def query(session: Any, pattern: str) -> Any:
    return session.query("SELECT s FROM t WHERE s RLIKE :p", args={"p": pattern})


@pytest.fixture(scope="module")
def session() -> Any:
    s = tw.session()
    s.stream("t", pa.table({"ts": [datetime(2026, 1, 1)] * len(TEXTS), "s": TEXTS}), time="ts")
    return s


@pytest.mark.parametrize("what", REFUSED)
def test_what_differs_is_refused_with_a_remedy_that_works(session: Any, what: str) -> None:
    pattern, remedy = REFUSED[what]
    with pytest.raises(tw.SqlError) as caught:
        query(session, pattern)
    assert (caught.value.line, caught.value.column) == (1, 23)
    assert what in caught.value.sentence or what == "[\\v-]"
    assert re.search("; (write|remove|put|choose) ", caught.value.sentence)
    query(session, remedy).dataframe()


def test_half_of_a_surrogate_pair_is_not_portable() -> None:
    assert not is_portable("a\ud83d")
    assert is_portable(r"a\x{1F600}")


def test_what_a_remedy_names_is_accepted() -> None:
    """Tests remedies that are patterns themselves."""
    from thalweg.plan.expressions.regex_subset import _ESCAPES, _FLAGS

    words = [remedy for _, remedy in _ESCAPES.values()] + list(_FLAGS.values())
    named = [word.strip(",") for remedy in words for word in remedy.split() if set(word) & set("\\[(.")]
    assert len(named) > 15
    assert [word for word in named if not is_portable(word)] == []


def test_both_runtimes_of_a_query(spark: SparkSession, session: Any) -> None:
    on_spark = tw.session(spark)
    on_spark.stream("t", spark.createDataFrame(pa.table({"ts": [datetime(2026, 1, 1)] * len(TEXTS), "s": TEXTS})), "ts")
    patterns = ["a.b", "\\s", "(?i)k", "a$", "[^a]$", "\\v", "\\Qa.b\\E"]
    text = f"SELECT s, {', '.join(f's RLIKE :p{n} AS c{n}' for n in range(len(patterns)))} FROM t"
    args = {f"p{n}": pattern for n, pattern in enumerate(patterns)}
    tables = [session.query(text, args=args).dataframe(), on_spark.query(text, args=args).dataframe().toArrow()]
    ours, theirs = ({row.pop("s"): row for row in table.to_pylist()} for table in tables)
    assert ours == theirs
