"""Windowed joins on Spark: `attach` applies one to DataFrames, `lay_out` decides how it would run."""

from thalweg.runtime.spark.joins.attach import attach, lay_out

__all__ = ["attach", "lay_out"]
