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


def logged(folder: Path) -> list[int]:
    """The numbers in the files of the log, which is read by the rules of Spark's CompactibleFileStreamLog: all lines of
    the last compact file, and of every file after it."""
    log = folder / "_spark_metadata"
    if not log.exists():
        return []
    found = {int(each.name.partition(".")[0]): each for each in log.iterdir() if re.match(r"\d", each.name)}
    first = max((batch for batch, file in found.items() if file.suffix == ".compact"), default=0)
    paths = []
    for batch in range(first, max(found) + 1):
        version, *lines = found[batch].read_text().splitlines()
        assert version == "v1"
        entries = [json.loads(line) for line in lines]
        for entry in entries:
            path = Path(unquote(entry["path"].removeprefix("file://")))
            assert (entry["size"], entry["isDir"], entry["action"]) == (path.stat().st_size, False, "add")
            paths.append(str(path))
    assert len(set(paths)) == len(paths)
    return _numbers(paths)


def _numbers(paths: list[str]) -> list[int]:
    return sorted(n for path in paths for n in pq.ParquetFile(path).read(["n"])["n"].to_pylist())
