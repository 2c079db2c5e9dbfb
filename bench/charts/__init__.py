"""Benchmarks of plan charts: what a look-up costs, and whether following a chart pays if rates swing."""
