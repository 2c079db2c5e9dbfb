"""Filter chains as frozen data: predicates, those that Spark evaluates, and their precedence."""
