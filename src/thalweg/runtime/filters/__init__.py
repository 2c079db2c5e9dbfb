"""A filter chain under a policy: the loop, what it samples, counts and reports, and rows that fail."""
