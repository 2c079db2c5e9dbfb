"""The benchmark of SQL runs and tells what it promises; few rows measure nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from bench.rounds import WrongResultError
from bench.sql import __main__ as command
from bench.sql.planning import QUERIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_a_quick_run_tells_queries_comparisons_and_targets(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--quick"], spark) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["query"] for line in lines if "query" in line] == list(QUERIES)
    compared = {line["scenario"]: line for line in lines if "seconds" in line}
    assert {name: set(line["seconds"]) for name, line in compared.items()} == {
        "filters": {"sql", "sql again", "calls"},
        "join": {"sql", "sql again", "calls"},
        "native": {"sql", "sql again", "spark sql"},
    }
    assert all(line["results"] > 0 for line in compared.values())
    targets = {line["scenario"]: line["limit"] for line in lines if "target" in line}
    assert targets == {"planning": 20.0, "filters": 1.02, "join": 1.02, "native": 1.03}


def test_other_rows_end_it(spark: SparkSession, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    def wrong(*_: object) -> None:
        raise WrongResultError("calls: (rows, sum of ids) is (1, 1), not (2, 2)")

    monkeypatch.setattr(command, "interleave", wrong)
    assert command.main(["--quick"], spark) == 1
    assert '"error"' in capsys.readouterr().out
