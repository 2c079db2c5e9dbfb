"""Rows whose filters depend on their source or kind, and filters that take long enough that a mesh pays."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

import thalweg as tw

ROW_NS = 10_000
"""What a filter takes per row. A mesh pays only if filters cost something."""
PASS = np.array([0.4, 0.95, 0.98, 0.98])
ROWS = 40_000
SCHEMA = "id long, source string, kind long, first long, second long, payload string"


def rows_of(start: int, rows: int = ROWS) -> pa.Table:
    """Draw rows whose first four filters depend on their source, and the second four on their kind."""
    rng = np.random.default_rng(start)
    source, kind = rng.integers(4, size=rows), rng.integers(4, size=rows)
    shares = np.array([np.roll(PASS, i) for i in range(4)])
    first, second = (
        (rng.random((rows, 4)) < shares[of_row]).astype(np.int64) @ (1 << np.arange(4)) for of_row in (source, kind)
    )
    return pa.table(
        {
            "id": pa.array(np.arange(start, start + rows)),
            "source": pa.array([["web", "app", "bot", None][s] for s in source.tolist()]),
            "kind": pa.array(kind),
            "first": pa.array(first),
            "second": pa.array(second),
            "payload": pa.array(["x" * 20] * rows),
        }
    )


def passing(table: pa.Table, *columns: str) -> list[int]:
    every = np.all([table[column].to_numpy() == 15 for column in columns], axis=0)
    return table["id"].to_numpy()[every].tolist()  # type: ignore[no-any-return]


def bit(k: int, folder: Path, name: str) -> Callable[[pa.Array], np.ndarray]:
    """A filter that works as long as it says, and writes down how many rows it was shown."""

    def passes(bits: pa.Array) -> np.ndarray:
        until = time.perf_counter_ns() + ROW_NS * len(bits)
        with (folder / f"{name}-{os.getpid()}").open("a") as out:
            out.write(f"{len(bits)}\n")
        found: np.ndarray = (bits.to_numpy() >> k) & 1 == 1
        while time.perf_counter_ns() < until:
            pass
        return found

    return passes


def mesh(folder: Path, column: str, classify_by: str) -> tw.Filters:
    folder.mkdir(exist_ok=True)
    predicates = (
        tw.predicate(bit(k, folder, f"{column}{k}"), column, name=f"{column}{k}", vectorized=True) for k in range(4)
    )
    return tw.filters(*predicates, policy="mesh", classify_by=[classify_by])


def evaluations(folder: Path) -> int:
    return sum(int(line) for path in folder.iterdir() for line in path.read_text().split())


def adopted(keep: tw.Filters, column: str) -> bool:
    return any(f"routes by {column}" in s.reason for section in keep.report().sections for s in section.switches)
