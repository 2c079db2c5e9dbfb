"""What explanations say about filters, joins and queries, from their frozen plans and from what was counted."""
