"""Where queries run: in this process or on Spark, with the same kernels and the same loop."""
