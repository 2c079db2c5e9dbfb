"""Continuous queries as text: SQL with CQL's windows, read into a `Query`, or refused at its place in the text."""
