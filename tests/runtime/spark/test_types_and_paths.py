"""Columns of every type of Spark come out of every path as plain Spark writes them, or are refused before anything
runs, in a sentence that names the column and its type."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from tests.drawn_columns import columns
from tests.exact_values import exact_values
from tests.long_run import examples
from tests.runtime.spark.deployments.processes import REPOSITORY
from tests.runtime.spark.spark_types import COLUMNS, NO_ARROW, NO_PARQUET, TYPES
from tests.runtime.spark.type_paths import (
    CHANGED,
    COMPARED,
    EXTREMES,
    GROUPED,
    HERE,
    HERE_FILES,
    HOUR,
    IN_TIME,
    KEYS,
    ONLY_GROUPED_BY_SPARK,
    PATHS,
    REFUSED,
    Rows,
    at,
    come_out,
    joined,
    local_session,
    page_table,
    rows_of,
    sentence,
)
from thalweg.errors import PlanError, SqlError
from thalweg.kernels.columns import nullable_type


@pytest.fixture(scope="module")
def rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rows]:
    before = {name: spark.conf.get(name) or "" for name in CHANGED}
    for name, text in CHANGED.items():
        spark.conf.set(name, text)
    yield Rows(spark, tmp_path_factory.mktemp("types"))
    for name, text in before.items():
        spark.conf.set(name, text)


@pytest.fixture(scope="module")
def plain(rows: Rows) -> pa.Table:
    """The rows as plain Spark writes them."""
    folder = rows.folder / "plain"
    rows.finished([name for name in TYPES if name not in NO_PARQUET]).write.parquet(str(folder))
    return pq.read_table(folder).sort_by("id")


@pytest.mark.parametrize("name", PATHS)
def test_values_come_out_as_plain_spark_writes_them(rows: Rows, plain: pa.Table, name: str, tmp_path: Path) -> None:
    group, path = PATHS[name]
    here = group in (HERE, HERE_FILES)
    names = come_out(group)
    expected = rows.arrow(names).sort_by("id") if here else plain
    found = rows_of(path(rows, names, tmp_path / "out"), tmp_path / "out")
    assert found.column_names == ["id", *(COLUMNS[each] for each in names)]
    assert exact_values(found["id"]) == exact_values(expected["id"])
    for each in names:
        assert exact_values(found[COLUMNS[each]]) == exact_values(expected[COLUMNS[each]]), each


@pytest.mark.parametrize("name", PATHS)
def test_other_types_are_refused_when_the_plan_is_made(rows: Rows, name: str, tmp_path: Path) -> None:
    group, path = PATHS[name]
    for each in REFUSED[group]:
        with pytest.raises(PlanError, match=sentence(group, each, rows.spark)):
            path(rows, [each], tmp_path / "out")


def test_keys_and_conditions_compare_as_spark_does(rows: Rows) -> None:
    """In this process; on Spark the same code compares."""
    names = [name for name in TYPES if name not in (*NO_ARROW, *ONLY_GROUPED_BY_SPARK)]
    a, b = (rows.finished(COMPARED).alias(alias) for alias in "ab")
    pairs = a.crossJoin(b).select(
        F.col("a.id").alias("a"), F.col("b.id").alias("b"),
        *(F.expr(f"a.{c} = b.{c}").alias(f"{c} =") for c in map(COLUMNS.__getitem__, KEYS)),
        *(F.expr(f"a.{c} <= b.{c}").alias(f"{c} <=") for c in map(COLUMNS.__getitem__, COMPARED)),
    ).toArrow()  # fmt: skip
    for name in names:
        column = COLUMNS[name]
        for types, operator, on in (
            (KEYS, "=", f"a.{column} = b.{column}"),
            (COMPARED, "<=", f"a.one = b.one AND a.{column} <= b.{column}"),
        ):
            j, table = joined([], on=on, select=["a.id", "b.id"]), with_one(rows.arrow([name]))
            if name not in types:
                with pytest.raises(PlanError, match=rf"a\.{column} is .*, which cannot be (a join key|compared)"):
                    j.over(a=table, b=table)
                continue
            expected = pairs.filter(pairs[f"{column} {operator}"]).select(["a", "b"])
            found = pa.Table.from_batches(j.over(a=table, b=table)).select([0, 1]).rename_columns(["a", "b"])
            order = [("a", "ascending"), ("b", "ascending")]
            assert found.sort_by(order).to_pylist() == expected.sort_by(order).to_pylist(), name


@pytest.mark.parametrize("name", [*NO_ARROW, *ONLY_GROUPED_BY_SPARK])
def test_what_only_spark_could_compare_is_refused(rows: Rows, name: str) -> None:
    column, df = COLUMNS[name], rows.finished([name])
    kind = re.escape(df.schema[column].dataType.simpleString())
    for on in (f"a.{column} = b.{column}", f"a.id = b.id AND a.{column} <= b.{column}"):
        with pytest.raises(PlanError, match=rf"a\.{column} is {kind}, .*; cast it to a string"):
            joined([], on=on, select=["a.id"])(a=df, b=df)


def with_one(table: pa.Table) -> pa.Table:
    return table.append_column("one", pa.array([1] * len(table)))


def test_groups_are_those_of_spark(rows: Rows) -> None:
    columns = [COLUMNS[name] for name in GROUPED]
    df = rows.finished(GROUPED)
    plain = df.groupingSets([[c] for c in columns], *columns).agg(F.count("*").alias("n"), F.grouping_id().alias("by"))
    expected = plain.toArrow()
    s = local_session(rows, GROUPED)
    for n, column in enumerate(columns):
        by = 2 ** len(columns) - 1 - 2 ** (len(columns) - 1 - n)
        groups = expected.filter(pc.equal(expected["by"], by))
        found = s.query(f"SELECT {column}, count(*) AS n FROM a GROUP BY {column}, TUMBLE(1 HOUR)").dataframe()
        assert counted(found, column) == counted(groups, column), GROUPED[n]
        distinct = s.query(f"SELECT count(DISTINCT {column}) AS n FROM a GROUP BY TUMBLE(1 HOUR)").dataframe()
        assert distinct["n"].to_pylist() == [len(groups) - groups[column].null_count]


def counted(groups: pa.Table, column: str) -> list[tuple[str, int]]:
    return sorted(zip(map(repr, exact_values(groups[column])), groups["n"].to_pylist(), strict=True))


def test_groups_on_spark_and_extremes_are_those_of_spark(rows: Rows) -> None:
    keys = [COLUMNS[name] for name in (*GROUPED, *ONLY_GROUPED_BY_SPARK)]
    values = [COLUMNS[name] for name in EXTREMES]
    df = rows.finished(list(dict.fromkeys((*GROUPED, *ONLY_GROUPED_BY_SPARK, *EXTREMES))))
    by = f"SELECT {', '.join(keys)}, count(*) AS n FROM a GROUP BY {', '.join(keys)}, TUMBLE(1 HOUR)"
    extremes = [f"{word}({column}) AS {word}_{column}" for word in ("min", "max") for column in values]
    text = f"SELECT {', '.join(extremes)} FROM a GROUP BY TUMBLE(1 HOUR)"
    s = tw.session(rows.spark)
    s.stream("a", df, time="ts")
    found, expected = (
        each.toArrow() for each in (s.query(by).dataframe(), df.groupBy(*keys).agg(F.count("*").alias("n")))
    )
    assert sorted(map(repr, exact_rows(found))) == sorted(map(repr, exact_rows(expected)))
    (plain,) = exact_rows(df.selectExpr(*extremes).toArrow())
    assert exact_rows(s.query(text).dataframe().toArrow()) == [plain]
    assert exact_rows(local_session(rows, EXTREMES).query(text).dataframe()) == [plain]


def exact_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(exact_values(column) for column in table.columns), strict=True))


@pytest.mark.parametrize("name", [name for name in TYPES if name not in NO_ARROW])
def test_what_has_no_groups_or_extremes_is_refused(rows: Rows, name: str) -> None:
    s, column = local_session(rows, [name]), COLUMNS[name]
    for types, text, why in (
        (GROUPED, f"SELECT count(*) AS n FROM a GROUP BY {column}, TUMBLE(1 HOUR)", "GROUP BY does not support"),
        (GROUPED, f"SELECT count(DISTINCT {column}) AS n FROM a GROUP BY TUMBLE(1 HOUR)", "cannot be compared"),
        (EXTREMES, f"SELECT min({column}) AS n FROM a GROUP BY TUMBLE(1 HOUR)", "min takes numbers, text and times"),
    ):
        if name in types or name in ONLY_GROUPED_BY_SPARK:
            s.query(text)
        else:
            with pytest.raises(SqlError, match=rf"a\.{column} is [A-Z<]") as caught:
                s.query(text)
            assert why in str(caught.value)


def test_the_page_has_this_table() -> None:
    page = (REPOSITORY / "docs" / "types.md").read_text()
    assert page_table() in page, f"docs/types.md lacks this table:\n{page_table()}"


@pytest.mark.long(sample="test_values_come_out_as_plain_spark_writes_them")
@examples(1, long=10)
@given(st.lists(columns(4), min_size=20, max_size=20))
def test_drawn_columns_come_out_of_joins_of_streams(rows: Rows, drawn: list[pa.Array]) -> None:
    """Files of both sinks have the values of the files that plain Spark writes."""
    folder = rows.folder / uuid.uuid4().hex
    names = {f"c{n}": column for n, column in enumerate(drawn) if not pa.types.is_null(column.type)}
    folder.mkdir()
    stored = {name: column.cast(nullable_type(column.type)) for name, column in names.items()}
    pq.write_table(pa.table({"id": range(4), **stored}), folder / "drawn.parquet")
    read = rows.spark.read.parquet(str(folder / "drawn.parquet"))
    read.write.parquet(str(folder / "in"))
    plain = pq.read_table(folder / "in").sort_by("id")
    a = rows.spark.readStream.schema(read.schema).parquet(str(folder / "in")).withColumn("ts", F.expr(IN_TIME))
    j = tw.join(on="a.id = b.id", window=HOUR, time="ts", select=["a.id", *(f"a.{name}" for name in names)])
    for sink in ("spark", "tasks"):
        query = j.start(**at(folder / sink), sink=sink, a=a, b=rows.stream())
        assert query.awaitTermination(120)
        found = pq.read_table(folder / sink).sort_by("a_id")
        assert exact_values(found["a_id"]) == exact_values(plain["id"])
        for name in names:
            assert exact_values(found[f"a_{name}"]) == exact_values(plain[name]), (sink, names[name].type)


def test_folders_of_partitions_are_those_of_spark(rows: Rows, tmp_path: Path) -> None:
    """Of far dates, and of text that is not UTF-8; without the text with NUL, which no disk has in a name."""
    names = ["DATE", "STRING", "TINYINT", "BOOLEAN"]
    by = [COLUMNS[name] for name in names]
    named = [COLUMNS[name] if name != "STRING" else f"translate({COLUMNS[name]}, char(0), '') AS s" for name in names]
    a, finished = (df.selectExpr("id", "ts", *named) for df in (rows.stream(names), rows.finished(names)))
    by[1] = "s"
    finished.drop("ts").write.partitionBy(*by).parquet(str(tmp_path / "plain"))
    j = tw.join(on="a.id = b.id", window=HOUR, time="ts", select=["a.id", *(f"a.{name}" for name in by)])
    options = {"partitionBy": [f"a_{name}" for name in by]}
    query = j.start(**at(tmp_path / "out"), sink="tasks", options=options, a=a, b=rows.stream())
    assert query.awaitTermination(120)
    assert folders(tmp_path / "out") == folders(tmp_path / "plain")


def folders(place: Path) -> list[str]:
    """The folders of files, with the names of the columns of the source."""
    found = {str(file.parent.relative_to(place)) for file in place.rglob("part-*.parquet")}
    return sorted(each.removeprefix("a_").replace("/a_", "/") for each in found)
