"""The log of a folder: no entry is lost when its settings change."""

from __future__ import annotations

import json
import shutil
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from tests.runtime.sink.folder_readers import lines_for_spark
from thalweg.errors import QueryError
from thalweg.runtime.sink import sink_log
from thalweg.runtime.sink.sink_log import LogSettings, SinkLog


def visible(folder: Path, default: int = 10) -> list[str]:
    """The files that Spark's readers see, with this setting of the interval."""
    return [Path(json.loads(line)["path"]).name for line in lines_for_spark(folder, default)]


@pytest.mark.parametrize("then", [2, 3, 4, 7, 10, 25])
@pytest.mark.parametrize("now", [2, 3, 5, 10])
def test_another_interval_loses_nothing(tmp_path: Path, then: int, now: int) -> None:
    names = []
    for batch in range(40):
        name = f"{batch}.parquet"
        (tmp_path / name).write_bytes(b"x")
        names.append(name)
        interval = then if batch < 5 else now
        assert SinkLog(str(tmp_path), LogSettings(interval=interval)).add(batch, [name])
        assert visible(tmp_path, interval) == names
    assert not SinkLog(str(tmp_path)).add(39, ["0.parquet"]), "it is there already"
    assert visible(tmp_path, now) == names


@examples(60, long=3_000, deadline=None)
@given(intervals=st.lists(st.integers(1, 12), min_size=1, max_size=30), begin=st.integers(0, 25))
def test_an_interval_that_changes_again_and_again(intervals: list[int], begin: int) -> None:
    """After every micro-batch, Spark reads all files: a reader with the same setting, and with two compact files any
    reader. `begin`: the first micro-batch, as in a folder that was emptied."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for batch, interval in enumerate(intervals, begin):
            names.append(f"{batch}.parquet")
            Path(folder, names[-1]).write_bytes(b"x")
            log = SinkLog(folder, LogSettings(interval=interval, cleanup_delay_s=0, retained=3))
            assert log.add(batch, [names[-1]])
            assert not log.add(batch, [names[0]])
            compact = list(Path(folder, "_spark_metadata").glob("*.compact"))
            for default in [interval] if len(compact) < 2 else [interval, 1, 2, 10]:
                assert visible(Path(folder), default) == names
            for setting in (1, 2, 10):  # of the next start, which has not written yet
                assert sorted(SinkLog(folder, LogSettings(interval=setting)).names()) == sorted(names)


@pytest.mark.parametrize("compact", [(3, 6), (0, 5), (1, 2, 7), (7,)])
def test_compact_files_at_odd_distances(tmp_path: Path, compact: tuple[int, ...]) -> None:
    """Whatever has left them: the next micro-batch makes the log readable."""
    log = SinkLog(str(tmp_path), LogSettings(interval=100))
    names = [f"{batch}.parquet" for batch in range(12)]
    for name in names:
        (tmp_path / name).write_bytes(b"x")
    for batch in range(8):
        log.add(batch, [names[batch]])
    for batch in compact:
        log._compact(batch, [])
    for batch in range(8, 12):
        assert SinkLog(str(tmp_path), LogSettings(interval=2)).add(batch, [names[batch]])
        assert visible(tmp_path, 2) == names[: batch + 1]


@pytest.mark.parametrize("part", [1, 2, 3, 50, 200, 1 << 20])
def test_a_log_is_copied_in_parts_of_any_size(tmp_path: Path, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_log, "PART_BYTES", part)
    (tmp_path / "f.parquet").write_bytes(b"x")
    log, count = SinkLog(str(tmp_path), LogSettings(interval=3)), 0
    for batch, files in enumerate([2, 0, 1, 3, 0, 0, 0, 4, 0]):
        log.add(batch, ["f.parquet"] * files)
        count += files
        if batch == 4:  # as an editor may leave it
            with open(tmp_path / "_spark_metadata/4", "ab") as file:
                file.write(b"\n\n")
    assert visible(tmp_path, 3) == ["f.parquet"] * count
    assert (tmp_path / "_spark_metadata/8.compact").read_bytes().count(b"\n") == count


def test_a_long_log_is_not_read_into_memory(tmp_path: Path) -> None:
    (tmp_path / "f.parquet").write_bytes(b"x")
    log = SinkLog(str(tmp_path), LogSettings(interval=2))
    log.add(0, ["f.parquet"] * 50)
    log.add(1, [])
    compact = tmp_path / "_spark_metadata/1.compact"
    version, *lines = compact.read_bytes().split(b"\n")
    compact.write_bytes(b"\n".join([version, *lines * 1_000]))
    size = compact.stat().st_size
    tracemalloc.start()
    for batch in (2, 3):
        log.add(batch, ["f.parquet"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(visible(tmp_path, 2)) == 50_002
    assert peak < size / 3


def test_expired_files_are_those_that_spark_would_delete(tmp_path: Path) -> None:
    """By `CompactibleFileStreamLog.deleteExpiredLog`, the first file that is kept is the compact one before the oldest
    micro-batch to retain."""
    log = SinkLog(str(tmp_path), LogSettings(interval=10, cleanup_delay_s=0, retained=100))
    for batch in range(120):
        log.add(batch, [])
    numbers = sorted(int(path.name.partition(".")[0]) for path in (tmp_path / "_spark_metadata").iterdir())
    assert numbers == list(range(19, 120))
    assert visible(tmp_path) == []


def test_a_damaged_log_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    log = SinkLog(str(tmp_path), LogSettings(interval=2))
    log.add(0, [])
    (tmp_path / "_spark_metadata" / "0").write_text("v9\n")
    with pytest.raises(QueryError, match=r"_spark_metadata/0, .* begins with b'v9' .*Restore it; or, if"):
        log.add(1, [])


def test_a_file_of_the_log_that_repeats_an_earlier_one(tmp_path: Path) -> None:
    """Spark's readers would read the rows of these files twice."""
    log = SinkLog(str(tmp_path))
    for batch in range(12):
        (tmp_path / f"part-{batch}").touch()
        log.add(batch, [f"part-{batch}"])
    assert sorted(log.names()) == sorted(f"part-{batch}" for batch in range(12))
    shutil.copy(tmp_path / "_spark_metadata" / "10", tmp_path / "_spark_metadata" / "11")
    with pytest.raises(QueryError, match=r"_spark_metadata/11, .* lists files of an earlier micro-batch"):
        list(log.names())
    (tmp_path / "_spark_metadata" / "11").unlink()
    last = (tmp_path / "_spark_metadata" / "9.compact").read_text().splitlines()[-1]
    (tmp_path / "_spark_metadata" / "10").write_text(f"v1\n{last}")
    with pytest.raises(QueryError, match=r"_spark_metadata/10, .* lists files of an earlier micro-batch"):
        list(log.names())
