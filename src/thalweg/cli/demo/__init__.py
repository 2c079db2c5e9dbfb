"""`thalweg demo`: filters a stream of log lines with plain Spark and with Thalweg, side by side."""
