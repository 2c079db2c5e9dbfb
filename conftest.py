"""Doctests run in every module of src; those that need pyspark are left out where it is not installed. And `--long`."""

from importlib.util import find_spec
from pathlib import Path

import pytest

import thalweg  # noqa: F401 - before its modules are: the package `session` would hide the function of that name

collect_ignore = [] if find_spec("pyspark") else ["src/thalweg/runtime/spark"]
pytest_plugins = ["tests.long_run"]  # options must be known before folders are looked into


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`pytest -m alone` looks at the files that have such a test only: to import all others takes longer than it."""
    everything = config.args_source is config.ArgsSource.TESTPATHS
    if config.option.markexpr != "alone" or not everything or collection_path.suffix != ".py":
        return None
    return "mark.alone" not in collection_path.read_text(encoding="utf-8") or None
