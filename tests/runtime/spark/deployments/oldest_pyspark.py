"""The oldest PySpark that is supported, in a folder of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.runtime.spark.deployments.processes import REPOSITORY

OLDEST = REPOSITORY / ".cache" / "pyspark-4.1"


def oldest_pyspark() -> Path:
    """Return a folder with nothing but PySpark 4.1, which `make test` fetches. Without it the test is skipped; if CI is
    set, it fails."""
    if not (OLDEST / "pyspark").is_dir():
        why = f"there is no {OLDEST.relative_to(REPOSITORY)}: 'make oldest-spark' fetches it from the package index"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return OLDEST
