"""The loop that runs a filter chain under a policy, its samples, counters and records, and failed rows."""
