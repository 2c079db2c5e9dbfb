"""The paths that rows of Spark can take, each for any types of columns in one query; what is refused on which path; and
both as the table of docs/types.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from tests.runtime.spark.spark_types import COLUMNS, NO_ARROW, NO_PARQUET, ROWS, TYPES, value

NOW = {"availableNow": True}
ZONE = "America/New_York"
HOUR = "1 hour"
IN_TIME, NO_TIME = "timestamp'2024-03-10 12:00:00Z'", "cast(null as timestamp)"


CHANGED = {
    "spark.sql.timeType.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # so that one file may have both types of timestamps
    "spark.sql.variant.writeShredding.enabled": "false",  # else the columns of a file depend on its values
}
"""Settings of the session, and why they are not the default."""


def positive(ids: pa.Array, *columns: pa.Array) -> pa.Array:
    """True on every row, after it has looked at all columns."""
    assert all(len(column) == len(ids) for column in columns)
    return pc.greater_equal(ids, 0)


def fails(number: int) -> bool:
    raise ValueError(number)


class Rows:
    """Rows with columns of some types, as any source. In each, `id` is a number and `ts` a time."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self._ids = str(folder / "ids")
        spark.range(ROWS).coalesce(1).write.parquet(self._ids)

    def finished(self, names: Sequence[str] = (), ts: str = IN_TIME) -> DataFrame:
        return self._with(self.spark.range(ROWS), names, ts)

    def stream(self, names: Sequence[str] = (), ts: str = IN_TIME) -> DataFrame:
        return self._with(self.spark.readStream.schema("id long").parquet(self._ids), names, ts)

    def arrow(self, names: Sequence[str] = ()) -> pa.Table:
        return self._arrow.select(["id", "ts", *(COLUMNS[name] for name in names)])

    @cached_property
    def _arrow(self) -> pa.Table:
        """Not by `toArrow`, which fails on null structs whose fields are not nullable."""

        def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, batch.schema) as writer:
                    writer.write_batch(batch)
                yield pa.record_batch({"bytes": pa.array([sink.getvalue().to_pybytes()], pa.binary())})

        df = self.finished([name for name in TYPES if name not in NO_ARROW]).coalesce(1)
        rows = df.mapInArrow(packed, "bytes binary").collect()
        return pa.concat_tables([pa.ipc.open_stream(row.bytes).read_all() for row in rows])

    @staticmethod
    def _with(ids: DataFrame, names: Sequence[str], ts: str) -> DataFrame:
        return ids.select("id", F.expr(ts).alias("ts"), *(value(name).alias(COLUMNS[name]) for name in names))

    @contextmanager
    def zone(self, zone: str) -> Iterator[None]:
        self.spark.conf.set("spark.sql.session.timeZone", zone)
        try:
            yield
        finally:
            self.spark.conf.set("spark.sql.session.timeZone", "UTC")


Path_ = Callable[[Rows, list[str], Path], Any]
"""Returns the rows as a DataFrame or a table, or None if it has written them to the path."""
PATHS: dict[str, tuple[str, Path_]] = {}
"""By name: the column of the page, and the function."""


def path(group: str, name: str) -> Callable[[Path_], Path_]:
    def add(function: Path_) -> Path_:
        PATHS[name] = group, function
        return function

    return add


def joined(names: Sequence[str], **changes: Any) -> tw.Join:
    select = ["a.id", *(f"a.{COLUMNS[name]}" for name in names)]
    return tw.join(**{"on": "a.id = b.id", "window": HOUR, "time": "ts", "select": select, **changes})


def table_join(names: Sequence[str]) -> tw.Join:
    return joined(names, window={"b": HOUR}, time={"b": "ts"})


def reading(names: Sequence[str], vectorized: bool = True) -> tw.Filters:
    return tw.filters(tw.predicate(positive, "id", *(COLUMNS[name] for name in names), vectorized=vectorized))


def failing() -> tw.Filters:
    return tw.filters(tw.predicate(fails, "id"), on_error="dead-letter")


def selected(names: Sequence[str], form: str = "{}") -> str:
    return ", ".join(f"{form.format(f'a.{COLUMNS[name]}')} AS {COLUMNS[name]}" for name in names)


def session(rows: Rows, names: Sequence[str], streaming: bool = False) -> Any:
    s = tw.session(rows.spark)
    s.stream("a", rows.stream(names) if streaming else rows.finished(names), time="ts")
    s.stream("b", rows.stream() if streaming else rows.finished(), time="ts")
    s.function("fails", fails, returns="boolean")
    return s


