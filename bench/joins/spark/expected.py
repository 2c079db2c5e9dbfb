"""What every variant must give, from DuckDB: for each batch, how many results and a number that says which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.joins.spark.scenario import BATCH_US, BEGIN_US, StreamScenario, leaves
from bench.joins.spark.stream_files import StreamFiles
from bench.rounds import WrongResultError

if TYPE_CHECKING:
    from bench.joins.spark.query_run import BatchProgress

_MERSENNE = 2**31 - 1
_WEIGHTS = (1_000_003, 1_299_709, 1_618_033, 2_097_143, 2_718_281)

Results = tuple[int, int]


def checksum(aliases: Sequence[str]) -> str:
    """An aggregate that DuckDB and Spark understand: the ids of a result are mixed before they are summed, so that the
    same rows joined with others give another number.

    >>> checksum("ab")
    'sum((a_id * 1000003 + b_id * 1299709) % 2147483647)'
    """
    mixed = " + ".join(f"{alias}_id * {weight}" for alias, weight in zip(aliases, _WEIGHTS, strict=False))
    return f"sum(({mixed}) % {_MERSENNE})"


def expected(files: StreamFiles) -> list[Results]:
    """By batch: of the results whose last row came in it. No window is longer than a batch, so only the batch before
    can have their other rows."""
    import duckdb

    scenario = files.scenario
    connection = duckdb.connect(":memory:")
    found = []
    for batch in range(files.batches):
        for alias in scenario.aliases:
            paths = [str(files.path(alias, n)) for n in (batch - 1, batch) if n >= 0]
            connection.read_parquet(paths).create_view(alias, replace=True)
        begin = BEGIN_US + batch * BATCH_US
        rows, value = connection.sql(sql(scenario, begin)).fetchall()[0]
        found.append((int(rows), int(value or 0)))
    return found


def demand(name: str, batches: Sequence[BatchProgress], known: Sequence[Results]) -> None:
    """Check that every batch of a variant has the expected results."""
    if len(batches) != len(known):
        raise WrongResultError(f"{name}: {len(batches)} batches, not {len(known)}")
    for batch, results in zip(batches, known, strict=True):
        if batch.results != results:
            raise WrongResultError(f"{name}, batch {batch.number}: (rows, checksum) is {batch.results}, not {results}")


def sql(scenario: StreamScenario, begin_us: int) -> str:
    """Stream after stream, in the order of the tree; every pair of times as soon as both are there."""
    order = leaves(scenario.tree)
    steps = []
    for n, alias in enumerate(order):
        names = ", ".join(f"{name} AS {alias}_{name}" for name in ("id", *scenario.draws[alias]))
        rows = f"(SELECT {names}, epoch_us(ts) AS {alias}_us FROM {alias})"
        if n == 0:
            steps.append(f"step0 AS MATERIALIZED (SELECT * FROM {rows})")
            continue
        conditions = [*_equal(scenario, order[:n], alias), *_near(scenario, order[:n], alias)]
        steps.append(f"step{n} AS MATERIALIZED (SELECT * FROM step{n - 1} JOIN {rows} ON {' AND '.join(conditions)})")
    latest = f"greatest({', '.join(f'{alias}_us' for alias in order)})"
    return (
        f"WITH {', '.join(steps)} SELECT count(*), {checksum(scenario.aliases)} FROM step{len(order) - 1} "
        f"WHERE {latest} >= {begin_us}"
    )


def _equal(scenario: StreamScenario, left: Sequence[str], alias: str) -> list[str]:
    """One equality a class is enough: the others of it are equal already."""
    found = []
    for members in scenario.classes:
        theirs = [column.replace(".", "_") for column in members if column.split(".")[0] in left]
        own = [column.replace(".", "_") for column in members if column.split(".")[0] == alias]
        if theirs and own:
            found.append(f"{theirs[0]} = {own[0]}")
    return found


def _near(scenario: StreamScenario, left: Sequence[str], alias: str) -> list[str]:
    lengths = scenario.windows_us
    return [f"{alias}_us BETWEEN {other}_us - {lengths[alias]} AND {other}_us + {lengths[other]}" for other in left]
