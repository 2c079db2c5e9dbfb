"""The benchmark of SQL runs and prints what it promises; few rows measure nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from bench.rounds import WrongResultError
from bench.sql import __main__ as command
from bench.sql import table
from bench.sql.queries import QUERIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.benchmark
@pytest.mark.slow
def test_a_quick_run_tells_queries_comparisons_and_targets(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command.main(["--quick"], spark) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    *queries, corpus = [line["query"] for line in lines if "query" in line]
    assert queries == list(QUERIES)
    assert re.match(r"\d\d of the corpus, the slowest \(\w+\)", corpus)
    compared = {line["scenario"]: line for line in lines if "seconds" in line}
    assert {name: set(line["seconds"]) for name, line in compared.items()} == {
        "filters": {"sql", "sql again", "calls"},
        "join": {"sql", "sql again", "calls"},
        "native": {"sql", "sql again", "spark sql"},
    }
    assert all(line["results"] > 0 for line in compared.values())
    assert {name: line["rows"] for name, line in compared.items()} == {
        "filters": 8_000,
        "join": 2_000,
        "native": 20_000,
    }
    run, page = tmp_path / "run.jsonl", tmp_path / "page.md"
    run.write_text("\n".join(map(json.dumps, lines)))
    page.write_text(f"# Before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    assert table.main([str(run), "--into", str(page)]) == 0
    written = page.read_text()
    assert "old" not in written
    assert all(f"| {name} |" in written for name in (*QUERIES, *compared))
    targets = {line["scenario"]: line["limit"] for line in lines if "target" in line}
    assert targets == {"planning": 20.0, "filters": 1.02, "join": 1.02, "native": 1.03}


@pytest.mark.benchmark
def test_other_rows_end_it(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(*_: object) -> None:
        raise WrongResultError("calls: (rows, sum of ids) is (1, 1), not (2, 2)")

    monkeypatch.setattr(command, "interleave", wrong)
    assert command.main(["--quick"], spark) == 1
    assert '"error"' in capsys.readouterr().out
