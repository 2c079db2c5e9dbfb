"""Windowed joins on Spark: `attach` puts one on DataFrames, streaming or finished."""

from thalweg.runtime.spark.joins.attach import attach

__all__ = ["attach"]
