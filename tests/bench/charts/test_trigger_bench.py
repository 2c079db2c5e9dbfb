"""The benchmark of `trigger="auto"`: it runs on Spark, and its figures and verdicts follow from the micro-batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.events.flat_records import changed

pytest.importorskip("pyspark")
pytest.importorskip("numba")

from bench.charts import __main__ as command
from bench.charts import table
from bench.charts.summary import TRIGGER, summary
from bench.charts.trigger import CASES, WARM_BATCHES, Batch, figures, foretold_rows, held_rows
from tests.report.join_records import joined

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILTER, JOIN = CASES


@pytest.mark.benchmark
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_quick_run_has_figures_targets_and_a_table(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command.main(["--quick", "--spark"], spark) == 0
    printed = capsys.readouterr().out
    lines = [json.loads(line) for line in printed.splitlines()]
    (found,) = [line for line in lines if line["line"] == "figures"]
    assert (found["part"], found["case"]) == (TRIGGER, "join")
    assert 0 < found["load"] <= 1.0
    judged = [line["verdict"] for line in lines if line["line"] == "target"]
    assert len(judged) == 2
    assert judged[1] == "undecided"  # nothing is foretold before the first start
    run_file, page = tmp_path / "run.jsonl", tmp_path / "page.md"
    run_file.write_text(printed)
    page.write_text(f"{table.BEGIN}\n{table.END}\n")
    assert table.main([str(run_file), "--into", str(page)]) == 0
    assert "| join | 4,000 | 0.25" in page.read_text()


def batches(*took: float, every: float = 2.0) -> list[Batch]:
    """After the ones that are left out, which take long."""
    return [Batch(n, 100 + every * n, each) for n, each in enumerate([9.0] * WARM_BATCHES + list(took))]


def test_figures_are_of_the_batches_that_are_steady() -> None:
    held = dict(enumerate([1] * WARM_BATCHES + [90, 90, 110, 110]))
    found = figures(JOIN, batches(1.0, 1.0, 1.2, 9.0), 80.0, held)
    assert (found["batches"], found["interval_s"]) == (4, 2.0)
    assert found["load"] == pytest.approx(3.2 / 6, abs=1e-4)  # the last one only says when the one before it ended
    assert found["load_aa"] == pytest.approx(1.2 / 2 - 1.0 / 2, abs=1e-4)
    assert (found["held"], found["held_over_foretold"]) == (100, 1.25)
    assert found["held_aa"] == pytest.approx(110 / 90, abs=1e-4)
    assert "held" not in figures(FILTER, batches(1.0, 1.0, 1.2, 9.0), 80.0, {})
    assert "load" not in figures(JOIN, batches(1.0), 80.0, {})


def line_of(busy: float, load: float, load_aa: float, **held: Any) -> dict[str, Any]:
    return {"part": TRIGGER, "case": "x", "busy": busy, "load": load, "load_aa": load_aa, "windows": bool(held), **held}


@pytest.mark.parametrize(
    ("line", "verdicts"),
    [
        (line_of(0.5, 0.46, 0.0), ["reached"]),
        (line_of(0.5, 0.54, 0.0), ["reached"]),
        (line_of(0.5, 0.57, 0.03), ["undecided"]),
        (line_of(0.5, 0.43, 0.01), ["missed"]),
        (line_of(0.5, 0.5, 0.0, held_over_foretold=0.95, held_aa=1.0), ["reached", "reached"]),
        (line_of(0.5, 0.5, 0.0, held_over_foretold=1.12, held_aa=1.05), ["reached", "undecided"]),
        (line_of(0.5, 0.5, 0.0, held_over_foretold=0.8, held_aa=1.05), ["reached", "missed"]),
        ({"part": TRIGGER, "case": "x", "busy": 0.5, "windows": True}, ["undecided", "undecided"]),
    ],
)
def test_loads_and_rows_are_judged_beyond_the_spread(line: dict[str, Any], verdicts: list[str]) -> None:
    found = list(summary([line]))
    assert [each["verdict"] for each in found] == verdicts
    assert len(table.tables([{**line, "line": "figures", "rows_per_second": 1}])) > len(found)


def test_rows_held_are_those_of_all_windows_and_buckets() -> None:
    records = [
        changed(joined(), batch=batch, worker=worker, alias=stream, window_rows=rows - 1, expired=1)
        for batch, worker, stream, rows in [
            (0, "bucket 0", "a", 1), (0, "bucket 1", "a", 20), (0, "bucket 0", "b", 300), (1, "bucket 0", "a", 4_000),
            (1, "bucket 0", "a", 5_000),
        ]
    ]  # fmt: skip
    assert held_rows(records) == {0: 321, 1: 5_000}


def test_what_is_foretold_is_read_from_an_explanation() -> None:
    text = "interval  busy\n2 s  12 %  1,000  5 s  1,234,567\n1 s  5 %  10  1.6 s  46,100  chosen"
    assert foretold_rows(text) == 46_100
    assert foretold_rows("nothing is known yet") is None


@pytest.mark.parametrize("given", [["--part", "calm"], ["--shape", "star-3"], ["--rounds", "2"]])
def test_spark_goes_with_no_other_part(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--spark", *given])
    assert "--spark goes with none of" in capsys.readouterr().err
