"""Windowed joins on Spark: `attach` applies one to DataFrames, and `bucket_round` runs in their tasks."""
