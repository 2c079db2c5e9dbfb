"""Folders of `partitionBy`: as many as there are values, with few open files, and every value read back."""

from __future__ import annotations

import random
import resource
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from tests.runtime.sink.test_batch_commit import QUERY
from thalweg.errors import QueryError
from thalweg.runtime.sink import staged_files
from thalweg.runtime.sink.batch_commit import BatchCommit
from thalweg.runtime.sink.parquet_form import ParquetForm
from thalweg.runtime.sink.partition_folders import partitions
from thalweg.runtime.sink.staged_files import StagedFiles


def test_many_folders_with_few_file_handles(tmp_path: Path) -> None:
    """Also if rows of a folder come in several row groups."""
    rng = random.Random(3)
    values = [rng.randrange(1_500) for _ in range(6_000)]
    table = pa.table({"k": pa.array(values, pa.int64()), "n": range(len(values))})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staged_files, "GROUP_BYTES", 20_000)
        resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 100, hard))
        try:
            writing = StagedFiles(ParquetForm(str(tmp_path), table.schema, partition_by=("k",)), QUERY, 0, 0)
            for batch in table.to_batches(max_chunksize=500):
                writing.write(batch)
            BatchCommit(str(tmp_path)).commit(QUERY, 0, writing.close())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    found = ds.dataset(tmp_path, partitioning="hive", exclude_invalid_files=False).to_table()
    assert sorted(zip(found["k"].to_pylist(), found["n"].to_pylist(), strict=True)) == sorted(
        zip(values, range(len(values)), strict=True)
    )


def test_one_file_per_folder_however_often_rows_alternate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged_files, "GROUP_BYTES", 2_000)
    table = pa.table({"k": [n % 200 for n in range(4_000)], "n": range(4_000)})
    writing = StagedFiles(ParquetForm(str(tmp_path), table.schema, partition_by=("k",)), QUERY, 0, 0)
    for batch in table.to_batches(max_chunksize=200):
        writing.write(batch)
    files = writing.close()
    assert (len(files), sum(file.rows for file in files)) == (200, 4_000)


def test_names_of_folders_that_are_one_on_some_disks_have_different_files(tmp_path: Path) -> None:
    table = pa.table({"k": ["A", "a", "\u00e9", "e\u0301"], "n": [1, 2, 3, 4]})
    writing = StagedFiles(ParquetForm(str(tmp_path), table.schema, partition_by=("k",)), QUERY, 0, 0)
    for batch in table.to_batches():
        writing.write(batch)
    assert len({file.final.rpartition("/")[2] for file in writing.close()}) == 4


def test_names_by_type() -> None:
    days = pa.array([-800_000, 0, 2_932_897], pa.int32()).cast(pa.date32())  # years before 1 and after 9999 too
    named = [folder for folder, _ in partitions(pa.table({"day": days, "n": [1, 2, 3]}), ["day"])]
    assert named[1] == f"day={date(1970, 1, 1)}"
    assert named[2].endswith("=+10000-01-01")
    flags = pa.table({"f": [True, None, False], "b": pa.array([-1, None, 3], pa.int8()), "n": [1, 2, 3]})
    assert [folder for folder, _ in partitions(flags, ["f", "b"])] == [
        "f=true/b=-1", "f=__HIVE_DEFAULT_PARTITION__/b=__HIVE_DEFAULT_PARTITION__", "f=false/b=3",
    ]  # fmt: skip


def test_a_value_that_is_too_long_for_a_folder(tmp_path: Path) -> None:
    table = pa.table({"k": ["x" * 400], "n": [1]})
    writing = StagedFiles(ParquetForm(str(tmp_path), table.schema, partition_by=("k",)), QUERY, 0, 0)
    writing.write(table.to_batches()[0])
    with pytest.raises(QueryError, match=r"File name too long; partition by a column whose values are shorter"):
        writing.close()
    assert not list((tmp_path).rglob("*.parquet"))
