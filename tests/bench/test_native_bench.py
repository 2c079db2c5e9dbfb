"""The benchmark of native predicates runs, and its variants agree; numbers of so few rows mean nothing."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

pytest.importorskip("numba")

from bench import native


@pytest.mark.benchmark
def test_quick_run(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert native.main(["--quick"], spark) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert lines[0]["order"][:2] == ["recent", "error"]
    assert [line["variant"] for line in lines[1:]] == [
        "plain-written", "plain-best", "first-run", "learned-sampling", "learned", "learned-unsampled", "observe-all",
    ]  # fmt: skip
    assert all(line["cpu_s"] > 0 for line in lines[1:])
