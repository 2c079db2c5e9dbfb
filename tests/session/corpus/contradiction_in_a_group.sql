-- No row, no window, no group.
SELECT count(*) AS rows FROM logs [RANGE 10 MINUTES] WHERE n > 10 AND n < 5
-- duckdb
SELECT count(*) AS rows FROM logs WHERE n > 10 AND n < 5 GROUP BY epoch_us(ts)
