"""Doctests run in every module of src; those that need pyspark are left out where it is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pyspark") else ["src/thalweg/runtime/spark"]
