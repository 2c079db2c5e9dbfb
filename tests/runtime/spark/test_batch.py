"""Filters on finished data: the same rows as brute force, what travels, what is counted."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any, TypeGuard

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from tests.runtime.spark.counting import counting, multiple_of, not_multiple_of, rows_shown
from thalweg.adapt import POLICIES, setting_names

ROWS = 30_000

Table = tuple[list[tuple[int, int | None, str | None]], DataFrame]
"""The rows of `table`, and the same as a DataFrame."""


def even(n: int | None) -> bool:
    return n is not None and n % 2 == 0


def has_seven(text: str) -> re.Match[str] | None:
    return re.search("7", text)


def short(text: pa.Array) -> pa.Array:
    return pc.less(pc.utf8_length(text), 6)


def parses(text: str) -> bool:
    return int(text) % 3 != 0  # raises on anything but digits


def digits(text: str | None) -> TypeGuard[str]:
    return text is not None and text.isdigit()


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Table:
    rng = random.Random(7)
    rows = [
        (
            i,
            None if rng.random() < 0.1 else rng.randrange(10**6),
            rng.choice(["", "x", None, str(rng.randrange(10**5))]),
        )
        for i in range(ROWS)
    ]
    return rows, spark.createDataFrame(rows, "id long, n long, text string").repartition(3).cache()


@pytest.mark.parametrize("policy", POLICIES)
def test_the_rows_are_those_of_evaluating_everything(table: Table, policy: str) -> None:
    rows, df = table
    profiling: dict[str, Any] = {"p": 0.5, "profile_window": 50} if "p" in setting_names(policy) else {}
    keep = tw.filters(
        tw.predicate(parses, "text", after=["digits"]),
        tw.predicate(even, "n"),
        tw.predicate(short, "text", vectorized=True),
        tw.predicate(digits, "text"),
        policy=tw.policy(policy, **profiling),
    )
    expected = sorted(i for i, n, text in rows if even(n) and digits(text) and parses(text) and len(text) < 6)
    got = sorted(row.id for row in df.transform(keep).select("id").collect())
    assert got == expected
    assert 0 < len(expected) < ROWS
    section = keep.report().sections[0]
    assert (section.rows, section.kept, section.policy) == (ROWS, len(expected), policy)
    assert sum(p.profile_errors for p in section.predicates) == 0, "a guarded predicate saw what its guard refuses"


def test_only_the_columns_that_are_read_go_to_workers(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    _, df = table
    wide = df.select("*", *(F.lit(f"payload {i}").alias(f"c{i}") for i in range(5)))
    out = wide.transform(tw.filters(tw.predicate(even, "n"), tw.predicate(short, "text", vectorized=True)))
    assert out.schema == wide.schema
    out.explain()
    plan = capsys.readouterr().out
    read = re.search(r"ArrowEvalPython \[filter_chain\(([^)]*)\)", plan)
    assert read is not None, plan
    assert [re.sub(r"#.*", "", c.strip()) for c in read[1].split(",")] == ["n", "text"]


def test_what_is_counted_is_what_the_predicates_saw(spark: SparkSession, tmp_path: Path) -> None:
    tests = {"thirds": multiple_of(3), "not_fifths": not_multiple_of(5), "sevenths": multiple_of(7)}
    keep = tw.filters(
        *(
            tw.predicate(counting(tmp_path, name, test), "id", name=name, vectorized=True)
            for name, test in tests.items()
        ),
        policy="a-greedy(p=0.2, profile_window=100)",
    )
    out = spark.range(0, 50_000, 1, 3).transform(keep)
    assert keep.report().pending == 1, "nothing ran, and asking did not wait"
    assert out.count() == sum(1 for i in range(50_000) if i % 3 == 0 and i % 5 != 0 and i % 7 == 0)
    report = keep.report()
    assert report.pending == 0
    (section,) = report.sections
    for predicate in section.predicates:
        assert predicate.evaluated + predicate.profiled == rows_shown(tmp_path, predicate.name), predicate.name
    assert sum(predicate.profiled for predicate in section.predicates) > 0  # all but the one that always came first
    assert "first action" in section.counted


def test_a_second_action_starts_from_what_the_first_learned(spark: SparkSession, tmp_path: Path) -> None:
    keep = tw.filters(
        tw.predicate(counting(tmp_path, "all_pass", lambda c: pc.greater_equal(c, 0)), "id", vectorized=True),
        tw.predicate(counting(tmp_path, "few_pass", multiple_of(97)), "id", vectorized=True),
        policy="a-greedy(p=0.2)",
    )
    out = spark.range(0, 20_000, 1, 2).transform(keep)
    out.count()
    before = rows_shown(tmp_path, "all_pass")
    out.count()
    second = rows_shown(tmp_path, "all_pass") - before
    # what passes the selective one and the profiled rows, 0.2 of what it drops; the written order would show it all
    assert second < 20_000 * (1 / 97 + 0.25), f"{second} rows: the second action began with the written order again"


def test_two_filter_sets_in_one_query_are_told_apart(spark: SparkSession) -> None:
    one = tw.filters(tw.predicate(multiple_of(2), "id", vectorized=True, name="even"))
    two = tw.filters(tw.predicate(multiple_of(3), "id", vectorized=True, name="thirds"))
    assert spark.range(0, 6_000, 1, 2).transform(one).transform(two).count() == 1_000
    assert [(s.rows, s.kept) for s in one.report().sections] == [(6_000, 3_000)]
    assert [(s.rows, s.kept) for s in two.report().sections] == [(3_000, 1_000)]


def test_one_filter_set_twice_in_one_query(spark: SparkSession) -> None:
    keep = tw.filters(tw.predicate(multiple_of(2), "id", vectorized=True, name="even"))
    out = spark.range(0, 1_000, 1, 2).transform(keep)
    assert out.union(out).count() == 1_000
    assert spark.range(0, 1_000, 1, 2).transform(keep).transform(keep).count() == 500
    assert [s.kept for s in keep.report().sections][-2:] == [500, 500]


def test_an_action_that_is_cut_short_is_still_reported(spark: SparkSession) -> None:
    keep = tw.filters(tw.predicate(multiple_of(2), "id", vectorized=True, name="even"))
    assert len(spark.range(0, 200_000, 1, 2).transform(keep).limit(3).collect()) == 3
    (section,) = keep.report().sections
    assert 0 < section.rows <= 200_000


def test_setup_runs_once_a_worker(spark: SparkSession, tmp_path: Path) -> None:
    import os

    def load() -> int:
        (tmp_path / f"setup-{os.getpid()}-{len(list(tmp_path.iterdir()))}").touch()
        return 5

    keep = tw.filters(tw.predicate(lambda k, n: n % k == 0, "id", name="fifths", setup=load))
    out = spark.range(0, 1_000, 1, 8).transform(keep)
    actions = 5
    for _ in range(actions):
        assert out.count() == 200
    runs = [path.name.split("-")[1] for path in tmp_path.iterdir()]
    assert len(runs) == len(set(runs)), "more than once in a worker process"
    assert 0 < len(runs) < actions * 8, "it ran once a task: no worker was used twice"


def test_event_records_reach_the_file(spark: SparkSession, tmp_path: Path) -> None:
    from tests.runtime.spark.waiting import wait_until
    from thalweg.events import Observed, read
    from thalweg.report import fold

    path = tmp_path / "events" / "run.jsonl"
    keep = tw.filters(
        tw.predicate(multiple_of(1), "id", vectorized=True, name="all"),
        tw.predicate(multiple_of(50), "id", vectorized=True, name="few"),
        policy="a-greedy(p=0.5)",
        events=str(path),
    )
    spark.range(0, 20_000, 1, 2).transform(keep).count()
    wait_until(lambda: any(isinstance(r, Observed) for r in read(path)), "records of the action in the file")
    wait_until(lambda: fold(read(path)).to_dict()["sections"] == keep.report().to_dict()["sections"], "all of them")
    kinds = {record.event for record in read(path)}
    assert kinds == {"observed", "verdict", "switched"}


def test_spark_configuration_is_read(spark: SparkSession) -> None:
    spark.conf.set("spark.thalweg.policy", "static")
    try:
        keep = tw.filters(tw.predicate(multiple_of(2), "id", vectorized=True, name="even"))
        spark.range(10).transform(keep).count()
        assert keep.report().sections[0].policy == "static"
        spark.conf.set("spark.thalweg.policy", "sweeep")
        with pytest.raises(tw.PlanError, match="did you mean 'sweep'"):
            spark.range(10).transform(keep)
    finally:
        spark.conf.unset("spark.thalweg.policy")


def test_a_wrong_column_is_told_before_anything_runs(spark: SparkSession) -> None:
    keep = tw.filters(tw.predicate(even, "idd"))
    with pytest.raises(tw.PlanError, match=r"no column 'idd' \(did you mean 'id'\?\); there are id"):
        spark.range(10).transform(keep)


def test_columns_with_odd_names_and_other_case(spark: SparkSession) -> None:
    df = spark.range(10).select(F.col("id").alias("a.b `c`"), F.col("id").alias("Mixed"))
    keep = tw.filters(tw.predicate(even, "a.b `c`"), tw.predicate(lambda n: n > 3, "mixed", name="large"))
    assert sorted(row[0] for row in df.transform(keep).collect()) == [4, 6, 8]


def test_a_predicate_that_raises_or_returns_nonsense_is_named(spark: SparkSession) -> None:
    cases = {
        "raises_zero": (lambda n: 1 / 0, False, "predicate 'raises_zero' raised ZeroDivisionError"),
        "short_answer": (lambda c: pa.array([True]), True, "predicate 'short_answer' got .* rows and returned 1"),
        "numbers": (lambda c: c, True, "predicate 'numbers' is vectorized and must return an array of booleans"),
    }
    for name, (func, vectorized, message) in cases.items():
        keep = tw.filters(tw.predicate(func, "id", name=name, vectorized=vectorized))
        with pytest.raises(Exception, match=message):
            spark.range(100).transform(keep).collect()


def test_what_is_not_a_dataframe_is_refused() -> None:
    keep = tw.filters(tw.predicate(even, "id"))
    with pytest.raises(tw.PlanError, match=r"not Table; for Arrow data use \.over\(\)"):
        keep(pa.table({"id": [1]}))


def test_an_empty_dataframe(spark: SparkSession) -> None:
    keep = tw.filters(tw.predicate(even, "id"))
    assert spark.range(0).transform(keep).count() == 0
    report = keep.report()
    assert (report.sections, report.pending, report.unobserved) == ((), 0, 1)
    assert "it failed, or read no rows" in str(report)


def test_a_first_action_that_failed_is_told(spark: SparkSession, tmp_path: Path) -> None:
    def fails_once(n: int) -> bool:
        if not (tmp_path / "failed").exists():
            (tmp_path / "failed").touch()
            raise ValueError("the first time")
        return n % 2 == 0

    keep = tw.filters(tw.predicate(fails_once, "id"))
    out = spark.range(10).coalesce(1).transform(keep)
    with pytest.raises(Exception, match="predicate 'fails_once' raised ValueError: the first time"):
        out.count()
    assert out.count() == 5
    assert keep.report().unobserved == 1
    assert spark.range(10).transform(keep).count() == 5
    assert [section.kept for section in keep.report().sections] == [5]


def test_a_file_of_another_version_does_not_fail_the_query(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from thalweg.plan import FilterPlan
    from thalweg.runtime.settings import FilterSettings
    from thalweg.runtime.spark.pickled_plan import PickledPlan
    from thalweg.runtime.spark.worker import ChainTask, _chain, _new_loop

    plan = PickledPlan.of(FilterPlan((tw.predicate(even, "id"), tw.predicate(digits, "id"))))
    task = ChainTask(plan, FilterSettings(tw.policy("a-greedy")), "filters", "identity", "app", streaming=False)
    chain = _chain(task)
    for learned in ({}, {"policy": "a-greedy", "order": [1, 0]}, {"policy": "sweep", "order": [1, 0], "j": 1}):
        assert _new_loop(task, chain, learned).order == (0, 1)
    good = {"policy": "a-greedy", "order": [1, 0], "window": "", "cost_ns": [5.0, None]}
    assert _new_loop(task, chain, good).order == (1, 0)
    assert _new_loop(task, chain, good).cost_ns()[0] == 5.0
