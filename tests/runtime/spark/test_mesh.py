"""Policy mesh on Spark: the rows of brute force, whatever happens to workers and micro-batches; only what is needed
goes to workers."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from tests.runtime.spark.classified_rows import ROWS, SCHEMA, adopted, evaluations, mesh, passing, rows_of
from tests.runtime.spark.counting import processes
from tests.runtime.spark.test_replay import forget_last_commit
from tests.runtime.spark.test_stream import alive, finish, ids, start
from tests.runtime.spark.waiting import wait_until
from thalweg.errors import PlanError

MOST_FILES = 12
"""The files after which a mesh must have been adopted. One is enough unless measurements are disturbed."""


def test_a_mesh_on_finished_data(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = rows_of(0, 2 * ROWS)
    pq.write_table(table, tmp_path / "rows.parquet")
    df = spark.read.schema(SCHEMA).parquet(str(tmp_path / "rows.parquet")).repartition(3)
    keep = mesh(tmp_path / "seen", "first", "source")
    out = df.transform(keep)
    assert sorted(row.id for row in out.select("id").collect()) == passing(table, "first")
    assert adopted(keep, "source")
    (section,) = keep.report().sections
    assert sum(p.evaluated + p.profiled for p in section.predicates) == evaluations(tmp_path / "seen")
    assert out.schema == df.schema
    out.explain()
    plan = capsys.readouterr().out
    read = re.search(r"ArrowEvalPython \[filter_chain\(([^)]*)\)", plan)
    assert read is not None, plan
    assert [re.sub(r"#.*", "", c.strip()) for c in read[1].split(",")] == ["first", "source"]
    mesh_view = section.mesh
    assert mesh_view is not None
    assert str(mesh_view) in str(keep.explain())
    shared = Path(tempfile.gettempdir(), f"thalweg-{os.getuid()}", str(spark.sparkContext.applicationId))
    given = [path for path in shared.glob("*.tuples") if '"values":' in path.read_text()]
    assert given, "workers share profiled rows with their sources"
    assert {oct(path.stat().st_mode & 0o777) for path in given} == {"0o600"}


def test_two_meshes_a_killed_worker_and_a_replayed_batch(spark: SparkSession, tmp_path: Path) -> None:
    folders = {"first": tmp_path / "seen", "second": tmp_path / "seen too"}
    one, two = mesh(folders["first"], "first", "source"), mesh(folders["second"], "second", "kind")
    tables: list[pa.Table] = []

    def add_file() -> None:
        tables.append(rows_of(len(tables) * ROWS))
        (tmp_path / "in").mkdir(exist_ok=True)
        pq.write_table(tables[-1], tmp_path / f"{len(tables)}")
        (tmp_path / f"{len(tables)}").rename(tmp_path / "in" / f"part-{len(tables):03}.parquet")

    def both() -> DataFrame:
        read = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        return read.transform(one).transform(two).select("id")

    def all_reported() -> bool:
        seen: int = sum(section.rows for section in one.report().sections)
        return seen == ROWS * len(tables)

    add_file()
    query = start(both(), tmp_path, "out")
    try:
        query.processAllAvailable()
        wait_until(all_reported, "the first file is reported")
        while not (adopted(one, "source") and adopted(two, "kind")):  # on a busy machine one file may not be enough
            assert len(tables) < MOST_FILES, f"no mesh after {len(tables)} files: {one.report()} {two.report()}"
            add_file()
            query.processAllAvailable()
            wait_until(all_reported, "one more file is reported")
        old = {pid for column, seen in folders.items() for k in range(4) for pid in processes(seen, f"{column}{k}")}
        for pid in old:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(alive(pid) for pid in old), "the workers are gone")
        time.sleep(0.5)  # until Spark's daemon has noticed
        before = evaluations(folders["first"])
        add_file()
        query.processAllAvailable()
    finally:
        query.stop()
    # by class 1 + 0.4 + 0.38 + 0.37 evaluations per row, 3.1 in any single order
    assert evaluations(folders["first"]) - before < 2.6 * ROWS, "the new worker began without the mesh"
    forget_last_commit(tmp_path / "out-checkpoint")
    add_file()
    finish(start(both(), tmp_path, "out"))
    assert ids(spark, tmp_path / "out") == passing(pa.concat_tables(tables), "first", "second")


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ("sorce", r"classify_by: there is no column 'sorce' \(did you mean 'source'\?\)"),
        ("tags", "classify_by: column 'tags' has the type array<string>, and rows are classified by text"),
        ("point", "classify_by: column 'point' has the type struct<a:int>"),
        ("map", "classify_by: column 'map' has the type map<string,int>"),
    ],
)
def test_wrong_classifiers_are_refused_at_once(spark: SparkSession, column: str, sentence: str) -> None:
    df = spark.range(4).select(
        "id", F.lit("web").alias("source"), F.array(F.lit("a")).alias("tags"),
        F.struct(F.lit(1).alias("a")).alias("point"), F.create_map(F.lit("a"), F.lit(1)).alias("map"),
    )  # fmt: skip
    keep = tw.filters(
        tw.predicate(lambda i: i > 1, "id", name="above"), tw.predicate(lambda i: i < 3, "id", name="below"),
        policy="mesh", classify_by=[column],
    )  # fmt: skip
    with pytest.raises(PlanError, match=sentence):
        df.transform(keep)


def test_classifiers_of_every_plain_type(spark: SparkSession) -> None:
    df = spark.sql(
        "SELECT id, 'web' AS text, cast('a' AS char(3)) AS fixed, X'00' AS bytes, true AS flag, 1.5D AS number, "
        "cast(2 AS decimal(9, 2)) AS exact, current_date() AS day, current_timestamp() AS at, "
        "cast('2026-01-01' AS timestamp_ntz) AS plain, NULL AS nothing FROM range(6)"
    )
    keep = tw.filters(
        tw.predicate(lambda i: i > 1, "id", name="above"), tw.predicate(lambda i: i < 4, "id", name="below"),
        policy="mesh", classify_by=df.columns,
    )  # fmt: skip
    assert sorted(row.id for row in df.transform(keep).collect()) == [2, 3]
