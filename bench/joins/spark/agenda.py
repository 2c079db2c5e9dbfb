"""What is run: for each name on the command line its scenario, how long, and what is compared on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bench.joins.spark.scenario import StreamScenario, chain, star, three_way
from bench.joins.spark.variants import AGAIN, BY_SPARK, FILES, FILES_AGAIN, OURS, ROCKSDB, SPARK, SPARK_FILES

UNSTEADY = 2
"""Batches that are left out: windows fill, and what runs for the first time is compiled."""
SMALL, LARGE, STAR, CHAIN, LONG = "three-way", "three-way-large", "star", "chain", "hundred"
IN_FILES = (SPARK_FILES, BY_SPARK, FILES, FILES_AGAIN, OURS)
"""What is compared if results are written to Parquet files: these, and our join whose results are dropped."""
SMALL_FILES, LARGE_FILES, STAR_FILES, CHAIN_FILES = (f"{name}-files" for name in (SMALL, LARGE, STAR, CHAIN))
QUICK_ROWS, QUICK_BATCHES = 300, 3
ENDURED, QUICK_ENDURED = 10_000, 20
"""Batches of the run that looks for growth."""
RESTART_ROWS, RESTART_ROUNDS = 300_000, 3
WARM_BATCHES = 40
"""Before anything is timed. Spark's fixed cost is that of a young JVM before: a batch of ten rows took 3 s of CPU time
after ten batches and 0.8 s after sixty."""


@dataclass(frozen=True)
class Item:
    """A scenario, and the batches and rounds of every variant."""

    make: Callable[..., StreamScenario]
    """Returns the scenario with so many rows of each stream in each batch, and with the seed that is given."""
    rows: int
    """Of each stream in each batch."""
    batches: int
    rounds: int
    variants: tuple[str, ...] = (SPARK, OURS, AGAIN)


AGENDA = {
    SMALL_FILES: Item(partial(three_way, name=SMALL_FILES), 30_000, 24, 3, IN_FILES),
    LARGE_FILES: Item(partial(three_way, name=LARGE_FILES), 300_000, 8, 2, IN_FILES),
    STAR_FILES: Item(partial(star, name=STAR_FILES), 30_000, 24, 3, IN_FILES),
    CHAIN_FILES: Item(partial(chain, name=CHAIN_FILES), 30_000, 24, 3, IN_FILES),
    SMALL: Item(partial(three_way, name=SMALL), 30_000, 8, 3, (SPARK, ROCKSDB, OURS, AGAIN)),
    LARGE: Item(partial(three_way, name=LARGE), 300_000, 8, 2),
    STAR: Item(star, 30_000, 6, 2),
    CHAIN: Item(chain, 30_000, 6, 2),
    LONG: Item(partial(three_way, name=LONG), 30_000, 100, 1, (OURS,)),
}
"""Spark's joins take half a minute for a large batch, so rounds are few. RocksDB is compared where it takes seconds."""
