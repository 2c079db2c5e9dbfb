"""The runtime on Spark, batch and streaming. It is the only package that imports pyspark."""
