"""Filter chains drawn from a seed, every policy on each of them, and how far each stays from the best order."""
