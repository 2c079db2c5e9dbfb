"""Benchmarks of join plans: whether the plan that is chosen is nearly the best of all, and whether costs are predicted."""
