"""Windowed joins as streaming queries, against Spark's own joins: `python -m bench.joins.spark`."""
