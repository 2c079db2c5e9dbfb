"""A query that has run, and whose checkpoint and folder of results are damaged before it continues."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.runtime.spark.joins.streams import rows
from tests.runtime.spark.sink.test_choice import PAIRS, found, pairs, places, session

WINDOW_US = 5_000_000
HOWS = ("cut off", "emptied", "zeros", "deleted", "swapped")
"""What can happen to a file. A folder is emptied or deleted."""
OF_SPARK = ("offsets", "commits", "sources", "state")
"""The folders of a checkpoint that Spark alone writes."""


class Scene:
    """A join that has ended, with new rows in its streams. `sink`: who writes its results."""

    def __init__(self, spark: SparkSession, folder: Path, sink: str, text: str = PAIRS) -> None:
        self._spark, self.folder, self._sink, self._text = spark, folder / "now", sink, text
        self._aside, self._streams = folder / "aside", pairs(self.folder)
        self.damaged: list[Path] = []
        """What was damaged last."""
        self.run()
        self._streams["b"].add(rows([9], first_id=2))
        self._streams["a"].add(rows([10], first_id=3))
        shutil.copytree(self.folder, self._aside)

    def run(self, sink: str | None = None) -> None:
        """Start the query, or start it again, and wait until it has read all files."""
        asked = sink or (self._sink if self._sink == "spark" else None)
        handle = session(self._spark, self._streams).query(self._text).start(**places(self.folder), sink=asked)
        try:
            assert handle.awaitTermination(120)
        finally:
            handle.stop()

    def cases(self) -> list[tuple[Path, str]]:
        """Everything that can be damaged, and how."""
        every = sorted(path for top in ("checkpoint", "out") for path in (self._aside / top).rglob("*"))
        hidden = [path.relative_to(self._aside) for path in every if re.search(r"/(\.|_|checkpoint/)", str(path))]
        found = []
        for path in hidden:
            if (self._aside / path).is_dir():
                found += [(path, how) for how in ("emptied", "deleted")]
            elif path.suffix != ".crc":
                found += [(path, how) for how in HOWS if how != "zeros" or path.parts[1] != "state"]
        return found

    def damage(self, path: Path, how: str) -> None:
        """Damage a file or a folder, and remove checksums of files, which would show it at once."""
        place = self.folder / path
        self.damaged = [path]
        if place.is_dir():
            shutil.rmtree(place)
            if how == "emptied":
                place.mkdir()
            return
        content = place.read_bytes()
        if how == "swapped":
            other = self._neighbor(path)
            place.write_bytes(other.read_bytes())
            other.write_bytes(content)
            self.damaged.append(other.relative_to(self.folder))
        elif how == "deleted":
            place.unlink()
        else:
            place.write_bytes({"cut off": content[: len(content) // 2], "emptied": b""}.get(how, b"\0" * len(content)))
        self._without_checksums()

    def copy_from(self, other: Scene, path: Path) -> None:
        """Replace a file with that of another query."""
        shutil.copy2(other._aside / path, self.folder / path)
        self.damaged = [path]
        self._without_checksums()

    def _neighbor(self, path: Path) -> Path:
        """Return the file next to another one, in its folder or in the next folder."""
        for top in (self.folder / path).parents[:3]:
            files = [each for each in sorted(top.rglob("*")) if each.is_file()]
            files = [each for each in files if each.suffix not in (".crc", ".parquet")]
            if len(files) > 1:
                return files[files.index(self.folder / path) - 1]
        raise AssertionError(f"{path} is alone")

    def restore(self) -> None:
        """Make everything as it was, also what an attempt to start has changed."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._aside, self.folder)

    def repair(self) -> None:
        """Restore what was damaged, and leave everything else as it is."""
        for path in self.damaged:
            if (self._aside / path).is_dir():
                shutil.rmtree(self.folder / path, ignore_errors=True)
                shutil.copytree(self._aside / path, self.folder / path)
            else:
                shutil.copy2(self._aside / path, self.folder / path)
        self._without_checksums()

    def is_as_before(self) -> bool:
        """Whether all files are as they were, so that an attempt to start has changed nothing."""
        return _content(self.folder) == _content(self._aside)

    def _without_checksums(self) -> None:
        for path in self.damaged:
            (self.folder / path.parent / f".{path.name}.crc").unlink(missing_ok=True)

    def seen(self) -> list[list[tuple[int, int]]]:
        """What both kinds of readers see: those that list files, and those that use Spark's log."""
        df = self._spark.read.parquet(str(self.folder / "out"))
        return [found(self.folder), sorted((row.a, row.b) for row in df.collect())]

    def expected(self) -> list[list[tuple[int, int]]]:
        """The pairs of rows that are within the window of each other, by brute force."""
        a, b = (pq.read_table(self.folder / alias).to_pydict() for alias in "ab")
        pairs = [
            (one, other)
            for one, at in zip(a["id"], a["ts"], strict=True)
            for other, then in zip(b["id"], b["ts"], strict=True)
            if abs((at - then).total_seconds()) * 1e6 <= WINDOW_US
        ]
        return [sorted(pairs)] * 2


def _content(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".crc"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
