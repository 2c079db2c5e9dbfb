"""Files that tasks write have the columns that Spark's own sink writes, and every reader reads the same values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from tests.runtime.spark.joins.streams import files, rows
from thalweg.runtime.sink.parquet_form import CODECS

COLUMNS = {
    "byte": "cast(id as byte)", "short": "cast(-id as short)", "int": "cast(id * 1000 as int)",
    "float": "float(id / 3)", "double": "if(id = 1, double('NaN'), id / 7)", "small": "cast(id / 3 as decimal(7, 2))",
    "medium": "cast(id / 3 as decimal(15, 3))", "large": "cast(-id / 3 as decimal(30, 5))", "text": "concat('é=', id)",
    "old": "timestamp'1850-03-10 01:02:03.000004' + make_dt_interval(cast(id as int))",
    "bytes": "cast(concat('x', id) as binary)", "day": "date_sub(date'1850-01-01', cast(id as int))",
    "wall": "timestamp_ntz'0900-03-10 01:02:03.000004' + make_dt_interval(cast(id as int))", "flag": "id % 2 = 0",
    "gap": "if(id = 0, null, id)", "list": "array(id, null)", "map": "map('k', id)",
    "group": "named_struct('x', id, 'y', if(id < 0, null, array(if(id < 0, null, named_struct('z', ts)))))",
    "fixed": "named_struct('u', 1, 'v', array(1, 2))", "pair": "array(1, 2)", "letter": "'x'",
    "span": "make_dt_interval(0, cast(id as int))",
}  # fmt: skip
"""By name, from the number and the time of a row."""


def write(
    spark: SparkSession, folder: Path, sink: str, columns: dict[str, str], results: int = 3, **options: Any
) -> Path:
    """Join a stream that has these columns, and return the folder of the results, of which there are so many."""
    streams = files(folder / f"in-{sink}", {"a": [rows([0, 3, 4, *[4] * (results - 3)])], "b": [rows([1])]})
    a: DataFrame = streams["a"].stream(spark).withColumns({name: F.expr(text) for name, text in columns.items()})
    j = tw.join(on="a.k = b.k", window="5 seconds", time="ts", select=["a.*", "b.id"])
    query = j.start(
        path=folder / sink, checkpoint=folder / f"{sink}-checkpoint", trigger="availableNow", sink=sink,
        options=options, a=a, b=streams["b"].stream(spark),
    )  # fmt: skip
    assert query.awaitTermination(120)
    return folder / sink


TIMESTAMPS = "spark.sql.parquet.outputTimestampType"


@pytest.fixture(scope="module", params=["INT96", "TIMESTAMP_MICROS"])
def written(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, Path]:
    """By sink, the files of the same results, with timestamps as Spark's default and as the other setting stores them.
    With its default, tasks do not write TIMESTAMP_NTZ beside TIMESTAMP."""
    folder = tmp_path_factory.mktemp("files")
    columns = {name: text for name, text in COLUMNS.items() if name != "wall" or request.param != "INT96"}
    assert spark.conf.get(TIMESTAMPS) == "INT96", "Spark's default"
    if request.param != "INT96":
        spark.conf.set(TIMESTAMPS, request.param)
    try:
        return {sink: write(spark, folder, sink, columns) for sink in ("tasks", "spark")}
    finally:
        spark.conf.unset(TIMESTAMPS)


def test_timestamps_of_both_kinds_are_written_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(tw.PlanError, match=r"columns of TIMESTAMP and of TIMESTAMP_NTZ, and .*outputTimestampType is"):
        write(spark, tmp_path, "tasks", {"wall": COLUMNS["wall"]})


def unmarked(types: str | bytes) -> Any:
    """Spark's description of columns, without the watermark that the query had on one of them."""
    columns = json.loads(types)["fields"]
    for column in columns:
        column["metadata"].pop("spark.watermarkDelayMs", None)
    return columns


def test_the_columns_of_the_files(written: dict[str, Path]) -> None:
    ours, theirs = (pq.ParquetFile(next(written[sink].glob("*.parquet"))) for sink in ("tasks", "spark"))

    def described(file: Any) -> list[tuple[Any, ...]]:
        columns = [file.schema.column(n) for n in range(len(file.schema))]
        return [
            (c.path, c.physical_type, str(c.logical_type), c.length, c.max_definition_level, c.max_repetition_level)
            for c in columns
        ]

    assert described(ours) == described(theirs)
    version, types = b"org.apache.spark.version", b"org.apache.spark.sql.parquet.row.metadata"
    assert ours.metadata.metadata[version] == theirs.metadata.metadata[version]
    assert unmarked(ours.metadata.metadata[types]) == unmarked(theirs.metadata.metadata[types])
    assert ours.metadata.row_group(0).column(0).compression == "SNAPPY"


def test_every_reader_reads_the_same_values(spark: SparkSession, written: dict[str, Path]) -> None:
    ours, theirs = (spark.read.parquet(str(written[sink])) for sink in ("tasks", "spark"))
    assert unmarked(ours.schema.json()) == unmarked(theirs.schema.json())
    assert str(sorted(ours.collect(), key=lambda row: row.a_id)) == str(
        sorted(theirs.collect(), key=lambda row: row.a_id)
    )
    assert ours.count() == 3
    paths = [f"{written[sink]}/*.parquet" for sink in ("tasks", "spark")]
    database = duckdb.connect()
    seen: list[Any] = [
        database.sql(f"SELECT * FROM read_parquet('{path}') ORDER BY a_id").to_arrow_table() for path in paths
    ]
    assert seen[0].schema == seen[1].schema
    assert str(seen[0].to_pylist()) == str(seen[1].to_pylist())
    frames = [pd.read_parquet(written[sink]).sort_values("a_id") for sink in ("tasks", "spark")]
    assert list(frames[0].dtypes) == list(frames[1].dtypes)
    assert frames[0].to_json() == frames[1].to_json()
    polars = [pl.read_parquet(path).sort("a_id") for path in paths]
    assert polars[0].schema == polars[1].schema
    assert str(polars[0].rows()) == str(polars[1].rows())


