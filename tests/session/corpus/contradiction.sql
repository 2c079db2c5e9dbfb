SELECT id, n FROM logs WHERE n > 10 AND n < 5
-- duckdb
SELECT id, n FROM logs WHERE n > 10 AND n < 5
