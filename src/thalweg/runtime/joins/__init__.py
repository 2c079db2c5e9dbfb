"""Windowed joins: the loops, what they take in, hold and put out, and what travels and is stored."""
