"""A disk that is really full or read-only: the query fails with a remedy, and continues afterwards."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.deployments.join_files import expected_results, write_streams
from tests.runtime.spark.deployments.one_join import join, streams
from tests.runtime.spark.sink.test_replayed_files import both, left
from tests.runtime.spark.sink.test_written_by_tasks import run
from tests.small_disk import fill, small_disk

DISK_BYTES = 4_000_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", DISK_BYTES) as folder:
        yield folder


def test_a_full_disk(spark: SparkSession, tmp_path: Path, disk: Path) -> None:
    write_streams(tmp_path / "in", 2)
    (tmp_path / "out").symlink_to(disk)
    j = join()
    run(spark, tmp_path, j)
    before = both(spark, tmp_path)
    write_streams(tmp_path / "in", 2, first=2)
    ballast = fill(disk, leave=4096)
    with pytest.raises(Exception, match=r"cannot be written to .*: No space left on device; free space"):
        run(spark, tmp_path, j)
    assert both(spark, tmp_path) == before
    ballast.unlink()
    run(spark, tmp_path, join())
    assert both(spark, tmp_path) == expected_results(tmp_path / "in")
    assert left(tmp_path) == ["query"]


def test_a_read_only_disk(spark: SparkSession, tmp_path: Path, disk: Path) -> None:
    """Of the results: they are good, and stay. Of the checkpoint: it is not taken for a new one, or one of another."""

    def mount_for(mode: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{mode}", str(disk)], check=True)

    write_streams(tmp_path / "in", 2)
    for name in ("out", "checkpoint"):
        (disk / name).mkdir()
        (tmp_path / name).symlink_to(disk / name)
    j = join()
    run(spark, tmp_path, j)
    before = both(spark, tmp_path)
    write_streams(tmp_path / "in", 1, first=2)
    mount_for("ro")
    with pytest.raises(tw.CheckpointError, match=r"/checkpoint cannot be used: .* may not be written to; let"):
        run(spark, tmp_path, j)
    with pytest.raises(tw.PlanError, match=r"read and written: Read-only file system; .* mount it for writing"):
        join().start(path=disk / "new", checkpoint=tmp_path / "new", **streams(spark, tmp_path))
    mount_for("rw")
    shutil.copytree(disk / "checkpoint", tmp_path / "elsewhere")
    (tmp_path / "checkpoint").unlink()
    (tmp_path / "elsewhere").rename(tmp_path / "checkpoint")
    mount_for("ro")
    with pytest.raises(Exception, match=r"cannot be written to .*: Read-only file system; mount it for writing"):
        run(spark, tmp_path, j)
    assert both(spark, tmp_path) == before
    mount_for("rw")
    run(spark, tmp_path, j)
    assert both(spark, tmp_path) == expected_results(tmp_path / "in")
