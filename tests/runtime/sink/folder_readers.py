"""What the two kinds of readers see in a folder of results: those that list files, and those that use Spark's log."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq


def listed(folder: Path) -> list[int]:
    """The numbers in all visible files."""
    return _numbers([str(path) for path in folder.glob("**/*.parquet")])


def logged(folder: Path, default: int = 10) -> list[int]:
    """The numbers in the files that Spark reads."""
    return _numbers(files_for_spark(folder, default))


def files_for_spark(folder: Path, default: int = 10) -> list[str]:
    """The files of the log, which is read by the rules of Spark's CompactibleFileStreamLog. Without the folder of the
    log, Spark lists files."""
    if not (folder / "_spark_metadata").is_dir():
        return [str(path) for path in folder.glob("**/*.parquet")]
    paths = []
    for line in lines_for_spark(folder, default):
        entry = json.loads(line)
        path = Path(unquote(entry["path"].removeprefix("file://")))
        assert (entry["size"], entry["isDir"], entry["action"]) == (path.stat().st_size, False, "add")
        paths.append(str(path))
    assert len(set(paths)) == len(paths)
    return paths


def lines_for_spark(folder: Path, default: int = 10) -> list[str]:
    """The entries that Spark reads, with this setting of its interval. It computes from the names of the compact files
    which interval the log has, and from that which files it reads: one that is missing is an error."""
    log = folder / "_spark_metadata"
    names = [path.name for path in log.iterdir() if re.match(r"\d", path.name)]
    if not names:
        return []
    compact = sorted(int(name.partition(".")[0]) for name in names if name.endswith(".compact"))
    latest = max(int(name.partition(".")[0]) for name in names)
    interval = default
    if len(compact) > 1:
        interval = compact[-1] - compact[-2]
    elif compact:  # deriveCompactInterval
        first = compact[0] + 1
        divisors = [n for n in range(default, first // 2 + 1) if first % n == 0] if default < first // 2 else []
        interval = divisors[0] if divisors else first
    begin = (latest + 1) // interval * interval - 1  # getAllValidBatches
    lines = []
    for batch in range(max(0, begin), latest + 1):
        name = f"{batch}.compact" if (batch + 1) % interval == 0 else str(batch)
        version, *found = (log / name).read_text().splitlines()
        assert version == "v1"
        lines += [line for line in found if line]
    return lines


def _numbers(paths: list[str]) -> list[int]:
    return sorted(n for path in paths for n in pq.ParquetFile(path).read(["n"])["n"].to_pylist())
