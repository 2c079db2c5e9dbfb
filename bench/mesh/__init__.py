"""Benchmarks of Query Mesh: what routes by class gain over one order for all rows, and what they cost."""
