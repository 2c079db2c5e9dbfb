"""What going through SQL costs: planning, the same filters and joins without it, and queries that need no help."""
