"""Experiments of Babu et al., Adaptive Ordering of Pipelined Stream Filters, SIGMOD 2004."""
