"""Windowed joins on Spark: `attach` puts one on DataFrames, streaming or finished; `lay_out` says how it would run."""

from thalweg.runtime.spark.joins.attach import attach, lay_out

__all__ = ["attach", "lay_out"]
