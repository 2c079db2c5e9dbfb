"""Execution of queries, in this process or on Spark, with the same kernels and the same loop."""
