"""The benchmark of joins on Spark runs, prints what it promises and refuses wrong results; few rows measure nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyspark")

from bench.joins.spark import __main__ as command
from bench.joins.spark import table
from bench.joins.spark.agenda import IN_FILES, LARGE, LONG, SMALL, SMALL_FILES, STAR
from bench.joins.spark.expected import checksum, demand, expected
from bench.joins.spark.measured import Measured
from bench.joins.spark.query_run import BatchProgress
from bench.joins.spark.restart import RESTARTED
from bench.joins.spark.scenario import BATCH_US, SHARES, StreamScenario, chain, star, three_way
from bench.joins.spark.stream_files import StreamFiles
from bench.joins.spark.targets import targets
from bench.joins.spark.variants import (
    AGAIN,
    BY_SPARK,
    FILES,
    FILES_AGAIN,
    OURS,
    ROCKSDB,
    SPARK,
    SPARK_FILES,
    VARIANTS,
    Ran,
    by_hand,
)
from bench.rounds import WrongResultError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.benchmark
@pytest.mark.slow
def test_a_quick_run_has_variants_targets_and_tables(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--quick", "--scenario", SMALL], spark) == 0
    printed = capsys.readouterr().out
    lines = [json.loads(line) for line in printed.splitlines()]
    variants = {line["variant"]: line for line in lines if "variant" in line}
    assert set(variants) == {SPARK, ROCKSDB, OURS, AGAIN}
    for line in variants.values():
        assert line["batch_ms_median"] >= line["work_ms"] > 0
        assert line["cpu_ms"] > 0
        assert line["checkpoint_bytes_per_batch"] > 0
        assert line["results_per_row"] == pytest.approx(3.0, abs=0.5)
    assert [line["target"] for line in lines if "target" in line] == [
        "times as fast as Spark's join", "checkpoint bytes over those of Spark's join",
    ]  # fmt: skip
    run, page = tmp_path / "run.jsonl", tmp_path / "page.md"
    run.write_text(printed)
    page.write_text(f"# Before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    assert table.main([str(run), "--into", str(page)]) == 0
    text = page.read_text()
    assert all(f"| {name} |" in text for name in variants)
    assert (text.startswith("# Before\n"), "old" in text, text.endswith("\nafter\n")) == (True, False, True)


@pytest.mark.slow
@pytest.mark.long(sample="test_the_star_joined_by_spark_is_checked_by_batch")
def test_the_chain_joined_by_spark_gives_the_rows_of_duckdb(spark: SparkSession, tmp_path: Path) -> None:
    """As Parquet files: what `observe` counts on the way to a sink that keeps nothing is what would arrive."""
    import duckdb

    files = StreamFiles(chain(200), 3, tmp_path / "files")
    query = (
        by_hand(spark, files, tmp_path / "events")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .option("path", str(tmp_path / "out"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    written = duckdb.read_parquet(str(tmp_path / "out" / "*.parquet"))
    assert set(written.columns) == set(files.scenario.columns())
    rows, value = written.aggregate(f"count(*), {checksum('abcd')}").fetchall()[0]
    known = expected(files)
    assert (rows, value) == (sum(n for n, _ in known), sum(value for _, value in known))
    assert rows > 300


@pytest.mark.slow
def test_the_star_joined_by_spark_is_checked_by_batch(spark: SparkSession, tmp_path: Path) -> None:
    files = StreamFiles(star(200), 3, tmp_path)
    ran = VARIANTS[SPARK].run(spark, files)
    known = expected(files)
    demand(SPARK, ran.batches, known)
    with pytest.raises(WrongResultError, match="batch 1"):
        demand(SPARK, ran.batches, [known[0], (known[1][0], known[1][1] + 1), known[2]])


@pytest.mark.parametrize("scenario", [three_way(40), star(20), chain(40)], ids=lambda scenario: scenario.name)
def test_what_is_expected_is_what_nested_loops_find(scenario: StreamScenario, tmp_path: Path) -> None:
    batches = 3 if scenario.name != "star" else 2
    files = StreamFiles(scenario, batches, tmp_path)
    found = [[0, 0] for _ in range(batches)]
    rows = {
        alias: [row for batch in range(batches) for row in scenario.table(alias, batch).to_pylist()]
        for alias in scenario.aliases
    }
    for result in _nested(scenario, rows):
        batch = max(row["id"] // scenario.rows for row in result.values())
        found[batch][0] += 1
        found[batch][1] += _mixed([result[alias]["id"] for alias in scenario.aliases])
    assert [tuple(of_batch) for of_batch in found] == expected(files)
    assert found[-1][0] > 0


def _nested(scenario: StreamScenario, rows: dict[str, list[dict[str, Any]]]) -> Any:
    """Keys first, which leaves few; then every row's age by the latest."""
    results: list[dict[str, dict[str, Any]]] = [{}]
    for alias in scenario.aliases:
        results = [
            more
            for result, row in product(results, rows[alias])
            if _equal(scenario, more := {**result, alias: row}, alias)
        ]
    for result in results:
        latest = max(row["ts"] for row in result.values())
        if all(
            (latest - row["ts"]).total_seconds() * 1e6 <= scenario.windows_us[alias] for alias, row in result.items()
        ):
            yield result


