"""Parquet files that tasks write where results are found, and the commit that makes those of a micro-batch visible.

A task writes files under hidden names (`staged_files`). The driver moves those of the successful tasks to their final
names and lists them in Spark's own log of the folder (`batch_commit`, `sink_log`). Nothing here needs Spark.
"""
