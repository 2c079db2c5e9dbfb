"""Query Mesh: several routes for the rows of one stream, and a classifier that chooses a route for each row."""
