"""The log of a folder of results, `_spark_metadata`, in the format of Spark's own file sink.

Spark's readers, in batch and as a stream, see exactly the files in this log. So Spark can read a folder that Thalweg
writes, and its sink can continue it. There is one file per micro-batch, with a line per file of results. Every tenth
micro-batch (`spark.sql.streaming.fileSink.log.compactInterval`) the file has all lines so far and is named
`<batch>.compact`; earlier ones are removed some time later. The rules are those of Spark's `CompactibleFileStreamLog`.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from urllib.parse import quote

from thalweg.errors import QueryError
from thalweg.runtime.sink.hidden_folder import HIDDEN, create_once, make_folders

NAME = "_spark_metadata"
VERSION = b"v1"
PART_BYTES = 1 << 20
"""How much of a file is copied at once."""
BLOCK_SIZE = 33_554_432
"""What Hadoop says for a local disk."""


@dataclass(frozen=True)
class LogSettings:
    """Spark's settings of the log, with its defaults."""

    interval: int = 10
    """`spark.sql.streaming.fileSink.log.compactInterval`"""
    deletes: bool = True
    """`spark.sql.streaming.fileSink.log.deletion`"""
    cleanup_delay_s: float = 600.0
    """`spark.sql.streaming.fileSink.log.cleanupDelay`"""
    retained: int = 100
    """`spark.sql.streaming.minBatchesToRetain`"""


