"""Joins of windows as frozen data: conditions, graphs, shapes, windows, buckets and limits."""
