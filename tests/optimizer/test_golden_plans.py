"""Golden plans: a query and declared statistics, and the plan that is printed for them. Every query also runs, and
DuckDB says whether its rows are right.

`golden/NAME.sql` is the question, `golden/NAME.txt` the plan. A plan is written anew only by hand, with
THALWEG_WRITE_GOLDEN=1, and then read.
"""

from __future__ import annotations

import json
import os
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import thalweg as tw
from tests.plan.sql.small_streams import START, rows_of
from thalweg.draw.plan_tree import as_text

GOLDEN = Path(__file__).parent / "golden"
# taken out of the environment, where Thalweg warns of what is no setting of its own
WRITE = os.environ.pop("THALWEG_WRITE_GOLDEN", "") == "1"
CASES = sorted(path.stem for path in GOLDEN.glob("*.sql"))


def packets(seed: int, rows: int) -> pa.Table:
    """Of a few hosts and ports, over four minutes."""
    rng = random.Random(seed)
    seconds = sorted(rng.uniform(0, 240) for _ in range(rows))
    return pa.table(
        {
            "ts": pa.array([START + timedelta(seconds=round(s, 3)) for s in seconds], pa.timestamp("us")),
            "host": [rng.choice(["h0", "h1", "h2", "h3", "h4", "h5", "H1", None]) for _ in seconds],
            "port": pa.array([rng.choice([0, 22, 53, 80, None]) for _ in seconds], pa.int32()),
            "size": pa.array([rng.randrange(40, 1500) for _ in seconds], pa.int32()),
        }
    )


DATA = {
    "tcp": packets(1, 300),
    "udp": packets(2, 120),
    "dns": packets(3, 60),
    "hosts": pa.table({"host": ["h0", "h1", "h1", "h3", None], "kind": ["person", "robot", "person", None, "person"]}),
}


def session(statistics: dict[str, Any]) -> Any:
    """With what is declared."""
    s = tw.session()
    for name, table in DATA.items():
        declared = statistics.get(name)
        if name == "hosts":
            s.table(name, table, statistics=declared)
        else:
            s.stream(name, table, time="ts", statistics=declared)
    s.function("suspicious", lambda host: host is not None and host[1:] != "3", returns="boolean", cost=3)
    s.function("calm", lambda host: host is not None and host[1:] != "5", returns="boolean", safe=True)
    return s


def case(name: str) -> tuple[Any, str]:
    """The query, and the same question for DuckDB."""
    ours, theirs = (GOLDEN / f"{name}.sql").read_text("utf-8").split("-- duckdb\n")
    statistics = {}
    if ours.startswith("-- statistics "):
        first, ours = ours.split("\n", 1)
        statistics = json.loads(first.removeprefix("-- statistics "))
    return session(statistics).query(ours), theirs


def printed(query: Any) -> str:
    """What explain says of the physical plan."""
    told = query.explain()
    lists = [f"{title}\n" + "\n".join(f"  {line}" for line in lines) for title, lines in
             (("Estimates", told.estimates), ("May adapt", told.adapts), ("Notes", told.notes)) if lines]  # fmt: skip
    return "\n\n".join([as_text(told.physical), *lists]) + "\n"


@pytest.mark.parametrize("name", CASES)
def test_the_plan_is_the_golden_one(name: str) -> None:
    plan = printed(case(name)[0])
    path = GOLDEN / f"{name}.txt"
    if WRITE:
        path.write_text(plan, "utf-8")
    assert plan == path.read_text("utf-8")


@pytest.mark.parametrize("name", CASES)
def test_its_rows_are_duckdbs(name: str) -> None:
    query, theirs = case(name)
    other = duckdb.connect()
    for each, table in DATA.items():
        other.register(each, table)
    expected = rows_of(other.sql(theirs).to_arrow_table())
    assert rows_of(query.dataframe()) == expected
    assert (len(expected) == 0) == (name == "contradiction")  # a query without results proves little


def test_no_plan_without_a_question() -> None:
    assert len(CASES) >= 12
    assert sorted(path.stem for path in GOLDEN.glob("*.txt")) == CASES