def local_session(rows: Rows, names: Sequence[str]) -> Any:
    s = tw.session()
    s.stream("a", rows.arrow(names), time="ts")
    s.stream("b", rows.arrow(), time="ts")
    s.table("t", rows.arrow(names).drop(["ts"]))
    s.function("fails", fails, returns="boolean")
    return s


def at(folder: Path) -> dict[str, Any]:
    return {"path": folder, "checkpoint": f"{folder}-checkpoint", "trigger": NOW}


PASS, READ = "filters pass them on", "predicates read them"
JOIN, TASKS = "joins", "tasks write them"
HERE, HERE_FILES = "in this process", "files of this process"
SQL, CASE = "SQL selects them", "CASE and COALESCE"


@path(PASS, "filters, batch")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return rows.finished(names).transform(reading([]))


@path(PASS, "dead letters")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return failing().failed(rows.finished(names)).drop("thalweg_errors")


@path(READ, "filters that read, batch")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return rows.finished(names).transform(reading(names))


@path(READ, "filters that read, stream")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return rows.stream(names).transform(reading(names))


@path(READ, "filters that read, foreachBatch")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    keep = reading(names)
    df = rows.stream(names)
    df.transform(keep)  # refused here, and not in the function
    written = df.writeStream.foreachBatch(
        lambda batch, _: batch.transform(keep).write.mode("append").parquet(str(folder))
    )
    assert written.trigger(**NOW).start().awaitTermination(120)


@path(HERE, "over")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return pa.Table.from_batches(reading(names).over(rows.arrow(names)))


@path(HERE, "failed_over")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return pa.Table.from_batches(failing().failed_over(rows.arrow(names)))


@path(JOIN, "joins, finished")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return joined(names)(a=rows.finished(names), b=rows.finished())


@path(JOIN, "joins, finished, tagged, in another time zone")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    with rows.zone(ZONE):
        joined(names).tagged(a=rows.finished(names), b=rows.finished()).write.parquet(str(folder))


@path(JOIN, "joins, tables of finished data")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return table_join(names)(a=rows.finished(names).drop("ts"), b=rows.finished())


@path(JOIN, "joins, Spark's sink")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    j = joined(names)
    assert j.start(**at(folder), sink="spark", a=rows.stream(names), b=rows.stream()).awaitTermination(120)


@path(JOIN, "joins, tagged")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return joined(names).tagged(a=rows.stream(names), b=rows.stream())


@path(JOIN, "joins, late")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    late = joined(names, select=None).late(a=rows.stream(names, NO_TIME), b=rows.stream())
    return late.filter("a_id IS NOT NULL")


@path(JOIN, "joins, tables of streams")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return table_join(names)(a=rows.finished(names).drop("ts"), b=rows.stream())


@path(JOIN, "joins, restarted in another time zone")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    """The rows of `a` wait in the state; those of `b` arrive after the restart."""
    ids = folder.with_name(f"{folder.name}-ids")
    rows.spark.range(0).write.mode("append").parquet(str(ids))
    late = rows.spark.readStream.schema("id long").parquet(str(ids)).withColumn("ts", F.expr(IN_TIME))
    j, a = joined(names), rows.stream(names)
    assert j.start(**at(folder), sink="spark", a=a, b=late).awaitTermination(120)
    rows.spark.range(ROWS).write.mode("append").parquet(str(ids))
    with rows.zone(ZONE):
        assert j.start(**at(folder), sink="spark", a=a, b=late).awaitTermination(120)


@path(TASKS, "joins, tasks")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    j = joined(names)
    assert j.start(**at(folder), sink="tasks", a=rows.stream(names), b=rows.stream()).awaitTermination(120)


@path(HERE, "joins here")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return pa.Table.from_batches(joined(names).over(a=rows.arrow(names), b=rows.arrow()))


@path(HERE, "joins here, tagged")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return pa.Table.from_batches(joined(names).tagged_over(a=rows.arrow(names), b=rows.arrow()))


@path(HERE, "joins here, late")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    a = rows.arrow(names)
    a = a.set_column(1, "ts", pa.nulls(len(a), a.schema.field("ts").type))
    found = pa.Table.from_batches(joined(names, select=None).late_over(a=a, b=rows.arrow()))
    return found.filter(pc.is_valid(found["a_id"]))


@path(HERE, "joins here, tables")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return pa.Table.from_batches(table_join(names).over(a=rows.arrow(names).drop(["ts"]), b=rows.arrow()))


