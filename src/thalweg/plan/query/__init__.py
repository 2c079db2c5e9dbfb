"""Queries as frozen data: what is asked, the tree of nodes that runs, and its identities."""
