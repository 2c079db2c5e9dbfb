"""What `make coverage` relies on in PySpark, and in the way our compiled functions are written."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_pysparks_daemon_serves_tasks_by_the_function_that_is_wrapped() -> None:
    """If it had another name, `scripts/worker_coverage.py` would not save the data of workers."""
    daemon = pytest.importorskip("pyspark.daemon")
    assert callable(daemon.worker)
    assert "worker" in daemon.manager.__code__.co_names  # a global name, looked up at each call


def test_functions_that_numba_compiles_are_found_by_their_decorators() -> None:
    """The second total of `make coverage` leaves them out."""
    from scripts.measure_coverage import COMPILED

    found, others = 0, []
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        names = {"numba"} | {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "numba"
            for alias in node.names
        }
        for node in ast.walk(tree):
            for decorator in getattr(node, "decorator_list", []):
                if names.isdisjoint(part.id for part in ast.walk(decorator) if isinstance(part, ast.Name)):
                    continue
                line = text.splitlines()[decorator.lineno - 1]
                found += 1
                if not re.search(COMPILED, line):
                    others.append(f"{path.name}:{decorator.lineno}: {line}")
    assert found
    assert not others
