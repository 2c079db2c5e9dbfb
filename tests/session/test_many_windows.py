"""Rows that are in very many windows: a limit when the query is made, and bounded memory while it runs."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

import thalweg as tw

STATUS = Path("/proc/self/status")
MOST_MB = 300
GROWTH = """
import re, pathlib, sys
from datetime import datetime, timedelta
import pyarrow as pa
import pyarrow.compute as pc
import thalweg as tw

def run(times):
    session = tw.session()
    session.stream("t", pa.table({"ts": times, "k": list(range(len(times)))}), time="ts")
    query = session.query("SELECT k, count(*) AS n FROM t [RANGE 10000 SECONDS SLIDE 1 SECOND] GROUP BY k")
    return sum(pc.sum(batch["n"]).as_py() for batch in query.batches())

def peak_kb():
    return int(re.search(r"VmHWM:\\s*(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])

run([datetime(2026, 1, 1)])  # what the first query imports and compiles does not count
before = peak_kb()
rows = run([datetime(2026, 1, 1) + n * timedelta(seconds=float(sys.argv[1])) for n in range(1000)])
print(rows, (peak_kb() - before) // 1024)
"""


@pytest.mark.skipif(not STATUS.exists(), reason="the peak of the memory is read from /proc")
@pytest.mark.parametrize("apart", ["0", "20000"], ids=["at one time", "far apart"])
def test_memory_is_bounded(apart: str) -> None:
    """Each row is in 10,000 windows, with its own key: ten million results."""
    command = [sys.executable, "-c", GROWTH, apart]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    rows, grown_mb = map(int, done.stdout.split())
    assert rows == 1000 * 10_000
    assert grown_mb < MOST_MB


@pytest.mark.parametrize(
    ("window", "count"),
    [
        ("[RANGE 1 DAY SLIDE 1 MICROSECOND]", "86,400,000,000 windows, because a window is 1 DAY long and one begins"),
        ("[RANGE 1 DAY SLIDE 1 MILLISECOND]", "86,400,000 windows"),
        ("[RANGE 1000001 SECONDS SLIDE 1 SECOND]", "1,000,001 windows"),
        ("[RANGE 1000000001 MICROSECONDS SLIDE 1000 MICROSECONDS]", "1,000,001 windows"),
    ],
)
def test_more_than_a_million_windows_per_row_are_refused(window: str, count: str) -> None:
    session = tw.session()
    session.stream("t", pa.table({"ts": [datetime(2026, 1, 1)]}), time="ts")
    hop = window.replace("[RANGE ", "HOP(").replace(" SLIDE", ",").replace("]", ")")
    for text, place in ((f"FROM t {window}", "SLIDE"), (f"FROM t GROUP BY {hop}", "HOP")):
        with pytest.raises(tw.SqlError, match=f"each row would be in {count}") as caught:
            session.query(f"SELECT count(*) AS n {text}")
        assert caught.value.column == 1 + f"SELECT count(*) AS n {text}".index(place)


@pytest.mark.parametrize("window", ["[RANGE 1 DAY SLIDE 1 SECOND]", "[RANGE 1000000 SECONDS SLIDE 1 SECOND]"])
def test_up_to_a_million_windows_per_row_are_accepted(window: str) -> None:
    session = tw.session()
    session.stream("t", pa.table({"ts": [datetime(2026, 1, 1)]}), time="ts")
    found = session.query(f"SELECT count(*) AS n, window_start FROM t {window}").dataframe()
    assert found.num_rows == (86_400 if "DAY" in window else 1_000_000)
    assert len(found["window_start"].unique()) == found.num_rows
