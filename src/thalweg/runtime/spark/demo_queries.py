"""The Spark part of the demo: a session, a stream of files, the plain chain of UDFs, and the queries of the race.

The plain chain is what PySpark's documentation teaches: one pandas UDF per predicate, one `.filter` after the other.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.streaming.query import StreamingQuery

from thalweg.errors import ThalwegError
from thalweg.plan import Predicate

POLL_S = 0.02
SCHEMA = "line string, service string, ip string, size bigint, payload string"


def start_session(scratch: Path) -> SparkSession:
    """Start a local Spark on two cores that listens only on this machine and logs to `scratch`."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("thalweg-demo")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.executorEnv.TMPDIR", str(scratch))  # so that files that workers share are removed too
        .config("spark.driver.extraJavaOptions", f"-Djava.io.tmpdir={scratch}")
    )
    try:
        with _stderr_into(scratch / "spark.log"):
            return builder.getOrCreate()
    except PySparkRuntimeError as error:  # the JVM did not start
        log = (scratch / "spark.log").read_text(errors="replace").strip().splitlines()
        why = log[-1] if log else error
        raise ThalwegError(f"Spark did not start ({why}); it needs Java 17 or newer: set JAVA_HOME to one") from error


@contextlib.contextmanager
def _stderr_into(path: Path) -> Iterator[None]:
    """Redirect stderr to a file while the JVM starts: it and its Python workers inherit the stderr of this process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def log_stream(spark: SparkSession, folder: Path, files_a_batch: int) -> DataFrame:
    """Return a stream of the Parquet files in a folder, with this many files per micro-batch."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files_a_batch)
    return reader.option("recursiveFileLookup", True).parquet(str(folder))


def plain_chain(predicates: Sequence[Predicate]) -> Callable[[DataFrame], DataFrame]:
    """Return the same predicates in the same order as chained filters, each a pandas UDF."""

    def apply(df: DataFrame) -> DataFrame:
        for predicate in predicates:
            df = df.filter(pandas_filter(predicate)(*predicate.columns))
        return df

    return apply


def pandas_filter(predicate: Predicate) -> Any:
    """Return a predicate as a pandas UDF, vectorized if the predicate is; missing values are false."""
    func, setup, vectorized = predicate.func, predicate.setup, predicate.vectorized

    def keep(values: pd.Series) -> pd.Series:
        if vectorized:
            return func(pa.array(values, from_pandas=True)).to_pandas()
        given = () if setup is None else (setup(),)
        return pd.Series([value is not None and bool(func(*given, value)) for value in values], dtype=bool)

    keep.__name__ = predicate.name
    keep.__annotations__ = {"values": pd.Series, "return": pd.Series}
    return pandas_udf(keep, "boolean")  # type: ignore[call-overload]


class LogQuery:
    """A streaming query whose kept rows stay in memory, and the time each of its micro-batches took."""

    def __init__(
        self, df: DataFrame, name: str, checkpoint: Path, *, check: Callable[[], None], once: bool = False
    ) -> None:  # fmt: skip
        """Start the query. `once`: it ends after the existing files. `check` is called while waiting and may raise."""
        writer = df.writeStream.format("memory").queryName(name).option("checkpointLocation", str(checkpoint))
        # between its turns a query lists its folder; ten times per second does not disturb the other side
        timed = writer.trigger(availableNow=True) if once else writer.trigger(processingTime="100 milliseconds")
        self._spark = df.sparkSession
        self._name = name
        self._check = check
        self._query: StreamingQuery = timed.start()
        self._latest = -1

    def wait_for_batch(self, timeout_s: float = 120.0) -> tuple[int, float]:
        """Return the rows and seconds of the next micro-batch, from its trigger to its commit."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            self._check()
            progress = self._query.lastProgress
            if progress is not None and progress.numInputRows and progress.batchId > self._latest:
                self._latest = progress.batchId
                return progress.numInputRows, progress.durationMs["triggerExecution"] / 1e3
            if not self._query.isActive:
                raise ThalwegError(
                    f"the query {self._name} ended early: {self._query.exception()}; correct this cause and start the "
                    "demo again"
                )
            time.sleep(POLL_S)
        raise ThalwegError(
            f"the query {self._name} finished no micro-batch in {timeout_s:.0f} s; close other programs, or run the "
            "demo with fewer rows (--rows)"
        )

    def wait_for_end(self) -> list[tuple[int, float]]:
        """Wait for the end of a query that runs once. Return the rows and seconds of its micro-batches."""
        while not self._query.awaitTermination(0.2):  # type: ignore[arg-type]  # float works, its hint says int
            self._check()
        done = [progress for progress in self._query.recentProgress if progress.numInputRows]
        return [(progress.numInputRows, progress.durationMs["triggerExecution"] / 1e3) for progress in done]

    def kept(self) -> pa.Table:
        """Return the rows that passed so far."""
        return self._spark.table(self._name).toArrow()

    def stop(self) -> None:
        """Stop the query and drop its rows. Nothing happens if the session has already ended."""
        with contextlib.suppress(PySparkException, OSError):
            self._query.stop()
            self._spark.catalog.dropTempView(self._name)
