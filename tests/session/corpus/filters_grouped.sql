SELECT id, n FROM logs WHERE n > 1 AND n < 10 AND n >= 2 AND n <> 5 AND n <= 9 AND x < 2.0e0 AND x > -3
-- duckdb
SELECT id, n FROM logs WHERE n >= 2 AND n <= 9 AND n <> 5 AND x < 2.0 AND x > -3
