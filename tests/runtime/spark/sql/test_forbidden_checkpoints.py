"""A checkpoint that this user may not read is not taken for a new one, or for that of another query."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.sink.test_choice import PAIRS, pairs, places, session
from thalweg.runtime.spark.sql import checkpoint_folders
from thalweg.runtime.spark.sql.checkpoint_folders import forbidden

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / "checkpoint" / "offsets").mkdir(parents=True)
        Path(made).chmod(0o755)
        yield Path(made) / "checkpoint"


def by_another_user(folder: Path) -> str:
    """What a process of a user without rights finds."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setuid(NOBODY)
            os.write(writes, str(forbidden(str(folder))).encode())
        finally:
            os._exit(0)
    os.close(writes)
    with open(reads, encoding="utf-8") as found:
        said = found.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_folders_of_other_users(folder: Path) -> None:
    def modes(of_checkpoint: int, of_offsets: int) -> str:
        folder.chmod(of_checkpoint)
        (folder / "offsets").chmod(of_offsets)
        return by_another_user(folder)

    assert modes(0o777, 0o777) == "None"
    assert by_another_user(folder / "new") == "None"
    assert modes(0o700, 0o777) == f"{folder}: Permission denied"
    assert modes(0o744, 0o777) in (f"{folder}/offsets: Permission denied", f"{folder} may not be written to")
    assert modes(0o755, 0o777) == f"{folder} may not be written to"
    assert modes(0o777, 0o700) == f"{folder}/offsets: Permission denied"
    assert modes(0o777, 0o755) == f"{folder}/offsets may not be written to"
    (folder / "lost+found").mkdir(0o700)  # a checkpoint on a disk of its own
    assert modes(0o777, 0o777) == "None"
    folder.parent.chmod(0o700)
    assert by_another_user(folder) == f"{folder}: Permission denied"


def test_a_start_from_a_forbidden_checkpoint(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = pairs(tmp_path)
    (tmp_path / "checkpoint").mkdir()
    monkeypatch.setattr(checkpoint_folders, "forbidden", lambda place: f"{place}/offsets: Permission denied")
    said = "/checkpoint cannot be used: .*/offsets: Permission denied; let this user read and write the folder"
    with pytest.raises(tw.CheckpointError, match=said):
        session(spark, streams).query(PAIRS).start(**places(tmp_path))
    join = tw.join(on="a.k = b.k", window="5 seconds", time="ts")
    data: dict[str, Any] = {name: each.stream(spark) for name, each in streams.items()}
    with pytest.raises(tw.CheckpointError, match=said):
        join.start(**places(tmp_path), **data)
    assert not (tmp_path / "out").exists()
