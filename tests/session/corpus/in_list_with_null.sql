-- NOT IN of a list with NULL is never true.
SELECT id FROM logs WHERE n NOT IN (1, NULL)
-- duckdb
SELECT id FROM logs WHERE n NOT IN (1, NULL)
