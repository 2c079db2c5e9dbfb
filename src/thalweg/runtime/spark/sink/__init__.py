"""The sink of a streaming query: tasks write Parquet files themselves if they can, otherwise Spark's own sink does."""
