"""The rules that make a plan from a query, one file per rule, and their list."""
