"""Charts of plans: which plan of a join, or which order of filters, is the best at which numbers."""
