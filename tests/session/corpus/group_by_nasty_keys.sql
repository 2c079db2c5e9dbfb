-- NULL is a group, NaN is one, and zeros are one.
SELECT x, Name, count(*) AS n FROM logs [RANGE 30 MINUTES] GROUP BY x, Name
-- duckdb
SELECT x + 0.0 AS x, Name, count(*) AS n FROM logs WHERE ts IS NOT NULL GROUP BY x + 0.0, Name, epoch_us(ts) // 1800000000
