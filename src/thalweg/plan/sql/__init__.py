"""Read the text of a continuous query, SQL with CQL's windows, into a `Query`, or raise an error with its position."""
