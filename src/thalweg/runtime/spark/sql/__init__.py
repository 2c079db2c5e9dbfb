"""Parts of SQL queries that Spark's own operators do."""