STORED = {"none": "UNCOMPRESSED", "lz4_raw": "LZ4"}
"""What pyarrow calls a codec, where it is not Spark's name in capital letters."""


@pytest.mark.parametrize("codec", CODECS)
def test_codecs_and_parts(tmp_path: Path, codec: str) -> None:
    """What is written in parts by a codec is read back."""
    from thalweg.runtime.sink.parquet_form import ParquetForm
    from thalweg.runtime.sink.staged_files import StagedFiles

    table = pa.table({"day": ["x/y", None, "x/y", ""] * 5, "n": range(20)})
    form = ParquetForm(str(tmp_path), table.schema, (), codec, ("day",), max_rows=4)
    writing = StagedFiles(form, "query", 3, 1)
    for batch in table.to_batches(max_chunksize=3):
        writing.write(batch)
    files = writing.close()
    assert [(file.final.partition("/")[0], file.rows) for file in files] == [
        ("day=x%2Fy", 4), ("day=x%2Fy", 4), ("day=x%2Fy", 2), ("day=__HIVE_DEFAULT_PARTITION__", 4),
        ("day=__HIVE_DEFAULT_PARTITION__", 4), ("day=__HIVE_DEFAULT_PARTITION__", 2),
    ]  # fmt: skip
    assert len({file.final for file in files}) == len(files)
    written = [pq.ParquetFile(tmp_path / file.staged) for file in files]
    codecs = {file.metadata.row_group(0).column(0).compression for file in written}
    assert codecs == {STORED.get(codec, codec.upper())}
    numbers = [n for file in written for n in file.read()["n"].to_pylist()]
    assert sorted(numbers) == list(range(20))
    assert all(file.size == (tmp_path / file.staged).stat().st_size for file in files)


@pytest.mark.parametrize(("codec", "level", "other"), [("gzip", 6, 9), ("zstd", 3, 1)])
def test_levels_are_those_of_spark(tmp_path: Path, codec: str, level: int, other: int) -> None:
    from thalweg.runtime.sink.parquet_form import ParquetForm
    from thalweg.runtime.sink.staged_files import StagedFiles

    table = pa.table({"n": np.random.default_rng(7).zipf(1.3, 50_000) % 10**6})
    writing = StagedFiles(ParquetForm(str(tmp_path), table.schema, (), codec), "query", 3, 1)
    writing.write(table.to_batches()[0])
    (file,) = writing.close()

    def size(path: Path) -> int:
        found: int = pq.read_metadata(path).row_group(0).column(0).total_compressed_size
        return found

    sizes = []
    for number in (level, other):
        pq.write_table(table, tmp_path / f"{number}", compression=codec, compression_level=number)
        sizes.append(size(tmp_path / f"{number}"))
    assert sizes[0] != sizes[1]
    assert size(tmp_path / file.staged) == sizes[0]


def test_folders_of_partitions_are_those_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    values = ["a/b", "50%", "{x}", "a b", "é", "k=v:w", r"\\\\", "#1", "x.y", "~"]
    array = ", ".join(["null", "''", *(f"'{value}'" for value in values)])
    columns = {
        "text": f"element_at(array({array}), cast(id as int) + 1)", "flag": "id % 2 = 0",
        "day": "date_add(date'0001-01-01', cast(id * 400000 as int))", "number": "if(id = 3, null, -id)",
    }  # fmt: skip
    by = ["a_text", "a_flag", "a_day", "a_number"]
    found = []
    for sink in ("tasks", "spark"):
        out = write(spark, tmp_path, sink, columns, results=12, partitionBy=by)
        found.append(sorted(str(path.parent.relative_to(out)) for path in out.glob("**/*.parquet")))
        read = spark.read.parquet(str(out))
        assert read.count() == 12
    assert found[0] == found[1]
    assert len(found[0]) == 12


def test_options(spark: SparkSession, tmp_path: Path) -> None:
    columns = {name: COLUMNS[name] for name in ("flag", "day")}
    out = write(
        spark, tmp_path, "tasks", columns, partitionBy=["A_flag", "a_day"], maxRecordsPerFile=1, compression="gzip"
    )
    read = spark.read.parquet(str(out)).orderBy("a_id").select("a_id", "a_flag", F.col("a_day").cast("string"))
    assert [tuple(row) for row in read.collect()] == [
        (0, "true", "1850-01-01"), (1, "false", "1849-12-31"), (2, "true", "1849-12-30"),
    ]  # fmt: skip
    assert {file.name[-11:] for file in out.glob("*/*/*.parquet")} == {".gz.parquet"}
    assert {pq.read_metadata(file).num_rows for file in out.glob("*/*/*.parquet")} == {1}
    path = f"{out}/*/*/*.parquet"
    by_duckdb = f"SELECT a_id, a_day::VARCHAR FROM read_parquet('{path}', hive_partitioning = true) ORDER BY a_id"
    assert duckdb.connect().execute(by_duckdb).fetchall() == [(0, "1850-01-01"), (1, "1849-12-31"), (2, "1849-12-30")]
