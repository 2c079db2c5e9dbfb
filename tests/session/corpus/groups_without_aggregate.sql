SELECT Name, window_start FROM logs [RANGE 15 MINUTES] GROUP BY Name
-- duckdb
SELECT Name, make_timestamp(w) AS window_start FROM (SELECT *, epoch_us(ts) // 900000000 * 900000000 AS w FROM logs)
WHERE w IS NOT NULL GROUP BY Name, w
