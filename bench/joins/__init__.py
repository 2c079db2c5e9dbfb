"""Windowed joins measured in this process, on one core: `python -m bench.joins.local`."""
