"""Windowed joins: the loops, their input, windows and output, their records and their stored state."""
