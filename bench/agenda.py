"""The scenarios of each name on the command line, with their rows and rounds and the policies to measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bench.kdd_checks import kdd
from bench.log_checks import logs, logs_sql
from bench.policies import AUTO, CALM_ON_SPARK, DRIFTING, DRIFTING_ON_SPARK, ON_SPARK, OTHERS, OURS, STATIC, Setting
from bench.scenario import Scenario
from bench.scenarios import calm, drift, example6, free, paper_cheap_first, paper_expensive_first, wide

QUICK_ROWS = 12_000
FEW = (AUTO, Setting("a-greedy"))


@dataclass(frozen=True, slots=True)
class Item:
    """One scenario. With zero rounds for a place, it is not run there."""

    make: Callable[[int, float], Scenario]
    """Called with the number of rows and the steps per unit of cost."""
    rows: int
    local_rounds: int = 3
    spark_rounds: int = 3
    local: tuple[Setting, ...] = OURS
    others: tuple[Setting, ...] = (STATIC, *OTHERS)
    """The policies that ours are compared with in this process."""
    spark: tuple[Setting, ...] = ON_SPARK


AGENDA: dict[str, tuple[Item, ...]] = {
    "paper": (Item(paper_expensive_first, 600_000), Item(paper_cheap_first, 400_000)),
    "logs": (Item(logs, 600_000), Item(logs_sql, 600_000, local_rounds=7, spark_rounds=0)),
    # eight phases of 500,000 rows: few rounds, each of them long
    "drift": (
        Item(
            drift, 4_000_000, local_rounds=2, spark_rounds=1,
            local=DRIFTING, others=OTHERS, spark=DRIFTING_ON_SPARK,
        ),
    ),
    # columns that no predicate reads cost nothing in this process
    "wide": (Item(wide, 400_000, local_rounds=0),),
    # the targets are differences of a few percent
    "calm": (Item(calm, 400_000, local_rounds=9, spark_rounds=5, spark=CALM_ON_SPARK),),
    "free": tuple(Item(partial(free, n), 1_000_000, local=FEW, spark=FEW) for n in (1, 3, 8)),
    # real data, which is not part of the repository: see kdd_checks
    "kdd": (Item(kdd, 494_021, local_rounds=5, spark_rounds=0),),
    "example6": (Item(example6, 300_000, spark_rounds=0),),
}  # fmt: skip
