"""Benchmarks of Thalweg against plain Spark, hand-written code, the rules of other engines, hindsight and itself."""
