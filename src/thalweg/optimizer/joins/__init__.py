"""What is decided about a join before it runs."""
