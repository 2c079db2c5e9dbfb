"""The stateful operator of a join, and its state in Spark's state store.

When a query is started, Spark runs the operator in a new Python process on the driver, only to ask which states it has.
To import our packages there would take more than half a second. So this module is pickled by value, its functions
import ours themselves, and the join is pickled separately and unpickled when there are rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

if TYPE_CHECKING:
    import pandas as pd

    from thalweg.runtime.spark.joins.task import JoinTask

VALUE = StructType([StructField("value", BinaryType())])
KEY = StructType([StructField("stream", StringType()), StructField("number", LongType())])
"""These are not strings, because PySpark would send a string to the JVM for parsing in every task."""


class SparkChunks:
    """The state of the bucket whose rows are being processed, as a store of bytes."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", VALUE)
        self._chunks = handle.getMapState("chunks", KEY, VALUE)

    def head(self) -> bytes | None:
        """Return the head; None if it was never written."""
        found = self._head.get()
        return None if found is None else bytes(found[0])

    def set_head(self, data: bytes) -> None:
        """Replace the head of the state."""
        self._head.update((data,))

    def chunk(self, stream: str, number: int) -> bytes | None:
        """Return a chunk; None if it was removed."""
        found = self._chunks.getValue((stream, number))
        return None if found is None else bytes(found[0])

    def add(self, stream: str, number: int, data: bytes) -> None:
        """Add a chunk with a number that was never used."""
        self._chunks.updateValue((stream, number), (data,))

    def remove(self, stream: str, number: int) -> None:
        """Remove a chunk that was added before."""
        self._chunks.removeKey((stream, number))


class JoinProcessor(StatefulProcessor):
    """The stateful operator of a join, for rows that are grouped by bucket."""

    def __init__(self, task: JoinTask) -> None:
        from thalweg.runtime.spark.pickled_plan import digest_of, pickled
        from thalweg.runtime.spark.worker_socket import Acknowledgement

        self._pickled = pickled(task)
        self._digest = digest_of(self._pickled)
        self._store: SparkChunks | None = None
        self._acknowledgement = Acknowledgement()

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state; Spark calls this for every task."""
        self._store = SparkChunks(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """Join the rows of one micro-batch in one bucket."""
        from thalweg.runtime.spark.joins.bucket_round import BatchTimes, joined_bucket

        assert self._store is not None
        clock = BatchTimes(timerValues.getCurrentProcessingTimeInMs(), timerValues.getCurrentWatermarkInMs())
        yield from joined_bucket(self._pickled, self._digest, self._store, int(key[0]), rows, clock)

    def close(self) -> None:
        """Do nothing, because nothing is open."""


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
