"""AND and OR whose later parts see only the rows that the others leave undecided, at any position."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from thalweg.runtime.spark.guarded import all_of, all_true, any_of

ROWS = [(n, x, y) for n, (x, y) in enumerate(itertools.product([None, 0, 1, 2, 3, 4], [None, 0, 1, 5]))]
"""With a zero and a NULL in both columns."""

Truth = bool | None
Row = tuple[int, int | None, int | None]
Part = tuple[str, Callable[[Row], Truth]]
"""SQL, and what it is on a row."""


def quotient(row: Row) -> int | None:
    """10 DIV x, which must not be asked for where x is zero."""
    return None if row[1] is None else 10 // row[1]


def over(f: Callable[..., bool], *read: Callable[[Row], int | None]) -> Callable[[Row], Truth]:
    def evaluate(row: Row) -> Truth:
        values = [r(row) for r in read]
        return None if None in values else f(*values)

    return evaluate


def x(row: Row) -> int | None:
    return row[1]


def y(row: Row) -> int | None:
    return row[2]


GUARDS = [("x <> 0", over(lambda a: a != 0, x)), ("NOT x = 0", over(lambda a: a != 0, x))]
OTHERS = [
    ("y > 0", over(lambda b: b > 0, y)), ("y IS NULL", lambda row: y(row) is None), ("TRUE", lambda _: True),
    ("CAST(NULL AS BOOLEAN)", lambda _: None), ("y + 0 < 5", over(lambda b: b < 5, y)),
]  # fmt: skip
SIDES = over(lambda q: q > 2, quotient), over(lambda q, b: q < b, quotient, y)
RAISING = [
    ("10 DIV x > 2", over(lambda q: q > 2, quotient)), ("10 DIV x < 6", over(lambda q: q < 6, quotient)),
    ("10 DIV x BETWEEN 3 AND 5", over(lambda q: 3 <= q <= 5, quotient)),
    ("10 DIV x > 2 OR 10 DIV x < y", lambda row: either(*(f(row) for f in SIDES))),
]  # fmt: skip


def either(a: Truth, b: Truth) -> Truth:
    return True if a or b else None if a is None or b is None else False


def both(a: Truth, b: Truth) -> Truth:
    return False if a is False or b is False else None if a is None or b is None else True


def negated(part: Part) -> Part:
    text, f = part
    return f"NOT ({text})", lambda row: None if f(row) is None else not f(row)


def conjunction(rng: random.Random) -> list[Part]:
    """Raising parts after a guard; the guard and the others are anywhere before them and between them."""
    raising = rng.sample(RAISING, rng.randrange(1, 4))
    parts = [rng.choice(GUARDS), *raising]
    for other in rng.sample(OTHERS, rng.randrange(3)):
        parts.insert(rng.randrange(len(parts) + 1), other)
    return parts


def decided(
    parts: Sequence[Part], row: Row, decides: bool, combine: Callable[[Truth, Truth], Truth], needs: bool | None
) -> Truth:
    """Brute force from left to right; a part after the one that decides is not evaluated."""
    truth: Truth = not decides
    for _, f in parts:
        if truth is decides or (needs is not None and truth is not needs):
            break
        truth = combine(truth, f(row))
    return truth


FORMS: dict[str, tuple[Callable[[Sequence[Column]], Column], bool, Callable[[Sequence[Part], Row], Truth]]] = {
    "all_true": (all_true, False, lambda parts, row: bool(decided(parts, row, False, both, True))),
    "all_of": (all_of, False, lambda parts, row: decided(parts, row, False, both, None)),
    "any_of": (any_of, True, lambda parts, row: decided(parts, row, True, either, None)),
}
CONFIGURATIONS = {
    "compiled stages": {"spark.sql.codegen.wholeStage": "true"},
    "compiled expressions": {"spark.sql.codegen.wholeStage": "false"},
    "interpreted": {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
}


@contextmanager
def configured(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            assert old is not None
            spark.conf.set(key, old)


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, "id int, x int, y int").repartition(2).localCheckpoint()


def ids(df: DataFrame) -> list[int]:
    return sorted(row.id for row in df.select("id").collect())


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("form", FORMS)
def test_later_parts_see_only_what_earlier_ones_leave_undecided(
    spark: SparkSession, df: DataFrame, form: str, configuration: str
) -> None:
    make, negate, truth = FORMS[form]
    drawn = [conjunction(random.Random(f"{form} {seed}")) for seed in range(4)]
    if negate:
        drawn = [[negated(part) for part in parts] for parts in drawn]
    made = [make([F.expr(text) for text, _ in parts]) for parts in drawn]
    expected = [{row[0]: truth(parts, row) for row in ROWS} for parts in drawn]
    kept = [[n for n, t in truths.items() if t] for truths in expected]
    other = df.select(F.col("id").alias("other"))
    with configured(spark, CONFIGURATIONS[configuration]):
        for column, rows in zip(made, kept, strict=True):
            assert ids(df.filter(column)) == rows
        assert ids(df.filter(made[0] | made[1] | (F.col("y") == 5))) == sorted(
            {*kept[0], *kept[1], *(n for n, _, b in ROWS if b == 5)}
        )
        assert ids(df.join(other, (F.col("id") == F.col("other")) & made[2])) == kept[2]
        assert list(df.agg(*(F.count_if(column) for column in made)).collect()[0]) == [len(rows) for rows in kept]
        grouped = df.groupBy("id").agg(F.max("x").alias("x"), F.max("y").alias("y")).filter(made[3])
        assert ids(grouped) == kept[3]
        if form == "all_true":  # which is not for what follows
            return
        for row in df.select("id", F.struct(*made), F.struct(*(~column for column in made))).collect():
            truths = [truths[row.id] for truths in expected]
            assert (list(row[1]), list(row[2])) == (truths, [None if t is None else not t for t in truths])
        counted = df.groupBy(*(column.alias(f"k{n}") for n, column in enumerate(made))).count().collect()
        keys = [tuple(truths[row[0]] for truths in expected) for row in ROWS]
        assert {tuple(row)[:-1]: row[-1] for row in counted} == {key: keys.count(key) for key in keys}
        assert ids(df.filter(~made[0])) == [n for n in expected[0] if expected[0][n] is False]


def test_a_plain_conjunction_does_not_do_that(df: DataFrame) -> None:
    """If this passes one day, Spark has changed its mind, and `guarded` can go."""
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        df.select(F.expr("x <> 0 AND 10 DIV x > 2 AND 10 DIV x < 6")).collect()


def test_one_part_is_left_alone(spark: SparkSession) -> None:
    assert str(all_of([F.col("a")])) == str(any_of([F.col("a")])) == str(all_true([F.col("a")])) == str(F.col("a"))


def combined(
    f: Callable[[Row], Truth], g: Callable[[Row], Truth], combine: Callable[[Truth, Truth], Truth]
) -> Callable[[Row], Truth]:
    return lambda row: combine(f(row), g(row))


def test_what_is_nested_stays_small(df: DataFrame) -> None:
    """Each part is written once: in a form that writes parts twice, depth 12 has thousands of them."""
    made, expected = F.expr("x <> 0"), over(lambda a: a != 0, x)
    for depth in range(12):
        make, combine = (any_of, either) if depth % 3 == 0 else (all_of, both)
        made = make([made, F.expr(f"10 DIV (x + {depth + 1}) < 9")])
        small = over(lambda a, d=depth: 10 // (a + d + 1) < 9, x)
        expected = combined(expected, small, combine)
    assert str(made).count("x") < 100
    assert {row.id: row[1] for row in df.select("id", made).collect()} == {row[0]: expected(row) for row in ROWS}
