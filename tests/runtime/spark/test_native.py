"""Native predicates: the same rows in every order, before rows travel, pushed down, reordered when a query starts."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import thalweg as tw
from tests.runtime.spark.native_lines import predicates, table
from tests.runtime.spark.waiting import wait_until
from thalweg.events import NativeObserved, read
from thalweg.report import Section, fold
from thalweg.report.native_part import NativePart

Lines = tuple[pa.Table, DataFrame, DataFrame, Path]
"""The rows, a cached DataFrame of them, one that reads the file, and the file."""


@pytest.fixture(scope="module")
def lines(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lines:
    path = tmp_path_factory.mktemp("native") / "lines.parquet"
    data = table()
    pq.write_table(data, path, row_group_size=2_000)
    return data, spark.read.parquet(str(path)).repartition(3).cache(), spark.read.parquet(str(path)), path


def physical(df: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    df.explain()
    return capsys.readouterr().out


def ids(df: DataFrame) -> list[int]:
    return sorted(row.id for row in df.select("id").collect())


def native_part(section: Section) -> NativePart:
    assert section.native is not None
    return section.native


@pytest.mark.parametrize("seed", range(6))
def test_the_rows_are_those_of_another_engine_in_every_order(lines: Lines, seed: int) -> None:
    data, df, *_ = lines
    rng = random.Random(seed)
    chosen = rng.sample(sorted(predicates().items()), rng.randrange(2, 7))
    keep = tw.filters(
        *(tw.predicate(column, name=name) for name, (column, _) in chosen),
        *([tw.predicate(lambda n: n % 3 == 0, "id", name="thirds")] if seed % 2 else []),
        policy="a-greedy(p=0.3)",
    )
    where = " AND ".join(f"coalesce(({sql}), false)" for _, (_, sql) in chosen) + (
        " AND id % 3 = 0" if seed % 2 else ""
    )
    assert data.num_rows > 0
    found = duckdb.sql(f"SELECT id FROM data WHERE {where} ORDER BY id")
    assert found is not None
    expected = [row[0] for row in found.fetchall()]
    for _ in range(3):  # the second and third time in the order that was learned
        assert ids(df.transform(keep)) == expected
    assert df.transform(keep).columns == df.columns


def test_natives_come_before_python(lines: Lines, capsys: pytest.CaptureFixture[str]) -> None:
    data, df, *_ = lines
    keep = tw.filters(
        tw.predicate(lambda p: p.startswith("{"), "payload", name="braces", after="payload is not null"),
        F.col("payload").isNotNull(),
        F.col("size") > 300,
    )
    out = df.transform(keep)
    plan = physical(out, capsys)
    before = plan[plan.index("ArrowEvalPython") :]  # what is evaluated first is printed below
    assert re.search(r"Filter .*isnotnull\(payload#.*size#\d+L > 300", before), plan
    got = ids(out)
    rows = [r for r in data.to_pylist() if r["payload"] is not None and (r["size"] or 0) > 300]
    assert got == [r["id"] for r in rows if r["payload"].startswith("{")]
    (section,) = keep.report().sections
    assert section.rows == len(rows)
    assert "rows that passed the native predicates" in section.counted
    assert section.native is not None
    assert [p.name for p in section.native.predicates] == ["payload is not null", "size > 300"]
    assert all(p.selectivity is None for p in section.native.predicates), "nothing to learn, so nothing was sampled"


def test_natives_alone_need_no_python(lines: Lines, capsys: pytest.CaptureFixture[str]) -> None:
    data, df, *_ = lines
    keep = tw.filters(F.col("size") > 300, F.col("line").rlike("7"), F.col("payload").isNotNull())
    out = df.transform(keep)
    plan = physical(out, capsys)
    assert "Python" not in plan
    assert "CollectMetrics" not in plan, "with one dear predicate there is nothing to learn"
    assert ids(out) == [
        r["id"] for r in data.to_pylist() if (r["size"] or 0) > 300 and "7" in (r["line"] or "") and r["payload"]
    ]
    assert "native predicates only" in str(keep.report())
    assert "size &gt; 300: comparison, cost 1" in keep.report()._repr_html_()


@pytest.mark.parametrize("dear", [1, 2, 3])
def test_what_parquet_can_evaluate_is_pushed_down(
    lines: Lines, spark: SparkSession, capsys: pytest.CaptureFixture[str], dear: int
) -> None:
    _, _, files, _ = lines
    patterns = [F.col("line").rlike(p) for p in (" 500", "7", "[13]")][:dear]
    out = files.transform(tw.filters(*patterns, F.col("size") > 300, F.col("payload").startswith("{")))
    spark.conf.set("spark.sql.maxMetadataStringLength", 1_000)  # the list is cut off after 100 letters
    try:
        plan = physical(out.select("id"), capsys)
    finally:
        spark.conf.unset("spark.sql.maxMetadataStringLength")
    assert ("CollectMetrics" in plan) is (dear > 1)
    pushed = re.search(r"PushedFilters: \[(.*?)\]", plan)
    assert pushed is not None, plan
    assert "GreaterThan(size,300)" in pushed[1]
    assert "StringStartsWith(payload,{)" in pushed[1]
    schema = re.search(r"ReadSchema: struct<(.*?)>", plan)
    assert schema is not None
    assert "code" not in schema[1], "columns nobody reads are still left out"


def test_the_conjuncts_stand_in_the_order_of_the_report(lines: Lines, capsys: pytest.CaptureFixture[str]) -> None:
    _, df, *_ = lines
    keep = tw.filters(*(F.col("line").rlike(p) for p in ("GET", "item", " 500$", "/")), policy="a-greedy(p=0.5)")
    df.transform(keep).count()
    keep.report()
    out = df.transform(keep)
    plan = physical(out, capsys)
    conjuncts = re.search(r"Filter \(__thalweg_marked\S* OR (.*)\)", plan)
    assert conjuncts is not None
    assert re.findall(r"RLIKE\(line#\d+, ([^)]*)\)", conjuncts[1])[0] == " 500$"
    out.count()
    native = keep.report().sections[-1].native
    assert native is not None
    assert native.order[0] == "line rlike ' 500$'"
    assert "line rlike ' 500$' drops" in native.reason
    (reorder,) = native.reorders
    assert native.reason in reorder
    shown = next(p for p in native.predicates if p.position == 1)
    assert shown.selectivity == pytest.approx(0.225, abs=0.02)
    assert shown.sampled == pytest.approx(0.5 * 20_000, rel=0.1)
    assert keep.report().to_dict()["sections"][-1]["native"]["order"] == list(native.order)


def test_a_guarded_native_never_sees_what_its_guard_refuses(lines: Lines) -> None:
    data, df, *_ = lines
    # in ANSI mode, the default, a cast of other text fails the query
    digits, number = F.col("code").rlike("^[0-9]+$"), F.col("code").cast("int") > 10
    for second in (number, tw.predicate(number, name="number", after="code rlike '^[0-9]+$'")):
        keep = tw.filters(
            F.col("line").rlike("7"),
            digits,
            F.get_json_object("payload", "$.user") == "3",
            second,
            policy="a-greedy(p=0.9)",
        )
        for _ in range(2):
            out = ids(df.transform(keep))
        assert out == [
            r["id"]
            for r in data.to_pylist()
            if "7" in (r["line"] or "") and r["code"] == "12" and r["payload"] == '{"user": 3}'
        ]
        assert keep.learn(df, share=1.0, rows=5_000) == 5_000
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        df.filter(number).count()


def test_the_policy_written_keeps_the_order_and_samples_nothing(
    lines: Lines, capsys: pytest.CaptureFixture[str]
) -> None:
    _, df, *_ = lines
    keep = tw.filters(F.col("line").rlike("7"), F.col("line").rlike(" 500"), F.col("size") > 3, policy="static")
    out = df.transform(keep)
    plan = physical(out, capsys)
    assert "CollectMetrics" not in plan
    assert plan.index("RLIKE(line") < plan.index("> 3")


def dear_first(**settings: Any) -> tw.Filters:
    return tw.filters(
        tw.predicate(F.col("line").rlike("GET"), name="all_pass"),
        tw.predicate(F.col("line").rlike("00000"), name="few_pass"),
        **settings,
    )


def test_an_earlier_runs_events_give_the_order_to_start_with(lines: Lines, tmp_path: Path) -> None:
    _, df, *_ = lines
    events = tmp_path / "events.jsonl"
    df.transform(dear_first(events=events, policy="a-greedy(p=0.5)")).count()
    wait_until(lambda: any(isinstance(r, NativeObserved) for r in read(events)), "the sample in the file")
    again = dear_first(events=events)
    explained = str(again.explain(df))
    assert explained.index("few_pass") < explained.index("all_pass"), "explain knows what the next start will do"
    df.transform(again).count()
    (section,) = again.report().sections
    assert section.native is not None
    assert section.native.order == ("few_pass", "all_pass")
    fresh = dear_first()
    df.transform(fresh).count()
    assert native_part(fresh.report().sections[0]).order == ("all_pass", "few_pass")
    wait_until(lambda: len(fold(read(events)).sections) == 2, "both runs in the file")
    assert fold(read(events)).sections[1] == section


def test_a_sample_of_finished_data_gives_the_order_to_start_with(lines: Lines, spark: SparkSession) -> None:
    _, df, *_ = lines
    keep = dear_first()
    assert 100 < keep.learn(df, share=0.1) < 3_000
    df.transform(keep).count()
    assert native_part(keep.report().sections[0]).order == ("few_pass", "all_pass")
    assert tw.filters(F.col("size") > 3).learn(df) == 0
    with pytest.raises(tw.PlanError, match="a batch DataFrame, not a stream"):
        keep.learn(spark.readStream.format("rate").load())
    with pytest.raises(tw.PlanError, match="share=0"):
        keep.learn(df, share=0)
    with pytest.raises(tw.PlanError, match="not list"):
        keep.learn([])


def stream(spark: SparkSession, folder: Path, drift: bool = False) -> DataFrame:
    folder.mkdir()
    data = table(4_000)
    for number in range(4):
        part = data
        if drift and number >= 2:
            lines = [None if line is None else f"PUT {line[4:]} 00000" for line in data["line"].to_pylist()]
            part = data.set_column(2, "line", [lines])
        pq.write_table(part, folder / f"part-{number}.parquet")
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def finish(query: StreamingQuery) -> None:
    try:
        query.processAllAvailable()
    finally:
        query.stop()


def test_inside_for_each_batch_the_order_is_carried_over(spark: SparkSession, tmp_path: Path) -> None:
    keep = dear_first(policy="a-greedy(p=0.5)")
    kept: list[int] = []

    def each(batch: DataFrame, number: int) -> None:
        kept.append(batch.transform(keep).count())

    finish(
        stream(spark, tmp_path / "in", drift=True).writeStream.foreachBatch(each)
        .option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    )  # fmt: skip
    orders = [native_part(section).order for section in keep.report().sections]
    learned, turned = ("few_pass", "all_pass"), ("all_pass", "few_pass")
    assert orders == [turned, learned, learned, turned], "from the third on all_pass drops and few_pass does not"
    assert len(kept) == 4
    assert kept[2:] == [0, 0]


def test_a_stream_learns_for_its_next_start(spark: SparkSession, tmp_path: Path) -> None:
    keep = dear_first(policy="a-greedy(p=0.5)")
    source = stream(spark, tmp_path / "in")
    for name in ("one", "two"):
        finish(
            source.transform(keep).writeStream.format("parquet").option("path", str(tmp_path / name))
            .option("checkpointLocation", str(tmp_path / f"{name}-checkpoint")).start()
        )  # fmt: skip
        at = 1 if name == "one" else 2

        def observed(at: int = at) -> bool:
            return len(keep.report().sections) == at

        wait_until(observed, "what the query observed")
        wait_until(
            lambda: native_part(keep.report().sections[-1]).predicates[0].sampled > 7_000, "all its micro-batches"
        )
    first, second = (native_part(section) for section in keep.report().sections)
    assert (first.order, second.order) == (("all_pass", "few_pass"), ("few_pass", "all_pass"))
    one, two = (ids(spark.read.parquet(str(tmp_path / name))) for name in ("one", "two"))
    assert (
        one == two == ids(spark.read.parquet(str(tmp_path / "in")).filter("line rlike '00000' and line like '%GET%'"))
    )


def test_python_udfs_are_refused_also_by_their_registered_name(spark: SparkSession) -> None:
    udf = F.udf(lambda n: n > 1, "boolean")
    with pytest.raises(tw.PlanError, match="is a Python UDF"):
        tw.filters(udf("id"))
    spark.udf.register("registered", udf)
    with pytest.raises(tw.PlanError, match="'more_than_one' calls a Python UDF"):
        spark.range(5).transform(tw.filters(tw.predicate(F.expr("registered(id)"), name="more_than_one")))
    with pytest.raises(tw.PlanError, match="is not deterministic"):
        spark.range(5).transform(tw.filters(F.expr("input_file_name() = ''")))
