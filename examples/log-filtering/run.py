"""Log lines that may carry a secret to the outside: four conditions, three of them functions that cost something.

python examples/log-filtering/run.py                      # on a local Spark
python examples/log-filtering/run.py --local              # in this process
python examples/log-filtering/run.py --local --by-source  # lines of different services in different orders
python examples/log-filtering/run.py --lines FILE.parquet # other lines: columns level and content
"""

from __future__ import annotations

import argparse
import ipaddress
import math
import random
import re
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import thalweg as tw

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from on_spark import file_stream, local_spark  # noqa: E402 - it lies beside the examples

BEGIN, LINES = datetime(2026, 3, 2, 12, 0, tzinfo=UTC), 20_000
ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
TEXTS = (
    ("INFO", "connection from {inside} closed after {number} ms"),
    ("INFO", "GET /items/{number} for {outside} answered 200"),
    ("DEBUG", "session {token} of {inside} refreshed"),
    ("WARN", "login of {outside} failed: bad password, attempt {number}"),
    ("ERROR", "upload by {outside} failed, credentials {token} were refused"),
    ("ERROR", "disk {number} failed a check"),
)


def most_entropy(line: str) -> float:
    """Bits a letter of the word that looks most like a random key; words of fewer than 16 letters do not count."""
    return max((entropy(word) for word in line.split() if len(word) >= 16), default=0.0)


def entropy(word: str) -> float:
    """Of its letters, in bits."""
    return -sum(n / len(word) * math.log2(n / len(word)) for n in Counter(word).values())


def names_outsider(line: str) -> bool:
    """Whether an address in it is not one of a private network."""
    for text in ADDRESS.findall(line):
        try:
            if ipaddress.ip_address(text).is_global:
                return True
        except ValueError:  # 999.1.1.1
            continue
    return False


def reports_failure(lines: pa.Array) -> pa.Array:
    """Whether each line reports a failure."""
    return pc.match_substring_regex(lines, r"\b(?:fail(?:ed|ure)?|refused|denied|invalid)\b", ignore_case=True)


def make_lines(seed: int = 7) -> pa.Table:
    """Of a service that writes six kinds of lines."""
    rng = random.Random(seed)
    levels, lines = [], []
    for _ in range(LINES):
        level, text = rng.choice(TEXTS)
        levels.append(level)
        lines.append(
            text.format(
                inside=f"10.0.{rng.randrange(256)}.{rng.randrange(256)}",
                outside=rng.choice(
                    (f"8.8.{rng.randrange(256)}.{rng.randrange(256)}", f"192.168.0.{rng.randrange(256)}")
                ),
                number=rng.randrange(1000),
                token="".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=rng.choice((8, 24)))),
            )
        )
    return with_times(pa.table({"level": levels, "content": lines}))


def with_times(lines: pa.Table) -> pa.Table:
    """A line every ten milliseconds."""
    times = [BEGIN + timedelta(milliseconds=10 * n) for n in range(lines.num_rows)]
    return lines.select(["level", "content"]).append_column("ts", pa.array(times, pa.timestamp("us", "UTC")))


SERVICES = {
    "web": ("GET /items/{number} for {outside} answered 200", 0.5),
    "login": ("login of {outside} failed: bad password, attempt {number}", 0.3),
    "session": ("session {token} of {inside} refreshed after an invalid ticket", 0.2),
}
"""By service, what most of its lines say, and its share of the lines. The other lines are as before."""


def lines_of_services(seed: int = 7, count: int = 150_000) -> pa.Table:
    """Of three services. Each writes mostly one kind of line, which another condition drops."""
    rng = random.Random(seed)
    others = make_lines(seed).column("content").to_pylist()
    sources, lines = [], []
    for source in rng.choices(list(SERVICES), [share for _, share in SERVICES.values()], k=count):
        text = SERVICES[source][0] if rng.random() < 0.9 else rng.choice(others)
        token = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=24))
        outside, inside = (f"{net}.{rng.randrange(256)}.{rng.randrange(256)}" for net in ("8.8", "10.0"))
        sources.append(source)
        lines.append(
            text.replace("{token}", token).replace("{outside}", outside).replace("{inside}", inside)
            .replace("{number}", str(rng.randrange(1000)))
        )  # fmt: skip
    return pa.table({"source": sources, "content": lines})


def by_source(lines: pa.Table | None = None) -> pa.Table:
    """Filter the lines of services, each service in an order of its own, and print the tree."""
    table = lines_of_services() if lines is None else lines
    keep = tw.filters(
        tw.predicate(lambda line: most_entropy(line) > 3.5, "content", name="has a key"),
        tw.predicate(names_outsider, "content"),
        tw.predicate(reports_failure, "content", vectorized=True),
        policy="mesh",
        classify_by=["source"],
    )
    found = pa.Table.from_batches(list(keep.over(table.to_batches(10_000))), table.schema)
    print(f"{found.num_rows} lines")
    print(keep.report())
    return found


def main(spark: Any = None, lines: pa.Table | None = None) -> pa.Table:
    """Explain the query, run it, print what it found and what was counted."""
    s = tw.session(spark)
    table = make_lines() if lines is None else with_times(lines)
    with tempfile.TemporaryDirectory() as folder:
        data = table.to_batches(2_000) if spark is None else file_stream(spark, table, f"{folder}/logs")
        s.stream("logs", data, time="ts")
        s.function("most_entropy", most_entropy, returns="double", safe=True)
        s.function("names_outsider", names_outsider, returns="boolean", safe=True)
        s.function("reports_failure", reports_failure, returns="boolean", vectorized=True, safe=True)
        q = s.query((HERE / "query.sql").read_text(encoding="utf-8"), name="secrets", args={"least": 3.5})
        print(q.explain())
        if spark is None:
            found = q.dataframe()
        else:
            h = q.start(path=f"{folder}/found", checkpoint=f"{folder}/checkpoint", trigger="availableNow")
            h.awaitTermination()
            found = spark.read.parquet(f"{folder}/found").toArrow()
    found = found.sort_by("ts")
    print(f"\n{found.num_rows} lines; the first:")
    for row in found.slice(0, 5).to_pylist():
        print(f"{row['ts']:%H:%M:%S}  {row['bits']:.2f}  {row['content']}")
    print(f"\n{q.report()}")
    return found


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--local", action="store_true", help="in this process, without Spark")
    arguments.add_argument("--lines", type=Path, help="a parquet file with the columns level and content")
    arguments.add_argument("--by-source", action="store_true", help="in this process, with policy='mesh'")
    given = arguments.parse_args()
    if given.by_source and given.lines:
        arguments.error("--by-source makes its own lines: leave out --lines")
    if given.by_source:
        by_source()
        sys.exit()
    main(None if given.local else local_spark(), given.lines and pq.read_table(given.lines))
