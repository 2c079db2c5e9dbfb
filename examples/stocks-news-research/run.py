"""Stocks that look bullish, whose sector is in the news and whose company is in street research: three streams.

python examples/stocks-news-research/run.py            # on a local Spark
python examples/stocks-news-research/run.py --local    # in this process
"""

from __future__ import annotations

import csv
import random
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

import thalweg as tw

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from on_spark import file_stream, local_spark  # noqa: E402 - it lies beside the examples

OPENS, HOURS = datetime(2026, 3, 2, 9, 30, tzinfo=UTC), 4
TICKS, NEWS, NOTES = 6_000, 48, 160
BULLISH = ("UUUU", "DDUUU", "UDUDUU")


def matches(data: str) -> bool:
    """Whether a stock's latest moves, as in 'DUUDUUUU', end in a bullish pattern."""
    return data.endswith(BULLISH)


def make_streams(seed: int = 7) -> dict[str, pa.Table]:
    """Real companies and sectors; made-up prices, news and research notes, in order of time."""
    rng = random.Random(seed)
    with open(HERE / "companies.csv", newline="", encoding="utf-8") as file:
        companies = list(csv.DictReader(file))
    price = {company["symbol"]: rng.uniform(20, 400) for company in companies}
    moves = {company["symbol"]: rng.choices("UD", k=8) for company in companies}
    stock = []
    for ts in times(rng, TICKS):
        company = rng.choice(companies)
        symbol, move = company["symbol"], rng.choice("UD")
        price[symbol] *= 1.002 if move == "U" else 0.998
        moves[symbol] = [*moves[symbol][1:], move]
        stock.append(
            {
                "ts": ts,
                "symbol": symbol,
                "company_name": company["name"],
                "sector": company["sector"],
                "price": round(price[symbol], 2),
                "data": "".join(moves[symbol]),
            }
        )
    news = [{"ts": ts, "sector": rng.choice(companies)["sector"]} for ts in times(rng, NEWS)]
    research = [{"ts": ts, "company_name": rng.choice(companies)["name"]} for ts in times(rng, NOTES)]
    made = {"stock": stock, "news": news, "research": research}
    return {name: pa.Table.from_pylist(rows) for name, rows in made.items()}


def times(rng: random.Random, rows: int) -> list[datetime]:
    """Of so many rows."""
    return [OPENS + timedelta(milliseconds=at) for at in sorted(rng.choices(range(HOURS * 3_600_000), k=rows))]


def main(spark: Any = None) -> pa.Table:
    """Explain the query, run it, print what it found and what was counted."""
    s = tw.session(spark)
    known = {
        "stock": {"rows_per_second": 0.4, "distinct": {"sector": 11, "company_name": 505}},
        "news": {"rows_per_second": 0.003, "distinct": {"sector": 11}},
        "research": {"rows_per_second": 0.01, "distinct": {"company_name": 505}},
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, table in make_streams().items():
            data = table.to_batches(500) if spark is None else file_stream(spark, table, f"{folder}/{name}")
            s.stream(name, data, time="ts", statistics=known[name])
        s.function("matches", matches, returns="boolean", safe=True)
        q = s.query((HERE / "query.sql").read_text(encoding="utf-8"), name="bulls")
        print(q.explain())
        if spark is None:
            found = q.dataframe()
        else:
            h = q.start(path=f"{folder}/found", checkpoint=f"{folder}/checkpoint", trigger="availableNow")
            h.awaitTermination()
            found = spark.read.parquet(f"{folder}/found").toArrow()
    found = found.sort_by([("symbol", "ascending"), ("price", "ascending")])
    print(f"\n{found.num_rows} results; the first:")
    for row in found.slice(0, 5).to_pylist():
        print(row)
    print(f"\n{q.report()}")
    return found


if __name__ == "__main__":
    main(None if "--local" in sys.argv[1:] else local_spark())
