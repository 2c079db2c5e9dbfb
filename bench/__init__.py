"""Benchmarks: Thalweg against plain Spark, what a careful user writes, other engines' rules, hindsight and itself."""
