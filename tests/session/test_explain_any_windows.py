"""Plans of joins are compared, explained and drawn whatever the windows are: of rows, of no length, of time."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest

import thalweg as tw

ROWS = pa.table({"ts": [datetime(2026, 1, 1) + timedelta(seconds=n) for n in range(3)], "k": [1, 2, 1]})
NOW, COUNT, TIME = "[NOW]", "[ROWS 2]", "[RANGE 1 MINUTE]"
WINDOWS = [(COUNT, COUNT, COUNT), (COUNT, COUNT, NOW), (COUNT, COUNT, TIME), (NOW, NOW, NOW)]


@pytest.mark.parametrize("windows", WINDOWS, ids=" ".join)
def test_every_kind_of_windows(windows: tuple[str, ...]) -> None:
    session = tw.session()
    for name in "abc":
        declared = {"rows_per_second": 1.0, "distinct": {"k": 2}}
        session.stream(name, ROWS, time="ts", statistics=declared)
    sources = ", ".join(f"{name} {window}" for name, window in zip("abc", windows, strict=True))
    text = f"SELECT a.ts FROM {sources} WHERE a.k = b.k AND b.k = c.k"
    for policy in ("auto", "chart"):
        asked = session.query(text, policy=policy)
        before = str(asked.explain())
        assert all(window in before for window in windows)
        found = asked.dataframe().num_rows
        assert f"counted: {found} result" in str(asked.explain())
    if windows != (NOW, NOW, NOW):  # with no length there are no partners to estimate
        assert "multiway" in str(session.query(text).chart(k=2))
