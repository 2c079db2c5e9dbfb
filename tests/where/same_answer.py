"""What the one query must answer, wherever it ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.where.input_files import ROWS, expected_ids


def check_answer(told: dict[str, Any], folder: Path) -> None:
    """The rows DuckDB finds in the same files, each counted once, by a chain that did change its order."""
    expected = expected_ids(folder / "in")
    assert 0 < len(expected) < ROWS
    assert told["rows"] == ROWS
    for kind in ("batch", "stream"):
        assert told[kind]["ids"] == expected
        (section,) = told[kind]["sections"]
        assert (section["kind"], section["rows"], section["kept"]) == (kind, ROWS, len(expected))
        assert section["switches"] > 0
