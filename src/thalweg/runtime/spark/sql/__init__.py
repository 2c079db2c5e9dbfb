"""SQL queries on Spark: plans as DataFrames, checkpoints, and errors."""
