"""The examples run, in this process and on Spark, and find what DuckDB and brute force find in the same data."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from datetime import timedelta
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.runtime.filters.mesh_by_column import mesh_by
from thalweg.adapt.registry import POLICIES

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/run.py"))
SECONDS = 120
"""What an example may take on Spark where others work too; alone it is less than a minute."""


def example(name: str) -> Any:
    """Its run.py. It stays out of `sys.modules`: so its functions travel to Spark's workers as those of a script do."""
    spec = spec_from_file_location(name.replace("-", "_"), ROOT / "examples" / name / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """The rows of a table as a multiset."""
    return Counter(tuple(row.values()) for row in plain(table).to_pylist())


def plain(table: pa.Table) -> pa.Table:
    """Times without their zone, UTC: with one, DuckDB needs an extension to count with them."""
    zoned = [pa.types.is_timestamp(field.type) for field in table.schema]
    kinds = [pa.timestamp("us") if zone else field.type for zone, field in zip(zoned, table.schema, strict=True)]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def ask(text: str, tables: dict[str, pa.Table]) -> Counter[tuple[Any, ...]]:
    """The rows that DuckDB returns for a query."""
    with duckdb.connect(":memory:") as connection:
        for name, table in tables.items():
            connection.register(name, plain(table))
        return Counter(connection.sql(text).fetchall())


def stocks(run: Any) -> Counter[tuple[Any, ...]]:
    made = run.make_streams()
    bullish = ("UUUU", "DDUUU", "UDUDUU")
    made["stock"] = made["stock"].filter(
        pa.array([text.endswith(bullish) for text in made["stock"]["data"].to_pylist()])
    )
    return ask(
        """SELECT s.company_name, s.symbol, s.price FROM stock s, news n, research r
        WHERE s.sector = n.sector AND s.company_name = r.company_name
        AND s.ts >= greatest(n.ts, r.ts) - INTERVAL 60 SECONDS AND n.ts >= greatest(s.ts, r.ts) - INTERVAL 1 HOUR
        AND r.ts >= greatest(s.ts, n.ts) - INTERVAL 3 HOURS""",
        made,
    )


def routers(run: Any) -> Counter[tuple[Any, ...]]:
    """The routers of all minutes."""
    return ask(
        """SELECT date_trunc('minute', t) AS began, count(*), sum(size)::BIGINT FROM (
            SELECT greatest(r1.ts, r2.ts, r3.ts, r4.ts) AS t, least(r1.ts, r2.ts, r3.ts, r4.ts) AS first, r1.size
            FROM r1, r2, r3, r4 WHERE r1.pid = r2.pid AND r1.pid = r3.pid AND r1.pid = r4.pid)
        WHERE first >= t - INTERVAL 10 MINUTES GROUP BY began""",
        run.make_streams(),
    )


def selected(run: Any) -> Counter[tuple[Any, ...]]:
    return ask("SELECT src_host, dest_host FROM tcp WHERE dest_host = 2", run.make_streams())


def joined(run: Any) -> Counter[tuple[Any, ...]]:
    return ask(
        """SELECT tcp.*, udp.*, sf.* FROM tcp, udp, sf
        WHERE tcp.src_host = udp.dest_host AND udp.dest_host = sf.dest_host
        AND least(tcp.ts, udp.ts, sf.ts) >= greatest(tcp.ts, udp.ts, sf.ts) - INTERVAL 1 SECOND""",
        run.make_streams(),
    )


def suspicious(run: Any) -> Counter[tuple[Any, ...]]:
    return ask(
        """SELECT q.ts, q.url, l.address FROM requests q, logins l, reports r
        WHERE q.server = l.server AND l.address = r.address
        AND least(q.ts, l.ts, r.ts) >= greatest(q.ts, l.ts, r.ts) - INTERVAL 1 MINUTE""",
        run.make_streams(),
    )


def secrets(run: Any, lines: pa.Table) -> Counter[tuple[Any, ...]]:
    """Every function on every line, one after the other."""
    found: Counter[tuple[Any, ...]] = Counter()
    failure = re.compile(r"\b(?:fail(?:ed|ure)?|refused|denied|invalid)\b", re.IGNORECASE)
    for row in plain(lines).to_pylist():
        line, level = row["content"], row["level"]
        if (
            line is None
            or level is None
            or level == "DEBUG"
            or not failure.search(line)
            or not run.names_outsider(line)
        ):
            continue
        if run.most_entropy(line) > 3.5:
            found[row["ts"], level, line] += 1
    return found


def without_bits(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return rows(table.drop_columns(["bits"]))


def test_stocks_news_research_locally() -> None:
    run = example("stocks-news-research")
    expected = stocks(run)
    assert expected
    assert rows(run.main()) == expected


def test_network_monitoring_locally() -> None:
    run = example("network-monitoring")
    expected = routers(run)
    assert len(expected) > 20
    assert rows(run.main()) == expected


def test_packet_trace_locally() -> None:
    run = example("packet-trace")
    one, two = run.main()
    assert rows(one) == selected(run)
    assert rows(two) == joined(run)
    assert one.num_rows > 100
    assert two.num_rows > 100


def test_fan_out_locally() -> None:
    run = example("fan-out")
    expected = suspicious(run)
    assert expected.total() > 100_000
    for found in run.main().values():
        assert rows(found) == expected


def test_log_filtering_locally() -> None:
    run = example("log-filtering")
    expected = secrets(run, run.make_lines())
    found = run.main()
    assert expected
    assert without_bits(found) == expected
    for row in found.to_pylist():
        assert row["bits"] == pytest.approx(run.most_entropy(row["content"]), abs=0.005 + 1e-9)


def test_log_filtering_by_source(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether and when a mesh is adopted depends on measured times, so a mesh by source is given here. What can be
    checked: lines are routed by their source, the tree is printed, and each service has another condition that drops
    most of its lines, so that no single order is the best one for all of them."""
    monkeypatch.setitem(POLICIES, "mesh", mesh_by("source", "web", "login"))
    run = example("log-filtering")
    lines = run.lines_of_services(count=30_000)
    failed = run.reports_failure(lines["content"].combine_chunks()).to_pylist()
    expected = [
        row for row, fails in zip(lines.to_pylist(), failed, strict=True)
        if fails and run.most_entropy(row["content"]) > 3.5 and run.names_outsider(row["content"])
    ]  # fmt: skip
    assert expected
    assert run.by_source(lines).to_pylist() == expected
    printed = capsys.readouterr().out
    assert "policy mesh; counted: 30,000 rows" in printed
    assert "3 routes by source" in printed
    sources = lines["source"].to_pylist()
    for source in ("web", "login"):
        assert f"source is '{source}': route" in printed
        assert f"{100 * sources.count(source) / len(sources):.3g} % of the rows" in printed
    content = lines["content"].to_pylist()
    outcomes = {
        "key": [run.most_entropy(line) > 3.5 for line in content],
        "outsider": [run.names_outsider(line) for line in content],
        "failure": failed,
    }
    passed = {
        source: {
            name: sum(each for each, own in zip(found, sources, strict=True) if own == source)
            for name, found in outcomes.items()
        }
        for source in run.SERVICES
    }  # fmt: skip
    assert passed["web"]["failure"] < 0.2 * sources.count("web")
    assert passed["login"]["key"] < 0.2 * sources.count("login") < passed["login"]["failure"]
    assert passed["session"]["outsider"] < 0.2 * sources.count("session") < passed["session"]["key"]


def test_log_filtering_reads_real_lines() -> None:
    file = Path(os.environ.get("THALWEG_DATA", ROOT.parent / "shared" / "data")) / "loghub_2k" / "lines.parquet"
    if not file.exists():
        pytest.skip(f"{file} is not there: its license keeps it out of this repository; THALWEG_DATA names the folder")
    run = example("log-filtering")
    lines = pq.read_table(file)
    found = run.main(None, lines)
    assert found.num_rows
    assert without_bits(found) == secrets(run, run.with_times(lines))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_readme_shows_what_is_printed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is measured is left out: the report."""
    readme = (ROOT / "examples" / name / "README.md").read_text(encoding="utf-8")
    example(name).main()
    printed = capsys.readouterr().out
    blocks = re.findall(r"```text\n(.*?)```", readme, flags=re.S)
    assert blocks
    for block in blocks:
        assert block in printed


@pytest.mark.slow
def test_stocks_news_research_on_spark(spark: SparkSession) -> None:
    run = example("stocks-news-research")
    began = time.monotonic()
    assert rows(run.main(spark)) == stocks(run)
    assert time.monotonic() - began < SECONDS


@pytest.mark.long(sample="test_stocks_news_research_on_spark")
def test_network_monitoring_on_spark(spark: SparkSession) -> None:
    """A stream that stops leaves the windows open which the watermark has not passed; it is the least of the latest
    times, or that of the micro-batch before."""
    run = example("network-monitoring")
    began = time.monotonic()
    found = rows(run.main(spark))
    assert time.monotonic() - began < SECONDS
    all_minutes, streams = routers(run), run.make_streams()
    times = [plain(table)["ts"].to_pylist() for table in streams.values()]
    before = min(each[3 * len(each) // 4 - 1] for each in times)
    latest = min(each[-1] for each in times)
    minute = timedelta(minutes=1)
    assert found <= all_minutes
    assert {row for row in all_minutes if row[0] + minute <= before} <= set(found)
    assert all(row[0] + minute <= latest for row in found)


@pytest.mark.long(sample="test_stocks_news_research_on_spark")
def test_fan_out_on_spark(spark: SparkSession) -> None:
    run = example("fan-out")
    began = time.monotonic()
    expected = suspicious(run)
    for found in run.main(spark).values():
        assert rows(found) == expected
    assert time.monotonic() - began < SECONDS


@pytest.mark.slow
def test_log_filtering_on_spark(spark: SparkSession) -> None:
    run = example("log-filtering")
    began = time.monotonic()
    assert without_bits(run.main(spark)) == secrets(run, run.make_lines())
    assert time.monotonic() - began < SECONDS
