SELECT id, twice(x + 1) AS a, CASE WHEN bucket(n + 1) = 'few' THEN 1 ELSE 0 END AS b FROM logs
WHERE NOT matches(lower(Name)) OR twice(CAST(n AS DOUBLE)) > 4
-- duckdb
SELECT id, 2 * (x + 1) AS a, CASE WHEN n + 1 < 5 THEN 1 ELSE 0 END AS b FROM logs
WHERE NOT lower(Name) LIKE 'bull%' OR 2 * n > 4
