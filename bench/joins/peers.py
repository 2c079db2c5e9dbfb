"""DuckDB and Polars on the finished data, one thread, with the window condition as a careful user writes it, not only
over all streams at the end but in every join, so that fewer rows go on. Both give Arrow tables of the columns
that we give; their tables are their own and in memory before the clock starts."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

from bench.joins.checksum import Checksum
from bench.joins.ours import Stopwatch
from bench.joins.streams import JoinScenario
from bench.rounds import Trial

DUCKDB, POLARS = "duckdb", "polars"


def sql(scenario: JoinScenario) -> str:
    """The join as a query."""
    aliases = list(scenario.tables)
    times = {a: f"{a}.ts" if isinstance(scenario.length, int) else f"epoch_us({a}.ts)" for a in aliases}
    columns = [f"{a}.{name} AS {a}_{name}" for a in aliases for name in scenario.tables[a].column_names]
    whole = ", ".join(f"{a}.ts" for a in aliases)
    joins = [
        f"JOIN {alias} ON {equality} AND {times[alias]} BETWEEN {times['a']} - {scenario.window} "
        f"AND {times['a']} + {scenario.window}"
        for alias, equality in zip(aliases[1:], scenario.on.split(" AND "), strict=True)
    ]
    spread = f"greatest({', '.join(times.values())}) - least({', '.join(times.values())}) <= {scenario.window}"
    return f"SELECT {', '.join(columns)}, greatest({whole}) AS event_time FROM a {' '.join(joins)} WHERE {spread}"


class DuckDB:
    """Tables of its own."""

    def __init__(self, scenario: JoinScenario) -> None:
        import duckdb

        self.scenario = scenario
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        for alias, table in scenario.tables.items():
            self.connection.register("arrow_rows", table)
            self.connection.execute(f"CREATE TABLE {alias} AS SELECT * FROM arrow_rows")
            self.connection.unregister("arrow_rows")

    def trial(self) -> Trial:
        """Results as an Arrow table."""
        watch = Stopwatch()
        table = self.connection.sql(sql(self.scenario)).to_arrow_table()
        return _trial(self.scenario, table, watch)

    def result(self) -> tuple[int, int]:
        """What all must give: the same, one stream after the other, each step a table of its own. As one query, joins
        of many streams take minutes: the window condition is not used before the last of them."""
        run, window = self.connection.execute, self.scenario.window
        aliases = list(self.scenario.tables)
        ticks = "ts" if isinstance(self.scenario.length, int) else "epoch_us(ts)"
        run(f"CREATE TABLE step AS SELECT * EXCLUDE (id, ts), id AS a_id, {ticks} AS low, {ticks} AS high FROM a")
        for alias, equality in zip(aliases[1:], self.scenario.on.split(" AND "), strict=True):
            left, right = (side.strip().split(".")[1] for side in equality.split("="))
            run(
                f"CREATE TABLE more AS SELECT step.* REPLACE (least(low, t) AS low, greatest(high, t) AS high), "
                f"{alias}_id FROM step JOIN (SELECT {right} AS key, id AS {alias}_id, {ticks} AS t FROM {alias}) new "
                f"ON step.{left} = new.key AND t BETWEEN high - {window} AND low + {window}"
            )
            run("DROP TABLE step")
            run("ALTER TABLE more RENAME TO step")
        checksum = Checksum(aliases)
        for batch in self.connection.sql("SELECT * FROM step").to_arrow_reader(1_000_000):
            checksum.add(batch)
        run("DROP TABLE step")
        return checksum.result


class Polars:
    """Data frames, joined lazily."""

    def __init__(self, scenario: JoinScenario) -> None:
        os.environ["POLARS_MAX_THREADS"] = "1"  # read when it is imported
        import polars as pl

        self.pl = pl
        self.scenario = scenario
        self.frames: dict[str, Any] = {}
        for alias, table in scenario.tables.items():
            self.frames[alias] = pl.DataFrame(
                pl.from_arrow(table.rename_columns([f"{alias}_{n}" for n in table.column_names]))
            )
        pl.Series([1]).sum()
        assert pl.thread_pool_size() == 1, "polars was imported before: its threads cannot be limited any more"

    def trial(self) -> Trial:
        """Results as an Arrow table."""
        pl = self.pl
        watch = Stopwatch()
        whole = isinstance(self.scenario.length, int)
        window = self.scenario.window if whole else pl.duration(microseconds=self.scenario.window)
        aliases = list(self.scenario.tables)
        joined = self.frames["a"].lazy()
        times = [pl.col("a_ts")]
        for alias, equality in zip(aliases[1:], self.scenario.on.split(" AND "), strict=True):
            left, right = (side.strip().replace(".", "_") for side in equality.split("="))
            times.append(pl.col(f"{alias}_ts"))
            joined = joined.join(self.frames[alias].lazy(), left_on=left, right_on=right, coalesce=False).filter(
                pl.max_horizontal(times) - pl.min_horizontal(times) <= window
            )
        joined = joined.with_columns(event_time=pl.max_horizontal(times))
        return _trial(self.scenario, joined.collect().to_arrow(), watch)


def _trial(scenario: JoinScenario, table: pa.Table, watch: Stopwatch) -> Trial:
    wall, cpu = watch.read()
    checksum = Checksum(list(scenario.tables))
    checksum.add(table)
    return Trial(wall, cpu, checksum.result)