@path(SQL, "SQL, dataframe")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return session(rows, names).query(f"SELECT a.id, {selected(names)} FROM a WHERE a.id >= 0").dataframe()


@path(SQL, "SQL, windows")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    text = f"SELECT a.id, {selected(names)} FROM a [RANGE 1 HOUR], b [RANGE 1 HOUR] WHERE a.id = b.id"
    return session(rows, names).query(text).dataframe()


@path(SQL, "SQL, failed")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    q = session(rows, names).query(f"SELECT a.id, {selected(names)} FROM a WHERE fails(a.id)", on_error="dead-letter")
    return q.failed().drop("thalweg_errors")


@path(SQL, "SQL, start, Spark's sink")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    q = session(rows, names, True).query(f"SELECT a.id, {selected(names)} FROM a, b WHERE a.id = b.id WINDOW 1 HOUR")
    assert q.start(**at(folder), sink="spark").awaitTermination(120)


@path(TASKS, "SQL, start, tasks")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    q = session(rows, names, True).query(f"SELECT a.id, {selected(names)} FROM a, b WHERE a.id = b.id WINDOW 1 HOUR")
    assert q.start(**at(folder), sink="tasks").awaitTermination(120)


@path(CASE, "SQL, computed")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    form = "coalesce(NULL, CASE WHEN a.id >= 0 THEN {} END)"
    return session(rows, names).query(f"SELECT a.id, {selected(names, form)} FROM a").dataframe()


@path(HERE, "SQL here, dataframe")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    return local_session(rows, names).query(f"SELECT a.id, {selected(names)} FROM a WHERE a.id >= 0").dataframe()


@path(HERE, "SQL here, windows and a table")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    text = f"SELECT b.id, {selected(names).replace('a.', 't.')} FROM b [RANGE 1 HOUR], t WHERE t.id = b.id"
    return local_session(rows, names).query(text).dataframe()


@path(HERE, "SQL here, computed")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    form = "coalesce(NULL, CASE WHEN a.id >= 0 THEN {} END)"
    return local_session(rows, names).query(f"SELECT a.id, {selected(names, form)} FROM a").dataframe()


@path(HERE, "SQL here, failed")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    s = local_session(rows, names)
    return s.query(f"SELECT a.id, {selected(names)} FROM a WHERE fails(a.id)", on_error="dead-letter").failed()


@path(HERE_FILES, "SQL here, start")
def _(rows: Rows, names: list[str], folder: Path) -> Any:
    q = local_session(rows, names).query(f"SELECT a.id, {selected(names)} FROM a")
    q.start(path=folder).awaitTermination(60)


NO_TYPE = "{column} is {type}, which Arrow does not support"
BY_SPARK = "tasks cannot write these results: a_{column} contains {inner}, which only Spark can write"
SQL_TYPE = "a.{column} is {type}, and texts are compared by their bytes"
ONLY_SPARK = {
    "STRING COLLATE UTF8_LCASE": "string collate UTF8_LCASE", "TIME": "time(6)", "VOID": "void", "VARIANT": "variant",
    "GEOMETRY": "geometry(0)", "ARRAY<VOID>": "void", "ARRAY<VARIANT>": "variant", "STRUCT<>": "struct<>",
}  # fmt: skip
REFUSED: dict[str, dict[str, str]] = {
    PASS: {},
    READ: dict.fromkeys(NO_ARROW, NO_TYPE),
    JOIN: dict.fromkeys(NO_ARROW, NO_TYPE),
    TASKS: {**dict.fromkeys(ONLY_SPARK, BY_SPARK), **dict.fromkeys(NO_ARROW, NO_TYPE)},
    SQL: dict.fromkeys(NO_ARROW, NO_TYPE),
    CASE: {"STRING COLLATE UTF8_LCASE": SQL_TYPE, **dict.fromkeys(NO_ARROW, NO_TYPE)},
    HERE: {},
    HERE_FILES: {"STRUCT<>": "format='parquet' cannot store the column '{column}', which is {type}"},
}
"""By column of the page and type: the sentence. Everything else comes out equal."""


KEYS = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL(1, 0)", "DECIMAL(18, 18)", "DECIMAL(38, 0)", "STRING",
    "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "VOID",
)  # fmt: skip
"""Types by which joins find rows with equal values."""
COMPARED = (*KEYS, "FLOAT", "DOUBLE", "TIME", "INTERVAL DAY TO SECOND")
"""Types that conditions compare."""
GROUPED = COMPARED
"""Types of GROUP BY and count(DISTINCT)."""
ONLY_GROUPED_BY_SPARK = ("STRING COLLATE UTF8_LCASE",)
EXTREMES = tuple(name for name in COMPARED if name not in ("BINARY", "VOID"))
"""Types of min and max."""


