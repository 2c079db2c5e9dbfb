"""`python -m bench.walk`: count the files of `src/thalweg` through which a batch or a query passes.

A file counts if one of its functions is called, including compiled ones; module bodies do not count. What happens once
per process (imports, caches) is left out: every walk runs once before it is counted. The files that a walk adds when it
reports or adapts depend on the clock, so the median of several walks is taken.

`--list` also prints the files, in the order of their first call. The exit code is 1 if a walk is longer than its limit.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import thalweg as tw

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCE = Path(tw.__file__).parent
SQL, DRIVER, JOIN, FILTER = "sql", "driver", "join", "filter"
LIMITS = {
    SQL: 105,
    DRIVER: 90,
    JOIN: 26,  # 25 while no rows are wanted for profiling
    FILTER: 12,
}
"""The most files of each walk. Lower a limit with every change that makes its walk shorter; raise it only for a new
capability on the walk (plans of joins and places of conditions: 7 files of SQL, 6 of the driver; routes by class: 2
files of SQL, 1 of joins)."""
TARGETS = {SQL: 96, DRIVER: 83, JOIN: 24, FILTER: 12}
MEANING = {
    SQL: "a SQL query in this process, from the text to the last row",
    DRIVER: "the same query on Spark, in the driver's process",
    JOIN: "a round of a join in this process, after 20 rounds",
    FILTER: "a batch of filters in this process, after 20 batches",
}

TEXT = "SELECT a.id AS a, b.id AS b FROM a, b WHERE a.k = b.k AND odd(a.x) AND b.x > 10 WINDOW 10 SECONDS"
"""A join, a filter by a function and one by an expression, so that the query passes through all of these folders."""
BEFORE, COUNTED = 20, 41
"""The number of batches before counting starts, and the number of batches of which the median is taken."""
Files = tuple[str, ...]


def sql(rounds: int = 5) -> Files:
    """Return the files of a query in this process."""
    data = {name: _rows(500, seed).to_batches(max_chunksize=100) for seed, name in enumerate("ab")}

    def ask() -> None:
        session = tw.session()
        for name, batches in data.items():
            session.stream(name, batches, time="ts")
        session.function("odd", _odd, "boolean")
        assert session.query(TEXT).dataframe().num_rows

    ask()
    return _median([_walk(ask) for _ in range(rounds)])


def driver(spark: SparkSession) -> Files:
    """Return the files of the same query in Spark's driver. Workers are separate processes and are not counted."""
    data = {name: spark.createDataFrame(_rows(500, seed)) for seed, name in enumerate("ab")}

    def asked() -> DataFrame:
        session = tw.session(spark)
        for name, df in data.items():
            session.stream(name, df, time="ts")
        session.function("odd", _odd, "boolean")
        made: DataFrame = session.query(TEXT).dataframe()
        return made

    asked()  # what happens once per process happens here; running it as well would take seconds
    return _walk(lambda: asked().toArrow())


def join() -> Files:
    """Return the files of a round of a join in this process, after its order is found."""
    joined = tw.join(on="a.k = b.k AND a.k = c.k", window="10 seconds", time="ts", select=["a.id", "b.id", "c.id"])
    data = {name: _rows(4_000, seed).to_batches(max_chunksize=100) for seed, name in enumerate("abc")}
    return _steady(iter(joined.over(**data)))


def filters() -> Files:
    """Return the files of a batch of filters in this process, after their order is found."""
    keep = tw.filters(
        tw.predicate(_odd, "x", name="odd"),
        tw.predicate(_small, "x", name="small"),
        tw.predicate(_long, "word", name="long"),
    )
    return _steady(iter(keep.over(_rows(40_000, 0).to_batches(max_chunksize=400))))


def walks(names: Iterable[str]) -> Iterator[tuple[str, Files]]:
    """Yield the files of each of these walks. Spark runs only for that of its driver."""
    for name in names:
        if name == DRIVER:
            from bench.spark_session import session

            with session() as spark:
                yield name, driver(spark)
        else:
            yield name, {SQL: sql, JOIN: join, FILTER: filters}[name]()


@contextmanager
def watched() -> Iterator[dict[str, None]]:
    """Collect the files whose functions this thread, and threads that it starts, call within the block.

    They are in the order of the first call. The previous profiler is restored afterwards.
    """
    seen: dict[str, None] = {}
    prefix = f"{SOURCE}/"

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (name := frame.f_code.co_filename).startswith(prefix):
            seen.setdefault(name.removeprefix(prefix))

    before, before_in_threads = sys.getprofile(), threading.getprofile()
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield seen
    finally:
        sys.setprofile(before)
        threading.setprofile(before_in_threads)


def _steady(results: Iterator[Any]) -> Files:
    for _ in range(BEFORE):
        next(results)
    return _median([_walk(lambda: next(results)) for _ in range(COUNTED)])


def _walk(step: Callable[[], Any]) -> Files:
    with watched() as seen:
        step()
    return tuple(seen)


def _median(walks: list[Files]) -> Files:
    return sorted(walks, key=len)[len(walks) // 2]


def _rows(count: int, seed: int) -> pa.Table:
    """Return rows, ten per second; every key has a partner within a window."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": pa.array(np.arange(count) * 100_000, pa.timestamp("us", "UTC")),
            "id": np.arange(count),
            "k": rng.integers(0, 50, count),
            "x": rng.integers(0, 100, count),
            "word": np.array(["alpha", "beta", "pi", "xi"])[rng.integers(0, 4, count)],
        }
    )


def _odd(x: int) -> bool:
    return x % 2 == 1


def _small(x: int) -> bool:
    return x < 50


def _long(word: str) -> bool:
    return len(word) > 2


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.walk", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("walks", nargs="*", help=f"{', '.join(LIMITS)}; all of them by default")
    parser.add_argument("--list", action="store_true", help="also print the files, in the order of their first call")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.walks) - set(LIMITS):
        parser.error(f"no walk is called {', '.join(sorted(unknown))}; choose from {', '.join(LIMITS)}")
    longer = False
    for name, found in walks(asked.walks or LIMITS):
        print(f"{name:7} {len(found):3} files, at most {LIMITS[name]}: {MEANING[name]}")
        longer |= len(found) > LIMITS[name]
        if asked.list:
            print("".join(f"    {file}\n" for file in found), end="")
    return int(longer)


if __name__ == "__main__":
    sys.exit(main())