def _equal(scenario: StreamScenario, result: dict[str, dict[str, Any]], alias: str) -> bool:
    for members in scenario.classes:
        columns = [member.split(".") for member in members]
        values = {result[stream][name] for stream, name in columns if stream in result}
        if len(values) > 1:
            return False
    return True


def _mixed(ids: list[int]) -> int:
    weights = (1_000_003, 1_299_709, 1_618_033, 2_097_143, 2_718_281)
    return sum(weight * value for weight, value in zip(weights, ids, strict=False)) % (2**31 - 1)


def test_the_share_of_star_rows_with_a_partner() -> None:
    rows = 20_000
    scenario = star(rows)
    keys = {alias: scenario.table(alias, 1).column("k").to_numpy() for alias in SHARES}
    for other, share in SHARES.items():
        last = np.empty(rows, int)
        last[keys[other]] = np.arange(rows)
        for alias in SHARES.keys() - {other}:
            # evenly spaced, and the same keys again after as many rows: so much older is the other stream's row
            age = (np.arange(rows) - last[keys[alias]]) % rows
            found = np.mean(age * BATCH_US // rows <= scenario.windows_us[other])
            assert found == pytest.approx(share, abs=0.015)  # four standard deviations


def test_targets_are_judged_from_the_numbers() -> None:
    def ran(*times_ms: int, size: int = 100) -> Ran:
        return Ran([_batch(n, ms, size) for n, ms in enumerate((9_999, 9_999, *times_ms))])

    small = {
        SPARK: [ran(1000, 1100, 1050)], ROCKSDB: [ran(2000, 2000, 2000, size=50)],
        OURS: [ran(200, 210, 205, size=60)], AGAIN: [ran(205, 205, 205)],
    }  # fmt: skip
    done = {
        SMALL: Measured(three_way(10, SMALL), small, [(1, 1)] * 5),
        LARGE: Measured(three_way(100, LARGE), {SPARK: [ran(1400)], OURS: [ran(100)]}, [(1, 1)] * 3),
        STAR: Measured(star(10), {OURS: [ran(800)]}, [(1, 1)] * 3),
        LONG: Measured(three_way(10, LONG), {OURS: [ran(100, 103, 99, 102, 98, 101)]}, [(1, 1)] * 8),
    }
    lines = {(line["scenario"], line["target"]): line for line in targets(done)}
    rate = lines[SMALL, "times as fast as Spark's join"]
    assert (rate["against"], rate["value"], rate["reached"]) == (SPARK, pytest.approx(1050 / 205, abs=1e-3), True)
    written = lines[SMALL, "checkpoint bytes over those of Spark's join"]
    assert (written["value"], written["reached"]) == (1.2, False)
    large = lines[LARGE, "times as fast as Spark's join"]
    assert (large["value"], large["reached"]) == (14.0, False)
    stars = lines[STAR, "rate over that of three-way"]  # 50 rows in 800 ms, 30 in 205
    assert (stars["value"], stars["reached"]) == (pytest.approx(50 / 800 * 205 / 30, abs=1e-3), False)
    flat = lines[LONG, "growth of the batch time per batch, ms"]
    assert flat["reached"]
    done[LONG] = replace(done[LONG], runs={OURS: [ran(100, 103, 104, 108, 109, 112)]})
    assert [line["reached"] for line in targets(done) if line["scenario"] == LONG] == [False]


@pytest.mark.parametrize(("again_ms", "reached"), [(100, True), (120, None), (80, None)])
def test_a_target_within_the_spread_of_equal_runs_is_undecided(again_ms: int, reached: bool | None) -> None:
    def ran(ms: int) -> list[Ran]:
        return [Ran([replace(_batch(n, ms, 100), written_bytes=10) for n in range(3)])]

    runs = {SPARK_FILES: ran(550), BY_SPARK: ran(150), FILES: ran(100), FILES_AGAIN: ran(again_ms), OURS: ran(90)}
    done = {SMALL_FILES: Measured(three_way(10, SMALL_FILES), runs, [(1, 1)] * 3)}
    judged = {line["target"]: line.get("reached", "no limit") for line in targets(done)}
    assert judged["times as fast as spark files"] is reached
    assert judged["times as fast as ours files by spark"] == "no limit"
    slower = {**runs, SPARK_FILES: ran(400)}
    assert [line["reached"] for line in targets({SMALL_FILES: replace(done[SMALL_FILES], runs=slower)})[:1]] == [
        None if again_ms == 80 else False
    ]


def _batch(number: int, ms: int, checkpoint_bytes: int) -> BatchProgress:
    return BatchProgress(
        number, 30, (1, 1), {"triggerExecution": ms, "addBatch": ms}, 0.0, 0, 0, checkpoint_bytes, jvm_ms=ms
    )


@pytest.mark.benchmark
@pytest.mark.slow
def test_a_quick_run_into_files(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """Every batch is checked against DuckDB: results that are not in the files end the run."""
    assert command.main(["--quick", "--scenario", SMALL_FILES], spark) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    variants = {line["variant"]: line for line in lines if "variant" in line}
    assert tuple(variants) == IN_FILES
    assert [name for name, line in variants.items() if not line["written_bytes_per_batch"]] == [OURS]
    assert [line["target"] for line in lines if "target" in line] == [
        "times as fast as spark files", "times as fast as ours files by spark",
        "bytes of results over those of spark files",
    ]  # fmt: skip
    assert any("| three-way-files |" in row for row in table.tables(lines, in_files=True))
    assert not any("three-way-files" in row for row in table.tables(lines)), "they have tables of their own"


@pytest.mark.benchmark
@pytest.mark.slow
def test_quick_runs_of_restarts_and_of_many_batches(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What they write is checked: wrong rows end them."""
    assert command.main(["--quick", "--part", "restart"], spark) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["variant_restarted"] for line in lines if "variant_restarted" in line} == set(RESTARTED)
    assert [line["scenario"] for line in lines if "target" in line] == ["restart"]
    assert command.main(["--quick", "--part", "endurance"], spark) == 0
    printed = capsys.readouterr().out
    lines = [json.loads(line) for line in printed.splitlines()]
    parts = [line for line in lines if line.get("part") == "endurance"]
    assert [line["batches"] for line in parts] == sorted(line["batches"] for line in parts)
    assert parts[-1]["result_files"] >= 20
    assert {line["scenario"] for line in lines if "target" in line} == {"endurance"}
    assert f"| {parts[-1]['batches']:,} | {parts[-1]['ms']:,.0f} |" in "\n".join(table.tables(lines, in_files=True))