def come_out(group: str) -> list[str]:
    """Return the types whose values come out of the paths of a column of the page."""
    without = {*REFUSED[group], *(NO_ARROW if group in (HERE, HERE_FILES) else NO_PARQUET)}
    return [name for name in TYPES if name not in without]


def sentence(group: str, name: str, spark: SparkSession) -> str | None:
    """Return a pattern of the sentence with which a type is refused; None if it is not."""
    if (text := REFUSED[group].get(name)) is None:
        return None
    kind = spark.range(1).select(value(name)).schema[0].dataType.simpleString()
    return re.escape(text.format(column=COLUMNS[name], type=kind, inner=ONLY_SPARK.get(name)))


def rows_of(made: Any, folder: Path) -> pa.Table:
    """Return the rows of a path, sorted by id, with the names of the columns of the source."""
    if isinstance(made, DataFrame) and made.isStreaming:
        at = made.writeStream.format("parquet").option("checkpointLocation", f"{folder}-checkpoint")
        assert at.trigger(**NOW).start(str(folder)).awaitTermination(120)
    elif isinstance(made, DataFrame):
        made.write.parquet(str(folder))
    table = made if isinstance(made, pa.Table) else pq.read_table(folder)
    names = [name.removeprefix("a_") for name in table.column_names]
    table = table.rename_columns(names)
    return table.select([name for name in names if name == "id" or name in COLUMNS.values()]).sort_by("id")


COMPARE = "a.{column} is {type}, which cannot be compared"
GROUP = "a.{column} is {type}, which GROUP BY does not support"
CELLS: dict[str, dict[str, str]] = {
    **REFUSED,
    "join keys": {
        **{name: "a.{column} is {type}, which cannot be a join key" for name in TYPES if name not in KEYS},
        **dict.fromkeys(ONLY_GROUPED_BY_SPARK, SQL_TYPE), **dict.fromkeys(NO_ARROW, NO_TYPE),
    },
    "conditions": {
        **{name: COMPARE for name in TYPES if name not in COMPARED},
        **dict.fromkeys(ONLY_GROUPED_BY_SPARK, SQL_TYPE), **dict.fromkeys(NO_ARROW, NO_TYPE),
    },
    "GROUP BY and count(DISTINCT)": {
        **{name: GROUP for name in TYPES if name not in (*GROUPED, *ONLY_GROUPED_BY_SPARK)},
        **dict.fromkeys(NO_ARROW, NO_TYPE),
    },
    "min and max": {
        **{name: "min takes numbers, text and times, but a.{column} is {type}" for name in TYPES
           if name not in (*EXTREMES, *ONLY_GROUPED_BY_SPARK)},
        **dict.fromkeys(NO_ARROW, NO_TYPE),
    },
}  # fmt: skip
"""All columns of the page."""
NO_VALUE = {HERE: NO_ARROW, HERE_FILES: NO_ARROW, **dict.fromkeys((PASS, READ, JOIN, SQL, CASE), NO_PARQUET)}
"""What cannot be on a path: types that Arrow lacks, in this process; types that Spark cannot store, in its files."""


def page_table() -> str:
    """Return the table of docs/types.md: types with equal cells are in one row."""
    sentences = list(dict.fromkeys(text for cells in CELLS.values() for text in cells.values()))
    rows: dict[tuple[str, ...], list[str]] = {}
    for name in TYPES:
        cells = []
        for group, refused in CELLS.items():
            missing = "-" if name in NO_VALUE.get(group, ()) else "equal"
            cells.append(f"[{sentences.index(refused[name]) + 1}]" if name in refused else missing)
        rows.setdefault(tuple(cells), []).append(name)
    lines = [f"| type | {' | '.join(CELLS)} |", f"|{'---|' * (len(CELLS) + 1)}"]
    lines += [f"| {', '.join(f'`{name}`' for name in names)} | {' | '.join(cells)} |" for cells, names in rows.items()]
    shown = {"column": "c", "type": "...", "inner": "..."}
    notes = [f'{n}. "{text.format(**shown)}"' for n, text in enumerate(sentences, 1)]
    return "\n".join([*lines, "", *notes])
