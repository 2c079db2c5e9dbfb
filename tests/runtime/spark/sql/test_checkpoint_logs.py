"""The files from which Spark continues to plan: what is healthy is not refused, and large logs are not read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from thalweg.errors import CheckpointError
from thalweg.runtime.spark.sql import checkpoint_logs
from thalweg.runtime.spark.sql.checkpoint_logs import refuse_damaged_logs


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """One whose old files were removed, as with `minBatchesToRetain` 1, and whose log of a source is compact."""
    for folder, batches in (("offsets", (28, 29)), ("commits", (28, 29)), ("sources/1", (30,))):
        (tmp_path / folder).mkdir(parents=True)
        for batch in batches:
            offsets = f'-\n{{"logOffset":{batch}}}'
            text = {"offsets": f'v1\n{{"batchWatermarkMs":0}}\n{offsets}'}.get(folder, f'v1\n{{"batchId":{batch}}}')
            (tmp_path / folder / str(batch)).write_text(text)
    lines = [json.dumps({"path": f"file:///data/{n}", "timestamp": n, "batchId": n}) for n in range(30)]
    (tmp_path / "sources/1/29.compact").write_text("\n".join(["v1", *lines]))
    return tmp_path


def test_a_healthy_checkpoint(spark: SparkSession, checkpoint: Path) -> None:
    refuse_damaged_logs(spark, str(checkpoint))
    for batch in (28, 29):  # other numbers in a later format are no numbers of sources
        (checkpoint / "offsets" / str(batch)).write_text('v2\n{}\n{"logOffset":99}')
    refuse_damaged_logs(spark, str(checkpoint))


def test_a_log_that_is_cut_off(spark: SparkSession, checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = checkpoint / "sources/1/29.compact"
    log.write_text(log.read_text()[:-9])
    with pytest.raises(CheckpointError, match=r"sources/1/29.compact of the checkpoint is damaged"):
        refuse_damaged_logs(spark, str(checkpoint))
    monkeypatch.setattr(checkpoint_logs, "MOST_BYTES", 100)
    refuse_damaged_logs(spark, str(checkpoint))
