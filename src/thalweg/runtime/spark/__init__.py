"""The runtime on Spark, batch and streaming. The only room that imports pyspark."""
