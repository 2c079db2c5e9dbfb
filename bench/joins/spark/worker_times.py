"""Where the CPU time of Spark's Python workers goes in a join of ours: packing and joining with stopwatches in them.

On one machine only: workers leave what they measured in a folder.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
from pyspark import TaskContext

from thalweg.kernels.salt import NO_SALT, Salt
from thalweg.runtime.joins.join_packing import Packing
from thalweg.runtime.joins.join_state import KeptJoin
from thalweg.runtime.sink.staged_files import StagedFiles
from thalweg.runtime.spark.joins import attach, bucket_round
from thalweg.runtime.spark.joins.processor import JoinProcessor

ROWS_IN, PACKING, CHUNKS_OUT = "rows to Python", "packing", "chunks from Python"
CHUNKS_IN, UNPACKING, STATE_IN, JOINING = "chunks to Python", "unpacking", "state: read", "kernel"
TO_PANDAS, RESULTS_OUT, STATE_OUT = "results as pandas", "results from Python", "state: write"
WRITING = "results: files"
PARTS = (
    ROWS_IN, PACKING, CHUNKS_OUT, CHUNKS_IN, UNPACKING, STATE_IN, JOINING, WRITING, TO_PANDAS, RESULTS_OUT, STATE_OUT,
)  # fmt: skip


class Stopwatch:
    """CPU time of this process, each moment counted for one part: the innermost."""

    def __init__(self, part: str) -> None:
        self.ms: defaultdict[str, float] = defaultdict(float)
        self._parts = [part]
        self._since = time.process_time_ns()

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """What happens within is of this part."""
        self._turn()
        self._parts.append(part)
        try:
            yield
        finally:
            self._turn()
            self._parts.pop()

    def within(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, counted for the part."""

        @wraps(function)
        def counted(*arguments: Any, **named: Any) -> Any:
            with self.on(part):
                return function(*arguments, **named)

        return counted

    def waiting(self, part: str, items: Iterable[Any]) -> Iterator[Any]:
        """The items; making them is of this part."""
        rest = iter(items)
        nothing = object()
        while (item := self.within(part, next)(rest, nothing)) is not nothing:
            yield item

    def leave(self, folder: Path) -> None:
        """What was measured, with the micro-batch it was of."""
        self._turn()
        context = TaskContext.get()
        batch = context.getLocalProperty("streaming.sql.batchId") if context else None
        line = json.dumps({"batch": int(batch or 0), "ms": self.ms})
        with (folder / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as out:
            out.write(line + "\n")

    def _turn(self) -> None:
        now = time.process_time_ns()
        self.ms[self._parts[-1]] += (now - self._since) / 1e6
        self._since = now


@dataclass(frozen=True)
class TimedPacking(Packing):
    """Packing of one stream, with a stopwatch."""

    folder: Path = Path()

    def pack(
        self, batches: Iterable[pa.RecordBatch], bound: int | None = None, salt: Salt = NO_SALT
    ) -> Iterator[pa.RecordBatch]:
        """Do what the base class does, timed."""
        watch = Stopwatch(PACKING)
        for out in super().pack(watch.waiting(ROWS_IN, batches), bound, salt):
            with watch.on(CHUNKS_OUT):
                yield out
        watch.leave(self.folder)


class TimedProcessor(JoinProcessor):
    """The processor of one bucket, with a stopwatch."""

    def __init__(self, task: Any, folder: Path) -> None:
        super().__init__(task)
        self._folder = folder

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802
        """Do what the base class does, timed."""
        watch = Stopwatch(JOINING)
        with ExitStack() as stack:
            for place, name, part in (
                (KeptJoin, "open", STATE_IN), (KeptJoin, "keep", STATE_OUT), (bucket_round, "unpacked", UNPACKING),
                (bucket_round, "_frame", TO_PANDAS), (StagedFiles, "write", WRITING), (StagedFiles, "close", WRITING),
            ):  # fmt: skip
                stack.enter_context(mock.patch.object(place, name, watch.within(part, getattr(place, name))))
            for out in super().handleInputRows(key, watch.waiting(CHUNKS_IN, rows), timerValues):
                with watch.on(RESULTS_OUT):
                    yield out
        watch.leave(self._folder)


@contextmanager
def timed(folder: Path) -> Iterator[None]:
    """Joins that are put on DataFrames meanwhile leave their times there."""
    with (
        mock.patch.object(attach, "JoinProcessor", partial(TimedProcessor, folder=folder)),
        mock.patch.object(attach, "Packing", partial(TimedPacking, folder=folder)),
    ):
        yield


def times(folder: Path) -> dict[int, dict[str, float]]:
    """By batch and part: milliseconds of all workers together."""
    found: dict[int, dict[str, float]] = {}
    for path in folder.glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            of_batch = found.setdefault(record["batch"], dict.fromkeys(PARTS, 0.0))
            for part, ms in record["ms"].items():
                of_batch[part] += ms
    return found
