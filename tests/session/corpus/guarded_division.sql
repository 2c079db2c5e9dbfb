-- A division sees only rows that what stands before it lets through.
SELECT id, n FROM logs WHERE n <> 0 AND 10 / n > 2 AND x IS NOT NULL
-- duckdb
SELECT id, n FROM logs WHERE n <> 0 AND 10 / n > 2 AND x IS NOT NULL
