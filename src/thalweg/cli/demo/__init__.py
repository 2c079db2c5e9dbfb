"""`thalweg demo`: a stream of log lines through plain Spark and through Thalweg, side by side."""
