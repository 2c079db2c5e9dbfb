"""The right results of a join, from DuckDB: their number and a checksum that does not depend on their order.

Streams are joined one after the other, the smallest step first. A result is within its windows if the last of its
times is not after the first end of a window, so a step has two times: the last time, and the first end. Rows that can
be together are in neighboring intervals as long as the longest window, and the hash joins of DuckDB have the interval
in their key; with the key alone, a run of 20 windows would compare 20 times as many rows.
"""

from __future__ import annotations

import duckdb

from bench.joins.checksum import Checksum
from bench.plans.draw import DrawnJoin
from bench.plans.streams import JoinRows, expected_results

MEMORY = "6GB"


def expected(joined: JoinRows) -> tuple[int, int]:
    """Return the number of results and their checksum."""
    drawn, longest = joined.drawn, max(joined.windows_us.values())
    order = join_order(drawn, joined.rows)
    with duckdb.connect(":memory:", config={"threads": 1, "memory_limit": MEMORY}) as connection:
        for alias, table in joined.tables.items():
            connection.register(f"rows_of_{alias}", table)
        seen: dict[str, None] = {}
        steps = []
        for n, alias in enumerate(order):
            keys = [each.column for each in drawn.columns(alias)]
            own = (
                f"SELECT id AS {alias}_id, epoch_us(ts) AS t, t + {joined.windows_us[alias]} AS until, "
                f"{', '.join(keys)} FROM rows_of_{alias}"
            )
            if n == 0:
                steps.append(f"SELECT {alias}_id, t AS latest, until, {', '.join(keys)} FROM ({own})")
            else:
                shared = [key for key in keys if key in seen]
                kept = [*(f"{a}_id" for a in order[:n]), *(f"step.{key}" for key in seen)]
                new = [f"{alias}_id", *(f"new.{key}" for key in keys if key not in seen)]
                equal = " AND ".join(f"step.{key} = new.{key}" for key in shared)
                steps.append(
                    f"SELECT {', '.join([*kept, *new])}, greatest(latest, t) AS latest, "
                    f"least(step.until, new.until) AS until FROM step JOIN "
                    f"(SELECT *, t // {longest} + unnest([-1, 0, 1]) AS near FROM ({own})) new "
                    f"ON {equal} AND step.latest // {longest} = near AND t <= step.until AND latest <= new.until"
                )
            seen |= dict.fromkeys(keys)
        for step in steps:
            connection.execute(f"CREATE TABLE more AS {step}")
            connection.execute("DROP TABLE IF EXISTS step")
            connection.execute("ALTER TABLE more RENAME TO step")
        checksum = Checksum(drawn.aliases)
        ids = ", ".join(f"{alias}_id" for alias in drawn.aliases)
        for batch in connection.sql(f"SELECT {ids} FROM step").to_arrow_reader(1_000_000):
            checksum.add(batch)
        return checksum.result


def join_order(drawn: DrawnJoin, rows: int) -> list[str]:
    """Return an order of the streams in which each is connected with those before it, the smallest step first."""

    def size(aliases: list[str]) -> float:
        return expected_results(drawn, rows, aliases)

    def near(alias: str, reached: list[str]) -> bool:
        return any(other in each.members for each in drawn.columns(alias) for other in reached)

    starts = [[a, b] for a in drawn.aliases for b in drawn.aliases if a < b and near(a, [b])]
    order = min(starts, key=size)
    while len(order) < len(drawn.aliases):
        more = [[*order, alias] for alias in drawn.aliases if alias not in order and near(alias, order)]
        order = min(more, key=size)
    return order


def largest_step(drawn: DrawnJoin, rows: int) -> float:
    """Return how many rows the largest step of that order is expected to have."""
    order = join_order(drawn, rows)
    return max(expected_results(drawn, rows, order[:n]) for n in range(2, len(order) + 1))
