"""Doctests run in every module of src; those that need pyspark are left out where it is not installed. And `--long`."""

from importlib.util import find_spec

import thalweg  # noqa: F401 - before its modules are: the package `session` would hide the function of that name

collect_ignore = [] if find_spec("pyspark") else ["src/thalweg/runtime/spark"]
pytest_plugins = ["tests.long_run"]  # options must be known before folders are looked into
