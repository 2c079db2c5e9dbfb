"""Expressions as frozen data: their functions, types and texts, and the patterns of LIKE and RLIKE."""