class SinkLog:
    """The log of one folder, on a local disk."""

    def __init__(self, folder: str, settings: LogSettings | None = None) -> None:
        self._results, self._folder = folder, os.path.join(folder, NAME)
        self._settings = settings or LogSettings()

    def latest(self) -> int | None:
        """Return the latest micro-batch in the log; None if there is none."""
        return max(self._batches(), default=None)

    def names_of(self, batch: int) -> Iterator[str]:
        """Yield the names of the files of a micro-batch, without their folders; and of those before it, if its file in
        the log is compact."""
        return self._names_in(self._batches()[batch])

    def names(self) -> Iterator[str]:
        """Yield the names of all files that Spark's readers see. Raise a QueryError if a file of the log is damaged or
        missing, so that Spark's readers would fail, or lists files again, so that they would read them twice. If only
        the setting of the interval was changed, nothing is missing, and the next micro-batch adds the compact file that
        readers expect then."""
        present = self._batches()
        first = max((batch for batch, name in present.items() if name.endswith(".compact")), default=0)
        batches = range(first, max(present, default=-1) + 1)
        missing = max((batch for batch in batches if batch not in present), default=None)
        if missing is not None:
            is_compact = (missing + 1) % self._interval(self._names()) == 0
            raise self._damaged(_file_name(missing, is_compact), "is missing")
        listed_in: dict[str, str] = {}  # without the first file, which may be compact and have millions of lines
        for batch in reversed(batches):
            for name in self._names_in(present[batch]):
                if name in listed_in:
                    raise self._damaged(listed_in[name], "lists files of an earlier micro-batch")
                if batch == first:
                    yield name
                else:
                    listed_in[name] = present[batch]
        yield from listed_in

    def _names_in(self, name: str) -> Iterator[str]:
        rest = b""
        try:
            for part in self._parts(name):
                *lines, rest = (rest + part).split(b"\n")
                yield from (_name(line) for line in lines if line)
            if rest:
                yield _name(rest)
        except FileNotFoundError:
            raise self._damaged(name, "is missing") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._damaged(name, "is cut off or damaged") from None

    def add(self, batch: int, files: list[str]) -> bool:
        """Add the files of a micro-batch, given by names relative to the folder. Nothing of it is visible before all of
        it is. A micro-batch that is there already stays as it is; then return False."""
        make_folders(self._results, HIDDEN, NAME)
        names = set(self._names())
        if any(number == batch for number, _ in names):
            return False
        lines = [b"\n" + self._line(name) for name in files]
        *earlier, (_, is_compact) = self._planned(names, batch)
        for number, is_earlier_compact in earlier:
            self._compact(number, []) if is_earlier_compact else self._write(str(number), [])
        if not is_compact:
            return self._write(str(batch), lines)
        added = self._compact(batch, lines)
        self._delete_expired(batch, self._interval(self._names()))
        return added

    def _planned(self, names: set[tuple[int, bool]], batch: int) -> list[tuple[int, bool]]:
        """Return the files to write for a new micro-batch, given those that exist: for each its micro-batch, and
        whether it is compact. The new one is the last. The others are what Spark will expect: it reads the last compact
        file that there should be by the interval, which it derives from the last two, and every file after it."""
        interval = self._interval(names)
        compact = (batch + 1) // interval * interval - 1
        last = max((number for number, is_compact in names if is_compact and number < compact), default=None)
        planned = [(number, False) for number in range(compact + 1, batch)]  # missing if the folder was emptied
        if 0 <= compact < batch:
            planned.insert(0, (compact, True))
        if last is not None and compact - last > interval:  # the setting was changed
            planned.insert(0, (compact - interval, True))
        planned = [each for each in planned if each not in names] + [(batch, compact == batch)]
        if self._read(names.union(planned), batch) <= names.union(planned):
            return planned
        # compact files at odd distances: from now on each is compact
        return [each for each in [(batch - 1, True)] if each not in names] + [(batch, True)]

    def _read(self, names: set[tuple[int, bool]], latest: int) -> set[tuple[int, bool]]:
        """Return the files that Spark reads if these exist."""
        interval = self._interval(names)
        first = max(0, (latest + 1) // interval * interval - 1)
        return {(number, (number + 1) % interval == 0) for number in range(first, latest + 1)}

    def _compact(self, batch: int, lines: Iterable[bytes]) -> bool:
        """Write all lines of the log up to a micro-batch, and these, to one file."""
        present = self._batches()
        # the last compact file is not always an interval ago: the setting may have been changed
        last = max((n for n, name in present.items() if name.endswith(".compact") and n < batch), default=0)
        before = (self._parts(present[earlier]) for earlier in range(last, batch + 1) if earlier in present)
        return self._write(_file_name(batch, True), chain(*before, lines))

    def _names(self) -> Iterator[tuple[int, bool]]:
        """Yield the micro-batch of each file, and whether it is compact."""
        return ((batch, name.endswith(".compact")) for batch, name in self._named())

    def _batches(self) -> dict[int, str]:
        """Return the names of the files by micro-batch. A compact file replaces the other of its micro-batch."""
        return dict(self._named())

    def _named(self) -> Iterator[tuple[int, str]]:
        """Yield the micro-batch and the name of each file, a compact file after the other of its micro-batch."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return
        for name in sorted(names):
            if matched := re.fullmatch(r"(\d+)(\.compact)?", name):
                yield int(matched[1]), name

    def _interval(self, names: Iterable[tuple[int, bool]]) -> int:
        """Return the interval that Spark derives from the files of a log, given by micro-batch and whether they are
        compact."""
        compact = sorted(batch for batch, is_compact in names if is_compact)
        if not compact:
            return self._settings.interval
        if len(compact) > 1:
            return compact[-1] - compact[-2]
        return fitting_interval(self._settings.interval, compact[0])

    def _parts(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a file, each after a line break, in parts that may end within a line. There may be
        millions of lines."""
        with open(os.path.join(self._folder, name), "rb") as file:
            version = file.readline().rstrip(b"\n")
            if version != VERSION:
                raise self._damaged(
                    name, f"begins with {version[:20]!r} instead of {VERSION!r}, so it is damaged or too new"
                )
            breaks = b"\n"
            while part := file.read(PART_BYTES):
                text = part.rstrip(b"\n")
                if text:
                    yield breaks + text
                    breaks = b""
                breaks += part[len(text) :]  # nothing follows the last line

    def _damaged(self, name: str, what: str) -> QueryError:
        return QueryError(
            f"{self._folder}/{name}, a file of the log of the results, {what}. Restore it; or, if the tasks of this "
            f"query write its results, remove the folder {self._folder}, and start the query again: it writes the log "
            "anew from the files of the results"
        )

    def _line(self, name: str) -> bytes:
        path = os.path.join(self._results, name)
        found = os.stat(path)
        line = {
            "path": uri_of(path), "size": found.st_size, "isDir": False,
            "modificationTime": found.st_mtime_ns // 1_000_000, "blockReplication": 1, "blockSize": BLOCK_SIZE,
            "action": "add",
        }  # fmt: skip
        return json.dumps(line, separators=(",", ":")).encode()

    def _write(self, name: str, lines: Iterable[bytes]) -> bool:
        with suppress(FileNotFoundError):  # Hadoop's checksum of an earlier file of this name
            os.unlink(os.path.join(self._folder, f".{name}.crc"))
        return create_once(self._results, f"{NAME}/{name}", chain([VERSION], lines))

    def _delete_expired(self, batch: int, interval: int) -> None:
        settings = self._settings
        least = batch + 1 - settings.retained
        if not settings.deletes or interval > least:
            return
        first_kept = least - least % interval - 1
        expired = time.time() - settings.cleanup_delay_s
        for each, name in self._named():
            path = os.path.join(self._folder, name)
            if each < first_kept and os.stat(path).st_mtime <= expired:
                for file in (path, os.path.join(self._folder, f".{name}.crc")):
                    with suppress(FileNotFoundError):
                        os.unlink(file)


def _file_name(batch: int, is_compact: bool) -> str:
    return f"{batch}.compact" if is_compact else str(batch)


def _name(line: bytes) -> str:
    """Return the name of the file in a line of the log."""
    name: str = json.loads(line)["path"].rpartition("/")[2]
    return name


def fitting_interval(default: int, compact: int) -> int:
    """Return the interval of a log with one compact file, that of the micro-batch `compact`, as Spark does: the least
    divisor of its number of micro-batches that is at least the setting, or that number.

    >>> fitting_interval(5, 11), fitting_interval(10, 9), fitting_interval(10, 4), fitting_interval(10, 19)
    (6, 10, 5, 20)
    """
    count = compact + 1
    return next((each for each in range(default, count // 2 + 1) if default < count // 2 and not count % each), count)


def uri_of(path: str) -> str:
    """Return a path on a local disk as a URI.

    >>> uri_of("/a b/k=x%3Ay/part")
    'file:///a%20b/k=x%253Ay/part'
    """
    return "file://" + quote(path, safe="/!$&'()*+,;=:@-._~")
