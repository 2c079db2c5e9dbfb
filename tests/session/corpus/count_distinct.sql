-- Spark refuses it on streams.
-- streams: no
SELECT host, count(DISTINCT Name) AS names, count(DISTINCT x) AS reals, count(*) AS rows FROM logs [RANGE 30 MINUTES] GROUP BY host
-- duckdb
SELECT host, count(DISTINCT Name) AS names, count(DISTINCT x + 0.0) AS reals, count(*) AS rows FROM logs
WHERE ts IS NOT NULL GROUP BY host, epoch_us(ts) // 1800000000
